package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/sandbox"
)

// What holds everything behind a wall together is a control group; where there
// is none, the reason is said and each process alone is bounded.

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const hungry = `x=$(head -c 120000000 /dev/zero | tr '\0' a); echo got ${#x}`
	whole := sandbox.Bounded(t.Context()) == nil
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		if level == sandbox.LevelNone {
			return
		}
		_, run := newYard(t).wall(t, level, sandbox.Policy{Discard: true})
		if res := run(hungry); string(res.Output) != "got 120000000\n" {
			t.Fatalf("without a bound it does not work either, so this proves nothing: %s", res.Output)
		}
		_, run = newYard(t).wall(t, level, sandbox.Policy{Discard: true, MaxMemory: 80 << 20})
		res := run(hungry)
		if res.ExitCode == 0 || strings.Contains(string(res.Output), "got") {
			t.Errorf("the bound does not hold: %s", res.Output)
		}
		if said := strings.Contains(string(res.Output), "more than 80MiB of memory, which is the bound (max_memory"); said != whole {
			t.Errorf("with a control group %v, the result says why: %v\n%s", whole, said, res.Output)
		}
		if res := run("echo fine"); string(res.Output) != "fine\n" {
			t.Errorf("the next command: %s", res.Output)
		}
		if !whole {
			return
		}
		// Each alone keeps to the bound, both together do not.
		both := `f() { x=$(head -c 25000000 /dev/zero | tr '\0' a); echo got ${#x}; sleep 0.5; }; f & f & f & f & wait`
		if res := run(both); !strings.Contains(string(res.Output), "(max_memory") {
			t.Errorf("many together: %s", res.Output)
		}
	})
}

func TestProcessesAreBounded(t *testing.T) {
	t.Parallel()
	const bomb = `sh -c 'i=0; while [ $i -lt 300 ]; do sleep 60 & i=$((i+1)); done; echo all of them'`
	why := sandbox.Bounded(t.Context())
	if why != nil && !strings.Contains(why.Error(), "control group") {
		t.Errorf("no control group, because: %v", why)
	}
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		if level == sandbox.LevelNone {
			return
		}
		_, run := newYard(t).wall(t, level, sandbox.Policy{Discard: true})
		if res := run(bomb); string(res.Output) != "all of them\n" {
			t.Fatalf("without a bound it does not work either, so this proves nothing: %s", res.Output)
		}
		w, run := newYard(t).wall(t, level, sandbox.Policy{Discard: true, MaxProcesses: 128})
		if why != nil { // then the kernel exempts root, and Landlock knows nothing of it
			if res := run("ulimit -u"); level != sandbox.LevelLandlock && string(res.Output) != "128\n" {
				t.Errorf("the bound for each user is not set: %s", res.Output)
			}
			return
		}
		res := run(bomb)
		if strings.Contains(string(res.Output), "all of them") || !strings.Contains(string(res.Output), "may have 128 processes and threads (max_processes") {
			t.Errorf("the bound does not hold, or nobody says so: %s", res.Output)
		}
		if res := run("echo fine"); string(res.Output) != "fine\n" {
			t.Errorf("the next command: %s", res.Output)
		}
		// What leaves its process group lives on and is in the way of what follows.
		run("setsid -w " + bomb + " >/dev/null 2>&1")
		if res := run("exec sh -c 'true | true | true'"); !strings.Contains(string(res.Output), "processes") {
			t.Errorf("beside a bomb: %d %s", res.ExitCode, res.Output)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A process that was killed leaves its groups behind, and the next one removes
// them.
func TestGroupsAreSwept(t *testing.T) {
	t.Parallel()
	if err := sandbox.Bounded(t.Context()); err != nil {
		t.Logf("no control groups here: %v", err)
		return
	}
	groups := func() []string {
		found, err := exec.CommandContext(t.Context(), "find", "/sys/fs/cgroup", "-name", "plan-wall-*", "-type", "d").Output()
		if err != nil {
			t.Error(err)
		}
		return strings.Fields(string(found))
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), helperLine+"=cat /proc/self/cgroup; echo up; exec sleep 8642", walledLevel+"="+string(sandbox.LevelNamespaces))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := ""
	for buf := make([]byte, 512); !strings.Contains(seen, "up\n"); {
		n, err := out.Read(buf)
		if err != nil {
			t.Fatalf("%q: %v", seen, err)
		}
		seen += string(buf[:n])
	}
	if !strings.Contains(seen, "0::/\n") {
		t.Errorf("a command sees more than its own group: %q", seen)
	}
	during := groups()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	sandbox.Sweep()
	left := groups()
	mine := 0
	for _, dir := range during {
		data, _ := os.ReadFile(filepath.Join(dir, "pids.max"))
		if _, err := os.Stat(dir); err == nil && string(data) == "4096\n" && len(left) >= len(during) {
			mine++
		}
	}
	if len(during) == 0 || mine > 0 {
		t.Errorf("groups while it ran: %q, after it was killed: %q", during, left)
	}
}
