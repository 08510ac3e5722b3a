package batches

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/gittest"
)

// Hooks in the work tree run for a publish command where the user says so, with the
// flag or asked, and the question names them. Else what is left out is told.
func TestHooksOfTheTreeRunWhereTheUserSaysSo(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo, hooks := filepath.Join(dir, "repo"), filepath.Join(dir, "repo", ".husky")
	gittest.Git(t, dir, "init", "-q", "repo")
	gittest.Git(t, repo, "commit", "-q", "--allow-empty", "-m", "x")
	gittest.Write(t, repo, map[string]string{".husky/reference-transaction": "#!/bin/sh\necho ran >>../ran\n"})
	if err := os.Chmod(filepath.Join(hooks, "reference-transaction"), 0o700); err != nil {
		t.Fatal(err)
	}
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
		env, left, err := b.gitEnv(t.Context(), repo, how)
		if err != nil || asked != test.asked || (left == "") != test.runs || left != "" && left != hooks {
			t.Errorf("%s: %q is left out, asked %d times, %v", test.name, left, asked, err)
		}
		cmd := exec.CommandContext(t.Context(), "git", "update-ref", "refs/x/a", "HEAD")
		cmd.Dir, cmd.Env = repo, append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		ran := os.Remove(filepath.Join(dir, "ran")) == nil
		if ran != test.runs {
			t.Errorf("%s: the hook ran: %v", test.name, ran)
		}
	}
}
