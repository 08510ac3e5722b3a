package walls_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/sandbox"
)

// With allow_commit Implement commits, and nothing else of what it does to .git is
// left: neither what names programs, nor a new submodule or work tree. What the user
// had begun before is as it was.
func TestWithAllowCommitOnlyCommitsStay(t *testing.T) {
	t.Parallel()
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		dir := wallstest.Committed(t)
		c := wallstest.NewChange(t, dir, level)
		gittest.Write(t, dir, map[string]string{
			".git/rebase-merge/git-rebase-todo": "pick\n",
			".git/modules/libs/old/HEAD":        "ref: refs/heads/main\n",
		})
		c.Config.Settings.AllowCommit = true
		w, err := walls.New(t.Context(), c.Config)
		if err != nil {
			t.Fatal(err)
		}
		config := read(t, dir, ".git/config")
		room, err := w.PhaseRoom(t.Context(), plan.Implement, plan.Trees{})
		if err != nil {
			t.Fatal(err)
		}
		records := func() int {
			found, _ := filepath.Glob(filepath.Join(walls.StartsIn(c.Config.Home), "*.start"))
			return len(found)
		}
		if records() != 1 {
			t.Errorf("%d records stand while commands may run", records())
		}
		const line = `git add calc; git -c user.name=a -c user.email=a@b commit -qm work && echo committed
			cd .git; echo evil >>config; echo evil >hooks/post-commit; echo exec evil >>rebase-merge/git-rebase-todo
			mkdir -p modules/libs/new modules/libs/old/hooks worktrees/new rebase-apply; echo evil >modules/libs/new/config
			echo evil >modules/libs/old/hooks/post-checkout; echo evil >modules/libs/old/config.worktree
			echo /tmp/.git >worktrees/new/gitdir; echo x >rebase-apply/x; echo x >config.worktree; true`
		res, err := room.Shell.Run(context.WithoutCancel(t.Context()), sandbox.Command{Line: line, Dir: room.Dir})
		if err != nil || !strings.Contains(string(res.Output), "committed") {
			t.Fatalf("%v: %s", err, res.Output)
		}
		err = room.Close()
		var breach *sandbox.Breach
		if !errors.As(err, &breach) || len(breach.Lost) > 0 {
			t.Errorf("it closed with %v", err)
		}
		if got := gittest.Git(t, dir, "log", "-1", "--format=%s"); got != "work" {
			t.Errorf("the last commit is %q", got)
		}
		if read(t, dir, ".git/config") != config || read(t, dir, ".git/rebase-merge/git-rebase-todo") != "pick\n" {
			t.Error("the settings, or what the user had begun, are not as they were")
		}
		for _, name := range []string{
			"hooks/post-commit", "modules/libs/new", "modules/libs/old/hooks/post-checkout",
			"modules/libs/old/config.worktree", "worktrees/new", "rebase-apply", "config.worktree",
		} {
			if _, err := os.Lstat(filepath.Join(dir, ".git", name)); err == nil {
				t.Errorf("%s is left", name)
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git/modules/libs/old/HEAD")); err != nil {
			t.Errorf("a submodule that was there: %v", err)
		}
		if records() != 0 {
			t.Error("a record is left")
		}
	})
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
