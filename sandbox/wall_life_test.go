package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/plan-engine/plan/sandbox"
)

func TestNothingOutlivesAWall(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		if level == sandbox.LevelNone {
			return
		}
		y := newYard(t)
		w, run := y.wall(t, level, sandbox.Policy{Discard: true})
		own := strconv.Itoa(slices.Index(sandbox.Levels(), level))
		marks := []string{"8640" + own + ".1", "8640" + own + ".2", "8640" + own + ".3"}
		run("setsid sleep " + marks[0] + " >/dev/null 2>&1 & set -m; sleep " + marks[1] + " >/dev/null 2>&1 & (setsid sh -c '(sleep " + marks[2] + " &) &' >/dev/null 2>&1 &); sleep 0.3")
		if !slices.ContainsFunc(marks, sleeping) {
			t.Error("nothing was left running, so this proves nothing")
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if slices.ContainsFunc(marks, sleeping) {
			t.Error("something lives on")
		}
	})
}

// sleeping reports whether some process sleeps for so long.
func sleeping(long string) bool {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	return slices.ContainsFunc(found, func(path string) bool {
		line, err := os.ReadFile(path)
		return err == nil && string(line) == "sleep\x00"+long+"\x00"
	})
}

// helperBehindWall runs a line behind a wall for a test that kills this
// process.
func helperBehindWall(line string, level sandbox.Level) {
	dir, _ := os.Getwd()
	w, err := sandbox.NewWall(level, sandbox.Policy{Tree: dir}, os.Environ())
	if err != nil {
		panic(err)
	}
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		panic(err)
	}
	_, _ = w.Shell(shell).Run(context.Background(), sandbox.Command{Line: line, Dir: dir, Output: func(p []byte) { _, _ = os.Stdout.Write(p) }})
}

func TestAllDieWithPlan(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		if level == sandbox.LevelNone {
			return
		}
		long := "8641" + strconv.Itoa(slices.Index(sandbox.Levels(), level))
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), helperLine+"=setsid sleep "+long+" >/dev/null 2>&1 & sleep 0.2; echo up; exec sleep "+long, walledLevel+"="+string(level))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
			t.Fatalf("%q, %v", line, err)
		}
		if !sleeping(long) {
			t.Fatal("the command does not run")
		}
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		deadline := time.After(10 * time.Second)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for sleeping(long) {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatal("the command lives on")
			}
		}
		sandbox.Sweep() // what the killed process could not remove
	})
}

func TestCancelBehindAWall(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		y := newYard(t)
		w, run := y.wall(t, level, sandbox.Policy{Discard: true})
		run(":")
		fastest := time.Hour // a busy machine may make any one of them late
		for range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			var at time.Time
			_, err := w.Shell(newShell(t)).Run(ctx, sandbox.Command{Dir: w.Dir(), Line: "trap '' INT TERM; echo up; sleep 86402 & wait", Output: func([]byte) {
				at = time.Now()
				cancel()
			}})
			fastest = min(fastest, time.Since(at))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		t.Logf("%s: stopped within %v", level, fastest)
		if fastest > 100*time.Millisecond {
			t.Errorf("stopped after %v", fastest)
		}
	})
}

func TestTimeoutBehindAWall(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		y := newYard(t)
		w, _ := y.wall(t, level, sandbox.Policy{Discard: true})
		res, err := w.Shell(newShell(t)).Run(t.Context(), sandbox.Command{Dir: w.Dir(), Line: "echo x; sleep 86403", Timeout: 300 * time.Millisecond})
		if err != nil || !res.TimedOut || res.ExitCode != 124 {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

// Commands that kill what they run in lose it, and the next gets a new one.
func TestAWallIsBuiltAgain(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	level, _ := sandbox.Strongest(t.Context(), newShell(t), os.Environ())
	w, run := y.wall(t, level, sandbox.Policy{Discard: true})
	run("echo kept >>file")
	if level != sandbox.LevelNone {
		// The first process behind a wall dies of a fault that it is sent.
		_, _ = w.Shell(newShell(t)).Run(t.Context(), sandbox.Command{Dir: w.Dir(), Line: "kill -SEGV $PPID; sleep 1"})
	}
	if res := run("cat file"); string(res.Output) != "before\nkept\n" {
		t.Errorf("after a new start: %q", res.Output)
	}
}
