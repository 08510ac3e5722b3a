package sandbox_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plan-engine/plan/sandbox"
)

// fewest is how many attempts there must be for the suite to mean something.
const fewest = 60

// stage is one way to build a wall around an arena.
type stage struct {
	name      string
	level     sandbox.Level
	implement bool
}

// TestEscapes tries to get out of a wall in every way that it knows, as the
// user who runs the tests and, where that is root, as an ordinary user too.
// What does not work without a wall either is not counted.
func TestEscapes(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "escapes-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	helper := filepath.Join(dir, "helper.test")
	copyProgram(t, helper)
	if os.Getuid() == 0 {
		t.Run("ordinary user", func(t *testing.T) {
			t.Parallel()
			asNobody(t, dir, helper)
		})
	}
	template := newTemplate(t)
	possible := withoutWall(t, template, helper)
	if len(possible) < fewest {
		t.Errorf("only %d attempts work without a wall; the suite wants %d", len(possible), fewest)
	}
	for _, s := range []stage{
		{"review in namespaces", sandbox.LevelNamespaces, false},
		{"implement in namespaces", sandbox.LevelNamespaces, true},
		{"review in bubblewrap", sandbox.LevelBubblewrap, false},
		{"implement in bubblewrap", sandbox.LevelBubblewrap, true},
		{"review with landlock", sandbox.LevelLandlock, false},
		{"implement with landlock", sandbox.LevelLandlock, true},
	} {
		if err := sandbox.Try(t.Context(), s.level, newShell(t), os.Environ()); err != nil {
			t.Logf("%s cannot be built here: %v", s.level, err)
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, template, helper, possible)
		})
	}
}

// copyProgram puts this program where every user finds it.
func copyProgram(t *testing.T, to string) {
	t.Helper()
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, from); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
}

// asNobody runs the reviews of the suite as a user without any rights.
func asNobody(t *testing.T, dir, helper string) {
	t.Helper()
	home := filepath.Join(dir, "nobody")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), helper, "-test.run", "^TestEscapes$/^review", "-test.v")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "GOCOVERDIR="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "attempts ") || strings.Contains(line, "cannot be built") {
			t.Log("ordinary user: " + strings.TrimSpace(line))
		}
	}
}

// withoutWall returns the attempts that work where there is no wall.
func withoutWall(t *testing.T, template, helper string) []attempt {
	t.Helper()
	var out []attempt
	for _, try := range attempts() {
		if try.root && os.Getuid() != 0 {
			continue
		}
		a := newArena(t, template)
		said := a.bare(try.line, helper)
		if try.works(a, said, "") {
			out = append(out, try)
		} else {
			t.Logf("not counted, because it does not work without a wall either: %s: %q", try.name, said)
		}
		a.endSurvivor()
		a.close()
	}
	return out
}

func (try attempt) works(a *arena, said, skip string) bool {
	if try.won != nil {
		return try.won(a, said)
	}
	return len(a.changes(skip)) > 0
}

// run makes all attempts from behind one kind of wall. An arena serves until
// something got out.
func (s stage) run(t *testing.T, template, helper string, possible []attempt) {
	t.Helper()
	tried, blocked := 0, 0
	var through []string
	a := newArena(t, template)
	defer func() { a.close() }()
	for _, try := range possible {
		if s.implement && try.implement {
			continue
		}
		tried++
		said, out := s.try(a, helper, try)
		if !out {
			blocked++
			continue
		}
		if why := s.allows(try); why != "" {
			through = append(through, fmt.Sprintf("%s (%s)", try.name, why))
		} else {
			t.Errorf("%s got out: %s\n%s", try.name, try.line, said)
		}
		a.close()
		a = newArena(t, template)
	}
	t.Logf("attempts %d, blocked %d", tried, blocked)
	slices.Sort(through)
	for _, line := range through {
		t.Log("gets through: " + line)
	}
}

// allows says why an attempt is known to work behind this wall, "" if it is
// not.
func (s stage) allows(try attempt) string {
	switch {
	case s.level == sandbox.LevelBubblewrap:
		return try.bubblewrap
	case s.level != sandbox.LevelLandlock:
		return ""
	case s.implement && strings.HasPrefix(try.name, "git "):
		return "what may be written may be written as a whole: without namespaces nothing in it can be kept as it is"
	}
	return try.landlock
}

// try makes one attempt behind a wall of its own.
func (s stage) try(a *arena, helper string, try attempt) (said string, out bool) {
	t := a.t
	t.Helper()
	env := append(a.environ(helper), "PATH="+os.Getenv("PATH")+":"+filepath.Dir(helper))
	policy := sandbox.Policy{
		Tree: a.tree, Discard: !s.implement, Network: s.implement,
		Hidden: append(sandbox.Secrets(env), a.own),
	}
	skip := ""
	if s.implement {
		policy.Fixed, skip = []string{filepath.Join(a.tree, ".git")}, a.tree
	} else if s.level.NeedsCopy() {
		policy.Copy = filepath.Join(a.base, "copy")
		if _, err := os.Stat(policy.Copy); err != nil {
			a.must("cp", "-a", a.tree, policy.Copy)
		}
	}
	wall, err := sandbox.NewWall(s.level, policy, env)
	if err != nil {
		t.Fatal(err)
	}
	shell, err := sandbox.New(sandbox.Config{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	res, err := wall.Shell(shell).Run(t.Context(), sandbox.Command{Line: try.line, Dir: a.tree, Timeout: 10 * time.Second})
	if err != nil || res.TimedOut {
		t.Errorf("%s did not end by itself: %v", try.name, err)
	}
	_ = wall.Close() // a breach shows below
	return string(res.Output), try.works(a, string(res.Output), skip)
}
