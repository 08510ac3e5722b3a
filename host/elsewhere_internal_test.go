package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/gittest"
)

// A journal from elsewhere may name any folder as the work tree of its run: nothing is
// restored, removed, committed or looked at there. Each of it works in the run's own.
func TestAJournalNamesNoWorkTree(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(home, "repo")
	gittest.Git(t, home, "init", "-q", repo)
	gittest.Write(t, repo, map[string]string{"f": "one\n"})
	gittest.Git(t, repo, "add", "-A")
	gittest.Git(t, repo, "commit", "-q", "-m", "first")
	first := gittest.Git(t, repo, "rev-parse", "HEAD")
	gittest.Write(t, repo, map[string]string{"f": "two\n"})
	gittest.Git(t, repo, "commit", "-q", "-am", "second")
	h := New(Config{Environ: []string{"HOME=" + home, "PLAN_HOME=" + filepath.Join(home, "plan")}, Now: time.Now})
	defer func() { _ = h.Close() }()
	const id = plan.RunID("01HZZZZZZZZZZZZZZZZZZZZZZZ")
	for name, dir := range map[string]string{
		"a folder of the user's": filepath.Join(home, "mine"),
		"that of another run":    filepath.Join(home, "plan/worktrees/01HZZZZZZZZZZZZZZZZZZZZZZY"),
		"its own":                filepath.Join(home, "plan/worktrees", string(id)),
	} {
		gittest.Git(t, repo, "worktree", "add", "-q", "--detach", dir)
		run := &engine.Run{
			ID:    id,
			Head:  9,
			State: plan.Exhausted,
			Start: &plan.RunStart{Repo: repo, Worktree: dir, Base: first, Snapshot: first + "^{tree}"},
			Snapshots: []plan.Snapshot{
				{Label: engine.LabelStart, Tree: gittest.Git(t, repo, "rev-parse", first+"^{tree}")},
				{Label: "end", Tree: gittest.Git(t, repo, "rev-parse", "HEAD^{tree}")},
			},
		}
		_, opened := h.treeOf(t.Context(), run)
		_, removed := h.RemoveWorkTree(t.Context(), run)
		_, found := h.WorkFolder(t.Context(), run)
		_, committed := h.CommitOnBranch(t.Context(), run)
		var elsewhere *elsewhereError
		if own := name == "its own"; own {
			if opened != nil || errors.As(removed, &elsewhere) {
				t.Errorf("%s: %v, %v", name, opened, removed)
			}
			continue
		}
		_, restored := h.Restore(t.Context(), run, Restore{To: engine.LabelStart})
		for what, err := range map[string]error{
			"open": opened, "remove": removed, "restore": restored, "run a command in": found, "commit in": committed,
		} {
			if !errors.As(err, &elsewhere) {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		if text, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(text) != "two\n" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// What checks and reviews see of a tree is not chosen by a journal from elsewhere.
func TestAJournalChoosesNoView(t *testing.T) {
	t.Parallel()
	ev := plan.Event{Seq: 1, Body: plan.RunStart{View: ""}}
	if got, ok := (story{upTo: 1}).tell(ev).Body.(plan.RunStart); !ok || got.View != plan.ViewSnapshot {
		t.Errorf("%+v", got)
	}
	if got, ok := (story{}).tell(ev).Body.(plan.RunStart); !ok || got.View != "" {
		t.Errorf("of a run that was begun here: %+v", got)
	}
}
