package sandbox_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plan-engine/plan/internal/kerneltest"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/sandbox"
)

// walledLevel is a helper's environment variable: the level to run its line behind.
const walledLevel = "SANDBOX_TEST_LEVEL"

// eachLevel runs a test behind every kind of wall that can be built here. The
// last, no wall at all, can be built anywhere.
func eachLevel(t *testing.T, test func(t *testing.T, level sandbox.Level)) {
	t.Helper()
	built := 0
	for _, level := range sandbox.Levels() {
		if err := tried(level); err != nil {
			if kerneltest.Allows(t, string(level)) {
				t.Errorf("%s cannot be built, and the kernel could: %v", level, err)
			}
			t.Logf("%s cannot be built here: %v", level, err)
			continue
		}
		built++
		t.Run(string(level), func(t *testing.T) { test(t, level) })
	}
	if built == 0 {
		t.Error("nothing can be built")
	}
}

// sampledAt picks for each of some cases one of the levels that can be built here and that
// it fits, or all of them where everything is played.
func sampledAt[C any](
	t *testing.T,
	cases map[string]C,
	fits func(name string, level sandbox.Level) bool,
) map[sandbox.Level][]string {
	t.Helper()
	type played struct {
		name  string
		level sandbox.Level
	}
	var all []played
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		for _, level := range sandbox.Levels() {
			if tried(level) == nil && fits(name, level) {
				all = append(all, played{name, level})
			}
		}
	}
	out := map[sandbox.Level][]string{}
	for _, p := range sampling.PickEach(sampling.New(t), 1, all, func(p played) string { return p.name }) {
		out[p.level] = append(out[p.level], p.name)
	}
	return out
}

// atAnyLevel is for cases that fit all levels.
func atAnyLevel(string, sandbox.Level) bool { return true }

// trials has what sandbox.Try says of each level, which is the same for all tests.
var trials sync.Map

func tried(level sandbox.Level) error {
	trial, _ := trials.LoadOrStore(level, sync.OnceValue(func() error {
		shell, err := sandbox.New(sandbox.Config{})
		if err != nil {
			return err
		}
		return sandbox.Try(context.Background(), level, shell, os.Environ())
	}))
	return trial.(func() error)()
}

// yard is a tree with a file, a copy of it, and a home beside them.
type yard struct{ tree, stand, home string }

func newYard(t *testing.T) yard {
	t.Helper()
	dir := t.TempDir()
	y := yard{filepath.Join(dir, "tree"), filepath.Join(dir, "copy"), filepath.Join(dir, "home")}
	for _, d := range []string{y.tree, y.stand, y.home, filepath.Join(y.tree, "fixed")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{y.tree, y.stand} {
		if err := os.WriteFile(filepath.Join(d, "file"), []byte("before\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return y
}

func (y yard) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + y.home, "OPENAI_API_KEY=hidden", "DISPLAY=:0", "MINE=kept"}
}

// wall builds a wall around the yard; it is closed with the test.
func (y yard) wall(t *testing.T, level sandbox.Level, p sandbox.Policy) (*sandbox.Wall, func(line string) sandbox.Result) {
	t.Helper()
	p.Tree = y.tree
	if p.Discard {
		p.Copy = y.stand
	}
	w, err := sandbox.NewWall(level, p, y.env())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	shell, err := sandbox.New(sandbox.Config{Env: y.env()})
	if err != nil {
		t.Fatal(err)
	}
	shell = w.Shell(shell)
	return w, func(line string) sandbox.Result {
		t.Helper()
		res, err := shell.Run(t.Context(), sandbox.Command{Line: line, Dir: w.Dir()})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return res
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestALayerLivesAsLongAsItsWall(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		y := newYard(t)
		w, run := y.wall(t, level, sandbox.Policy{Discard: true})
		run("echo after >>file; mkdir made; rm -rf fixed")
		if res := run("cat file; ls -d made"); string(res.Output) != "before\nafter\nmade\n" || res.ExitCode != 0 {
			t.Errorf("what the first command wrote is not there for the second: %q", res.Output)
		}
		if res := run("exit 7"); res.ExitCode != 7 {
			t.Errorf("exit status %d", res.ExitCode)
		}
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Error(err)
		}
		if got := text(t, filepath.Join(y.tree, "file")); got != "before\n" {
			t.Errorf("the tree changed: %q", got)
		}
	})
}

func TestTheTreeStandsWhereItIs(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		_, run := y.wall(t, level, sandbox.Policy{Discard: true})
		want := y.tree
		if level == sandbox.LevelLandlock || level == sandbox.LevelNone {
			want = y.stand
		}
		if got := strings.TrimSpace(string(run("pwd").Output)); got != want {
			t.Errorf("commands stand in %s, want %s", got, want)
		}
	})
}

func TestWhatMayBeWrittenIsReal(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		y := newYard(t)
		fixed := filepath.Join(y.tree, "fixed")
		_, run := y.wall(t, level, sandbox.Policy{Fixed: []string{fixed}, Network: true})
		run("echo after >>file; echo x >fixed/x; echo x >~/x; mv fixed gone")
		if got := text(t, filepath.Join(y.tree, "file")); got != "before\nafter\n" {
			t.Errorf("the tree did not change: %q", got)
		}
		if level == sandbox.LevelNone {
			return
		}
		if _, err := os.Stat(filepath.Join(y.home, "x")); err == nil {
			t.Error("the home can be written")
		}
		if level == sandbox.LevelLandlock { // it can only grant
			return
		}
		if _, err := os.Stat(filepath.Join(fixed, "x")); err == nil {
			t.Error("what stays as it is can be written")
		}
		if _, err := os.Stat(fixed); err != nil {
			t.Error("what stays as it is can be moved away")
		}
	})
}

// A run's own work tree lies where nothing else may be seen.
func TestATreeInAHiddenFolder(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		if level == sandbox.LevelNone {
			return
		}
		y := newYard(t)
		hidden := filepath.Dir(y.tree)
		for _, discard := range []bool{true, false} {
			_, run := y.wall(t, level, sandbox.Policy{Discard: discard, Hidden: []string{hidden}})
			if err := os.WriteFile(filepath.Join(hidden, "secret"), []byte("hidden\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			res := run("cat file; echo x >>file && cat " + filepath.Join(hidden, "secret"))
			if !strings.HasPrefix(string(res.Output), "before\n") || strings.Contains(string(res.Output), "hidden\n") {
				t.Errorf("discard %v: %q", discard, res.Output)
			}
		}
	})
}

func TestCommandsRunAsTheCallerWithoutRights(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		if level == sandbox.LevelNone {
			return
		}
		y := newYard(t)
		_, run := y.wall(t, level, sandbox.Policy{Discard: true})
		out := string(run(`echo "$(id -u) $MINE $DISPLAY/$OPENAI_API_KEY"; grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status; ulimit -c; d=$(mktemp -d) && echo x >$d/y && cat $d/y; tty`).Output)
		uid := strings.TrimSpace(string(must(exec.Command("id", "-u").Output())))
		for _, want := range []string{uid + " kept /\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n", "\n0\nx\nnot a tty\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in\n%s", want, out)
			}
		}
	})
}

func must(out []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return out
}

// A folder of programs in the tree is part of the tree.
func TestProgramsInTheTreeCanBeWritten(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		for _, discard := range []bool{true, false} {
			y := newYard(t)
			bin := filepath.Join(y.tree, "bin")
			for _, dir := range []string{bin, filepath.Join(y.stand, "bin")} {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			p := sandbox.Policy{Tree: y.tree, Discard: discard}
			if discard {
				p.Copy = y.stand
			}
			env := append(y.env(), "PATH="+bin+":"+os.Getenv("PATH"))
			w, err := sandbox.NewWall(level, p, env)
			if err != nil {
				t.Fatal(err)
			}
			res, err := w.Shell(newShell(t)).Run(t.Context(), sandbox.Command{Line: "echo echo made >bin/made && chmod +x bin/made && bin/made", Dir: y.tree})
			if err != nil || string(res.Output) != "made\n" {
				t.Errorf("discard %v: %v, %s", discard, err, res.Output)
			}
			_ = w.Close()
		}
	})
}

// A program that only talks to itself works without a network.
func TestLoopbackOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, level := range []sandbox.Level{sandbox.LevelNamespaces, sandbox.LevelBubblewrap} {
		if err := tried(level); err != nil {
			t.Logf("%s cannot be built here: %v", level, err)
			continue
		}
		y := newYard(t)
		_, run := y.wall(t, level, sandbox.Policy{Discard: true})
		if res := run(`[ "$(cat /sys/class/net/lo/operstate)" ] && exec 3<>/dev/udp/127.0.0.1/9 && echo x >&3`); res.ExitCode != 0 {
			t.Errorf("%s: the loopback does not work: %s", level, res.Output)
		}
	}
}

func TestABreachIsNoticed(t *testing.T) {
	t.Parallel()
	if err := tried(sandbox.LevelLandlock); err != nil {
		t.Logf("no landlock here: %v", err)
		return
	}
	y := newYard(t)
	w, run := y.wall(t, sandbox.LevelLandlock, sandbox.Policy{Discard: true})
	file := filepath.Join(y.tree, "file")
	run("chmod 777 " + file)
	var breach *sandbox.Breach
	if err := w.Close(); !errors.As(err, &breach) || len(breach.Paths) != 1 || breach.Paths[0] != file {
		t.Errorf("got %v", err)
	}
}

func TestWallErrors(t *testing.T) {
	t.Parallel()
	if _, err := sandbox.NewWall(sandbox.LevelLandlock, sandbox.Policy{Tree: "/x", Discard: true}, nil); err == nil || !strings.Contains(err.Error(), "has to be copied") {
		t.Errorf("no copy: %v", err)
	}
	if _, err := sandbox.NewWall(sandbox.LevelNamespaces, sandbox.Policy{Tree: "x"}, nil); err == nil {
		t.Error("a relative tree")
	}
	level, why := sandbox.Strongest(t.Context(), newShell(t), os.Environ(), sandbox.LevelNamespaces, sandbox.LevelBubblewrap, sandbox.LevelLandlock)
	if level != sandbox.LevelNone || len(why) != 3 {
		t.Errorf("with everything ruled out: %s, %q", level, why)
	}
	y := newYard(t)
	w, _ := y.wall(t, sandbox.LevelNamespaces, sandbox.Policy{Discard: true})
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if _, err := w.Shell(newShell(t)).Run(t.Context(), sandbox.Command{Line: ":"}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed wall: %v", err)
	}
}

// TestInputAndErrors gives a command something to read, more than a pipe holds, and
// takes what it says to its standard error apart.
func TestInputAndErrors(t *testing.T) {
	t.Parallel()
	eachLevel(t, func(t *testing.T, level sandbox.Level) {
		y := newYard(t)
		shell := newShell(t)
		if level != sandbox.LevelNone {
			wall, err := sandbox.NewWall(level, sandbox.Policy{Tree: y.tree}, y.env())
			if err != nil {
				t.Fatal(err)
			}
			defer wall.Close()
			shell = wall.Shell(shell)
		}
		for name, c := range map[string]struct{ line, input, out, errs string }{
			"reads all":     {line: "wc -c; echo no >&2", input: strings.Repeat("x", 300_000), out: "300000\n", errs: "no\n"},
			"reads a part":  {line: "head -c 1", input: strings.Repeat("x", 300_000), out: "x"},
			"reads nothing": {line: "echo done", input: strings.Repeat("x", 300_000), out: "done\n"},
			"has no input":  {line: "wc -c", out: "0\n"},
		} {
			var errs strings.Builder
			res, err := shell.Run(t.Context(), sandbox.Command{
				Line:   c.line,
				Dir:    y.tree,
				Input:  []byte(c.input),
				Errors: func(p []byte) { errs.Write(p) },
			})
			if err != nil || res.ExitCode != 0 || string(res.Output) != c.out || errs.String() != c.errs {
				t.Errorf("%s: %q, %q, exit status %d, %v", name, res.Output, errs.String(), res.ExitCode, err)
			}
		}
	})
}
