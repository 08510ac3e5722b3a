package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/plan-engine/plan/sandbox"
)

// helperLine makes the test binary run one command and nothing else, so that
// a test can kill the process that owns a command.
const helperLine = "SANDBOX_TEST_LINE"

func TestMain(m *testing.M) {
	sandbox.Enter()
	if escape(os.Args) {
		return
	}
	if os.Getenv(helperDeadlock) != "" {
		waitForEver()
	}
	if line := os.Getenv(helperLine); line != "" {
		helper(line)
		return
	}
	goleak.VerifyTestMain(m)
}

func helper(line string) {
	if level := os.Getenv(walledLevel); level != "" {
		helperBehindWall(line, sandbox.Level(level))
		return
	}
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		panic(err)
	}
	_, _ = shell.Run(context.Background(), sandbox.Command{Line: line, Output: func(p []byte) { _, _ = os.Stdout.Write(p) }})
}

func newShell(t *testing.T) *sandbox.Shell {
	t.Helper()
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return shell
}

func TestExitCodeAndOutput(t *testing.T) {
	t.Parallel()
	shell := newShell(t)
	cases := map[string]struct {
		line   string
		code   int
		output string
	}{
		"success":             {"echo hello", 0, "hello\n"},
		"failure":             {"exit 7", 7, ""},
		"both streams":        {"echo a; echo b >&2; echo c", 0, "a\nb\nc\n"},
		"last stage passes":   {"false | cat", 1, ""},
		"middle stage fails":  {"echo x | (cat; exit 3) | cat", 3, "x\n"},
		"killed by a signal":  {"kill -TERM $$", 143, ""},
		"child killed":        {"exec 2>/dev/null; sh -c 'kill -KILL $$'; exit $?", 137, ""},
		"not found":           {"no-such-command-here 2>/dev/null", 127, ""},
		"stdin is empty":      {"cat; echo done", 0, "done\n"},
		"starts with a dash":  {"-x 2>/dev/null", 127, ""},
		"several lines":       {"cat <<X\none\ntwo\nX\n", 0, "one\ntwo\n"},
		"NUL in the line":     {"echo a\x00b", 126, "the command line holds a NUL byte, which no command can; write it as an escape such as \\0\n"},
		"exit 124 by itself":  {"exit 124", 124, ""},
		"invalid UTF-8 stays": {`printf '\377\376'`, 0, "\xff\xfe"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, err := shell.Run(t.Context(), sandbox.Command{Line: c.line})
			if err != nil {
				t.Fatal(err)
			}
			if res.ExitCode != c.code || res.TimedOut {
				t.Errorf("exit code %d, timed out %v; want %d, false", res.ExitCode, res.TimedOut, c.code)
			}
			if diff := cmp.Diff(c.output, string(res.Output)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLineTooLongForTheSystemIsAResult(t *testing.T) {
	t.Parallel()
	line := "echo " + strings.Repeat("x", 4<<20)
	res, err := newShell(t).Run(t.Context(), sandbox.Command{Line: line})
	if err != nil {
		t.Fatal(err)
	}
	if res.ExitCode != 126 || !strings.Contains(string(res.Output), "put the contents into a file") {
		t.Errorf("got exit %d, output %.80q", res.ExitCode, res.Output)
	}
}

func TestDirAndMissingDir(t *testing.T) {
	t.Parallel()
	shell, dir := newShell(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	res, err := shell.Run(t.Context(), sandbox.Command{Line: "ls", Dir: dir})
	if err != nil || string(res.Output) != "here\n" {
		t.Errorf("ls: %q, %v", res.Output, err)
	}
	gone := filepath.Join(dir, "gone")
	_, err = shell.Run(t.Context(), sandbox.Command{Line: "ls", Dir: gone})
	if err == nil || !strings.Contains(err.Error(), gone) {
		t.Errorf("missing directory: error %v does not name it", err)
	}
}

func TestDurationIsMeasuredWithTheClock(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	shell, err := sandbox.New(sandbox.Config{Now: func() time.Time {
		now = now.Add(3 * time.Second)
		return now
	}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := shell.Run(t.Context(), sandbox.Command{Line: ":"})
	if err != nil || res.Duration != 3*time.Second {
		t.Errorf("duration %v, %v; want 3s", res.Duration, err)
	}
}

func TestTimeoutKillsTheWholeGroup(t *testing.T) {
	t.Parallel()
	res, err := newShell(t).Run(t.Context(), sandbox.Command{
		Line:    "trap '' TERM INT; sleep 1000 & echo $!; echo before; wait",
		Timeout: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.ExitCode != 124 || !res.TimedOut {
		t.Errorf("exit code %d, timed out %v; want 124, true", res.ExitCode, res.TimedOut)
	}
	pid, rest, _ := strings.Cut(string(res.Output), "\n")
	if rest != "before\n" {
		t.Errorf("output until then is lost: %q", res.Output)
	}
	awaitGone(t, pid)
}

func TestShellTimeoutIsTheDefault(t *testing.T) {
	t.Parallel()
	shell, err := sandbox.New(sandbox.Config{Timeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	res, err := shell.Run(t.Context(), sandbox.Command{Line: "sleep 1000"})
	if err != nil || !res.TimedOut {
		t.Errorf("timed out %v, %v", res.TimedOut, err)
	}
}

func TestBackgroundDiesWithTheShell(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"holding the pipe": "sleep 1000 & echo $!",
		"not holding it":   "sleep 1000 >/dev/null 2>&1 & echo $!",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			res, err := newShell(t).Run(t.Context(), sandbox.Command{Line: line})
			if err != nil || res.ExitCode != 0 {
				t.Fatalf("exit %d, %v", res.ExitCode, err)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v: the open pipe was waited for", took)
			}
			awaitGone(t, strings.TrimSpace(string(res.Output)))
		})
	}
}

// A process that leaves the group is out of reach: Run returns all the same,
// and the process may live. The test ends it.
func TestSetsidMayOutliveTheCommand(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	start := time.Now()
	res, err := newShell(t).Run(t.Context(), sandbox.Command{
		Line: "setsid sh -c 'echo $$ >" + file + ".new; mv " + file + ".new " + file + "; exec sleep 1000' & until [ -e " + file + " ]; do :; done",
	})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("exit %d, %v, %s", res.ExitCode, err, res.Output)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v: the open pipe was waited for", took)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(data))
	if err := syscall.Kill(atoi(t, pid), syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
	awaitGone(t, pid)
}

// On a busy machine the goroutine that reads what a command printed may come long after
// its end.
func TestNothingThatWasPrintedIsLost(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		shell, dir := newShell(t), ""
		if level != sandbox.LevelNone {
			w, _ := newYard(t).wall(t, level, sandbox.Policy{Discard: true})
			shell, dir = w.Shell(shell), w.Dir()
		}
		late := false
		var seen int
		res, err := shell.Run(t.Context(), sandbox.Command{
			Line: "head -c 100000 /dev/zero | tr '\\0' x", Dir: dir,
			Output: func(chunk []byte) {
				if seen += len(chunk); !late && seen > 40_000 { // what is left fits into the pipe
					late = true
					<-time.After(600 * time.Millisecond)
				}
			},
		})
		if err != nil || res.ExitCode != 0 || !late || seen != 100_000 {
			t.Errorf("read %d of 100000 bytes, %d, %v", seen, res.ExitCode, err)
		}
	})
}

func TestCancelReturnsAtOnceWithWhatThereWas(t *testing.T) {
	t.Parallel()
	shell := newShell(t)
	fastest := time.Hour // a busy machine may make any one of them late
	for range 5 {
		fastest = min(fastest, cancelOnce(t, shell))
	}
	if fastest > 100*time.Millisecond {
		t.Errorf("returned %v after the cancel", fastest)
	}
}

// cancelOnce cancels a command and tells how long it took to return.
func cancelOnce(t *testing.T, shell *sandbox.Shell) time.Duration {
	t.Helper()
	why := errors.New("the user said stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var at time.Time
	var seen bytes.Buffer
	res, err := shell.Run(ctx, sandbox.Command{
		Line: "sleep 1000 & echo $!; wait",
		Output: func(p []byte) {
			seen.Write(p)
			if bytes.HasSuffix(seen.Bytes(), []byte("\n")) {
				at = time.Now()
				cancel(why)
			}
		},
	})
	took := time.Since(at)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Errorf("error %v wraps neither or only one of ctx.Err and the cause", err)
	}
	if diff := cmp.Diff(seen.String(), string(res.Output)); diff != "" {
		t.Errorf("output (-live +result):\n%s", diff)
	}
	awaitGone(t, strings.TrimSpace(string(res.Output)))
	return took
}

func TestContextThatHasEnded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ran")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newShell(t).Run(ctx, sandbox.Command{Line: "touch " + file})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the command ran")
	}
}

func TestDeadlineOfTheCallerIsNotATimeout(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	res, err := newShell(t).Run(ctx, sandbox.Command{Line: "sleep 1000"})
	if !errors.Is(err, context.DeadlineExceeded) || res.TimedOut {
		t.Errorf("error %v, timed out %v", err, res.TimedOut)
	}
}

func TestBigOutputKeepsTheHeadAndCountsTheRest(t *testing.T) {
	t.Parallel()
	const kept, extra = 16 << 20, 12345
	var live int
	res, err := newShell(t).Run(t.Context(), sandbox.Command{
		Line:   "head -c " + strconv.Itoa(kept+extra) + " /dev/zero | tr '\\0' x",
		Output: func(p []byte) { live += len(p) },
	})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("exit %d, %v", res.ExitCode, err)
	}
	if live != kept+extra {
		t.Errorf("live output had %d bytes, want %d", live, kept+extra)
	}
	tail := "\n… 12345 bytes dropped\n"
	if len(res.Output) != kept+len(tail) || !strings.HasSuffix(string(res.Output[kept:]), tail) {
		t.Errorf("kept %d bytes ending in %q", len(res.Output), res.Output[len(res.Output)-40:])
	}
}

func TestSecretsDoNotReachChildren(t *testing.T) {
	t.Parallel()
	shell, err := sandbox.New(sandbox.Config{Env: []string{
		"PATH=" + os.Getenv("PATH"), "OPENAI_API_KEY=sk-hidden", "PLAN_HOME=hidden", "GIT_DIR=hidden", "MINE=kept",
	}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := shell.Run(t.Context(), sandbox.Command{Line: "env"})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(res.Output), "hidden") || !strings.Contains(string(res.Output), "MINE=kept\n") {
		t.Errorf("the environment of a child:\n%s", res.Output)
	}
}

func TestChoosesTheShell(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	only := t.TempDir()
	if err := os.Symlink(sh, filepath.Join(only, "sh")); err != nil {
		t.Fatal(err)
	}
	shell, err := sandbox.New(sandbox.Config{Env: []string{"PATH=" + only}})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(only, "sh"); shell.Path() != want {
		t.Errorf("shell %q, want %q", shell.Path(), want)
	}
	res, err := shell.Run(t.Context(), sandbox.Command{Line: "echo $((1+1)); exit 3"})
	if err != nil || res.ExitCode != 3 || string(res.Output) != "2\n" {
		t.Errorf("sh: exit %d, output %q, %v", res.ExitCode, res.Output, err)
	}
	res, err = shell.Run(t.Context(), sandbox.Command{Line: "false | true"})
	if err != nil || (res.ExitCode != 0) != shell.Pipefail() {
		t.Errorf("Pipefail says %v, a failing pipe exits %d, %v", shell.Pipefail(), res.ExitCode, err)
	}
	if bash := newShell(t); filepath.Base(bash.Path()) != "bash" || !bash.Pipefail() {
		t.Errorf("default shell %q, pipefail %v", bash.Path(), bash.Pipefail())
	}
	if _, err := sandbox.New(sandbox.Config{Env: []string{"PATH=" + t.TempDir()}}); err == nil || !strings.Contains(err.Error(), "install bash") {
		t.Errorf("no shell at all: %v", err)
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("not a process id: %q", s)
	}
	return n
}

// awaitGone waits until the process is dead, and fails when it stays alive.
func awaitGone(t *testing.T, pid string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for alive(t, pid) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("process %s is still alive", pid)
		}
	}
}

// alive reports whether the process runs; a zombie that was not reaped does not.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	if errors.Is(syscall.Kill(atoi(t, pid), 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
