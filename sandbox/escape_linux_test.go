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

	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/sandbox/places"
)

// fewest is how many attempts there must be for the suite to mean something.
const fewest = 60

// attemptsPerFamily is how many attempts of a family a sample has, for each kind of
// wall and each user.
const attemptsPerFamily = 1

// stage is one way to build a wall around an arena.
type stage struct {
	name      string
	level     sandbox.Level
	implement bool
	attempts  []attempt
}

// TestEscapes tries to get out of a wall in every way that it knows, as the
// user who runs the tests and, where that is root, as an ordinary user too.
// What does not work without a wall either is not counted. A sample makes some
// attempts of each family, others behind each kind of wall.
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
	random := sampling.New(t)
	var stages []stage
	for _, s := range []stage{
		{name: "review in namespaces", level: sandbox.LevelNamespaces},
		{name: "implement in namespaces", level: sandbox.LevelNamespaces, implement: true},
		{name: "review in bubblewrap", level: sandbox.LevelBubblewrap},
		{name: "implement in bubblewrap", level: sandbox.LevelBubblewrap, implement: true},
		{name: "review with landlock", level: sandbox.LevelLandlock},
		{name: "implement with landlock", level: sandbox.LevelLandlock, implement: true},
	} {
		if err := tried(s.level); err != nil {
			t.Logf("%s cannot be built here: %v", s.level, err)
			continue
		}
		family := func(try attempt) string { return try.family }
		s.attempts = sampling.PickEach(random, attemptsPerFamily, s.forbidden(), family)
		stages = append(stages, s)
	}
	possible := withoutWall(t, template, helper, made(stages))
	if sampling.All() && len(possible) < fewest {
		t.Errorf("only %d attempts work without a wall; the suite wants %d", len(possible), fewest)
	}
	for _, s := range stages {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.run(t, template, helper, possible)
		})
	}
}

// forbidden are the attempts at what must not be done behind this wall.
func (s stage) forbidden() []attempt {
	return slices.DeleteFunc(attempts(), func(try attempt) bool {
		return s.implement && try.implement || try.root && os.Getuid() != 0
	})
}

// made are the attempts that some stage makes.
func made(stages []stage) []attempt {
	names := map[string]bool{}
	for _, s := range stages {
		for _, try := range s.attempts {
			names[try.name] = true
		}
	}
	return slices.DeleteFunc(attempts(), func(try attempt) bool { return !names[try.name] })
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
	cmd.Env = append(os.Environ(), "HOME="+home, "GOCOVERDIR="+home, sampling.Environment(t))
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

// withoutWall returns those of the attempts that work where there is no wall, by
// their names.
func withoutWall(t *testing.T, template, helper string, all []attempt) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, try := range all {
		a := newArena(t, template)
		said := a.bare(try.line, helper)
		if try.works(a, said, "") {
			out[try.name] = true
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
func (s stage) run(t *testing.T, template, helper string, possible map[string]bool) {
	t.Helper()
	tried, blocked := 0, 0
	var through []string
	a := newArena(t, template)
	defer func() { a.close() }()
	for _, try := range s.attempts {
		if !possible[try.name] {
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
	home := places.Of(env, a.tree)
	policy := sandbox.Policy{
		Home: a.home, Shown: home.Shown(), Settings: home.Settings(),
		Tree: a.tree, Discard: !s.implement, Network: s.implement,
		Hidden: append(sandbox.Secrets(env), a.own),
		Caches: sandbox.Caches(env, time.Now()),
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
