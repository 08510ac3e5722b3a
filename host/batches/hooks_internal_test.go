package batches

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree/git"
)

// Hooks in the work tree run for a publish command where the user says so, with the
// flag or asked, and the question names them; they run as they were before the work. Else
// what is left out is told.
func TestHooksOfTheTreeRunWhereTheUserSaysSo(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo, hooks := filepath.Join(dir, "repo"), filepath.Join(dir, "repo", ".husky")
	gittest.Git(t, dir, "init", "-q", "repo")
	hook := func(does string) {
		gittest.Write(t, repo, map[string]string{".husky/reference-transaction": "#!/bin/sh\n" + does + "\n"})
		if err := os.Chmod(filepath.Join(hooks, "reference-transaction"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	hook("echo ran >>../ran")
	gittest.Git(t, repo, "add", "-A")
	gittest.Git(t, repo, "commit", "-q", "-m", "x")
	hook("echo evil >>../evil")
	gittest.Git(t, repo, "config", "core.hooksPath", ".husky")
	h := host.New(host.Config{Environ: append(os.Environ(), "PLAN_HOME="+filepath.Join(dir, "home"))})
	b := New(h)
	for _, test := range []struct {
		name  string
		flag  bool
		ask   func(string) bool
		asked int
		runs  bool
	}{
		{name: "nothing is said"},
		{name: "the flag", flag: true, runs: true},
		{name: "the flag, at a terminal", flag: true, ask: func(string) bool { return false }, runs: true},
		{name: "yes", ask: func(string) bool { return true }, asked: 1, runs: true},
		{name: "no", ask: func(string) bool { return false }, asked: 1},
	} {
		asked := 0
		how := Publish{RunHooks: test.flag}
		if test.ask != nil {
			how.Ask = func(named string) bool {
				asked++
				if named != hooks {
					t.Errorf("%s: asked about %s", test.name, named)
				}
				return test.ask(named)
			}
		}
		at := publishPlace{dir: repo, origin: "HEAD"}
		place, left, err := b.publishFrom(t.Context(), at, how, sandbox.Config{Own: true})
		if err != nil || asked != test.asked || (left == "") != test.runs || left != "" && left != hooks {
			t.Fatalf("%s: %q is left out, asked %d times, %v", test.name, left, asked, err)
		}
		if !place.Swapped {
			t.Log("no folder can be put in the place of another here: no such hook runs")
			return
		}
		res, err := place.Shell.Run(t.Context(), sandbox.Command{Line: "git update-ref refs/x/a HEAD", Dir: place.Dir})
		if err := errors.Join(err, place.Close()); err != nil || res.ExitCode != 0 {
			t.Fatalf("%v: %s", err, res.Output)
		}
		ran := os.Remove(filepath.Join(dir, "ran")) == nil
		if ran != test.runs {
			t.Errorf("%s: the hook ran: %v", test.name, ran)
		}
		if _, err := os.Stat(filepath.Join(dir, "evil")); err == nil {
			t.Fatalf("%s: what the work made of the hook ran", test.name)
		}
	}
}

// Where the repository's settings say how servers are reached, and name programs of the
// tree, nothing is published, and that is said.
func TestNothingIsPublishedByProgramsOfTheTree(t *testing.T) {
	t.Parallel()
	repo, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, repo, "init", "-q")
	gittest.Git(t, repo, "commit", "-q", "--allow-empty", "-m", "x")
	gittest.Git(t, repo, "config", "remote.origin.receivepack", "./tools/receive")
	b := New(host.New(host.Config{Environ: append(os.Environ(), "PLAN_HOME="+t.TempDir())}))
	place, _, err := b.publishFrom(t.Context(), publishPlace{dir: repo, origin: "HEAD"}, Publish{}, sandbox.Config{Own: true})
	var leads *git.LeadsError
	if place != nil || !errors.As(err, &leads) {
		t.Fatalf("%v, %v", place, err)
	}
}
