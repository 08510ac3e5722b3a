package walls_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
)

const (
	// build has go say what it compiles.
	build = "CGO_ENABLED=0 GOFLAGS=-trimpath go build -x ./... 2>&1"
	// poison changes all that a tool has built and adds to what others have.
	poison = `find "$(go env GOCACHE)" -name '*-[ad]' -exec sh -c 'echo evil >"$1"' sh {} \; ` +
		`; for d in "$(go env GOCACHE)" "$(go env GOMODCACHE)" "${npm_config_cache:-$HOME/.npm}/_npx" ` +
		`"$HOME/.m2/repository" "$HOME/.gradle/caches" "$HOME/.cargo/registry"; ` +
		`do mkdir -p "$d"; echo evil >"$d/evil"; done; true`
)

// An implementer's caches are seen by no check and not by the user; those of the
// baseline are used by checks and by the next run, and those of a check by the next
// on the same tree, until another change is judged.
func TestCachesOfARun(t *testing.T) {
	t.Parallel()
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		dir := wallstest.Committed(t)
		gittest.Write(t, dir, map[string]string{
			"go.mod":     "module example.com/m\n\ngo 1.24\n",
			"m.go":       "package m\n\nconst N = 1\n",
			"changed.go": "package m\n",
			"sub/s.go":   "package sub\n\nconst M = 1\n",
		})
		gittest.Git(t, dir, "add", "-A")
		gittest.Git(t, dir, "commit", "-q", "-m", "go")
		c := wallstest.NewChange(t, dir, level)
		gittest.Git(t, dir, "add", "-A")
		gittest.Git(t, dir, "commit", "-q", "-m", "the start") // what runs on it is kept
		c.Base = gittest.Git(t, dir, "rev-parse", "HEAD")
		start := plan.Trial{Baseline: true, Trees: plan.Trees{Start: c.Trees.Work, Work: c.Trees.Work}}
		home := strings.TrimPrefix(c.Config.Env[1], "HOME=")
		for _, name := range []string{".m2/repository", ".gradle/caches", ".cargo/registry", ".npm/_npx"} {
			if err := os.MkdirAll(filepath.Join(home, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		c.OpenViews(t)
		trial := func(w *walls.Walls, tr plan.Trial) string {
			t.Helper()
			room, err := w.TrialRoom(t.Context(), tr)
			if err != nil {
				t.Fatal(err)
			}
			return runIn(t, room.Room, build)
		}
		expect := func(what, out string, compiled ...string) {
			t.Helper()
			if n := strings.Count(out, "/compile -o"); n != len(compiled) {
				t.Errorf("%s: %d packages were compiled, want %v\n%.2000s", what, n, compiled, out)
			}
		}
		expect("the baseline", trial(c.Walls, start), "m", "sub")

		room, err := c.Walls.PhaseRoom(t.Context(), plan.Implement, plan.Trees{})
		if err != nil {
			t.Fatal(err)
		}
		line := build + ";" + poison
		if level == sandbox.LevelNone { // nothing keeps commands there from what they are not told to use
			line = build + "; find \"$GOCACHE\" -name '*-[ad]' -exec sh -c 'echo evil >\"$1\"' sh {} \\; ; echo evil >$GOMODCACHE/evil"
		}
		runIn(t, room, line)
		gittest.Write(t, dir, map[string]string{"sub/s.go": "package sub\n\nconst M = 2\n"})
		work, err := c.Repo.Tree(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check := plan.Trial{Trees: plan.Trees{Start: start.Trees.Work, Work: work}}
		evidence := check
		evidence.On = plan.TreeReviewed
		expect("the first check", trial(c.Walls, check), "sub")
		expect("the second check", trial(c.Walls, check))
		expect("evidence", trial(c.Walls, evidence))
		evidence.On = plan.TreeStart
		expect("evidence on the start", trial(c.Walls, evidence))

		err = filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if data, err := os.ReadFile(path); strings.Contains(string(data), "evil") || err != nil {
				t.Errorf("%s has come to the user: %v", path, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if err := c.Walls.Close(); err != nil {
			t.Error(err)
		}
		if left, err := filepath.Glob(filepath.Join(c.Config.Home, "caches", "plan-layer-*")); len(left) > 0 || err != nil {
			t.Errorf("the run leaves %v, %v", left, err)
		}
		later, err := walls.New(t.Context(), c.Config)
		if err != nil {
			t.Fatal(err)
		}
		later.OpenViews(c.Base)
		start.Trees = plan.Trees{Start: work, Work: work}
		expect("the next run, on a tree of no commit", trial(later, start), "sub")
		if err := later.Close(); err != nil {
			t.Error(err)
		}
		if later, err = walls.New(t.Context(), c.Config); err != nil {
			t.Fatal(err)
		}
		later.OpenViews(c.Base)
		expect("the run after it", trial(later, start), "sub")
		if err := later.Close(); err != nil {
			t.Error(err)
		}
		user := exec.CommandContext(t.Context(), "sh", "-c", build)
		user.Dir, user.Env = dir, c.Config.Env
		out, err := user.CombinedOutput()
		expect("the user", string(out), "m", "sub")
		if err != nil {
			t.Error(err)
		}
	})
}

// runIn runs a line in a room, which is closed, and returns what it printed.
func runIn(t *testing.T, room phases.Room, line string) string {
	t.Helper()
	res, err := room.Shell.Run(t.Context(), sandbox.Command{Line: line, Dir: room.Dir})
	if err = errors.Join(err, room.Close()); err != nil || res.ExitCode != 0 {
		t.Fatalf("%s: %v, exit status %d\n%s", line, err, res.ExitCode, res.Output)
	}
	return string(res.Output)
}
