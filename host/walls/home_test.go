package walls_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/host/walls/wallstest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// Every phase sees of the home what tools need and what the settings show, and nothing
// else.
func TestEveryPhaseHasAHiddenHome(t *testing.T) {
	t.Parallel()
	const secret = "SECRET-55aa"
	wallstest.Levels(t, func(t *testing.T, level sandbox.Level) {
		if level == sandbox.LevelNone {
			return
		}
		dir := wallstest.Committed(t)
		home := filepath.Dir(dir)
		gittest.Write(t, home, map[string]string{
			".bashrc": secret, ".env": secret, "other/.env": secret, ".netrc": secret, ".config/foo/token": secret, "asked/x": "asked\n",
			".nvm/versions/node/bin/node": "#!/bin/sh\necho node\n", "agreed/x": "agreed\n", ".plan/plan.db": secret,
			".gitconfig": "[user]\n\tname = Me\n[http]\n\textraheader = " + secret + "\n", ".ssh/config": secret,
		})
		node := filepath.Join(home, ".nvm/versions/node/bin")
		if err := os.Chmod(filepath.Join(node, "node"), 0o755); err != nil {
			t.Fatal(err)
		}
		repo, err := worktree.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		environ := []string{"HOME=" + home, "PATH=" + node + ":" + os.Getenv("PATH"), "DB=postgres://u:" + secret + "@h/d", "X_ROOT=" + home}
		settings := config.Config{Sandbox: string(level), Walls: config.WallsConfig{Show: []string{"~/asked", "~", "~/.ssh/config"}}}
		env, set := walls.Environment(settings, environ)
		shell, err := sandbox.New(sandbox.Config{Env: env, Set: set})
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		var background sync.WaitGroup
		t.Cleanup(background.Wait)
		w, err := walls.New(t.Context(), walls.Config{
			Settings: settings,
			Repo:     func() *worktree.Repo { return repo },
			Shell:    shell,
			Env:      environ,
			Home:     filepath.Join(home, ".plan"),
			Shown:    []string{filepath.Join(home, "agreed")},
			Now:      time.Now,
			Note:     func(text string) { notes = append(notes, strings.ReplaceAll(text, home, "~")) },
			CopyTree: func(ctx context.Context) (string, func() error, error) {
				v, err := repo.View(ctx)
				if err != nil {
					return "", nil, err
				}
				return v.Dir, v.Close, nil
			},
			Background: background.Go,
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"walls.show: ~ is not shown, because all of the home directory lies in it",
			"walls.show: ~/.ssh/config stays hidden, because keys are kept there",
		}
		if diff := cmp.Diff(want, notes[:min(len(notes), 2)]); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
		for _, phase := range []plan.Phase{plan.Explore, plan.Plan, plan.Implement, plan.Review} {
			room, err := w.PhaseRoom(t.Context(), phase, plan.Trees{})
			if err != nil {
				t.Fatal(err)
			}
			res, err := room.Shell.Run(t.Context(), sandbox.Command{
				Line: "node; cat calc ~/asked/x ~/agreed/x; git config --global user.name; git log --format=%s -1; grep -r " + secret +
					" ~ 2>/dev/null; cat ~/.bashrc ~/.env ~/other/.env ~/.netrc ~/.config/foo/token ~/.plan/plan.db ~/.ssh/config 2>/dev/null; env; :",
				Dir: room.Dir,
			})
			if err != nil {
				t.Fatal(err)
			}
			if out := string(res.Output); strings.Contains(out, secret) ||
				!strings.HasPrefix(out, "node\none\ntwo\nasked\nagreed\nMe\nsecond\n") {
				t.Errorf("%s: %s", phase, out)
			}
			if err := room.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
