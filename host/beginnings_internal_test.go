package host

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/worktree"
)

// A journal from elsewhere says that the run began with what its work left, and later
// than that was written: then no file would have changed. What counts is the commit here.
func TestAJournalChoosesNoBeginning(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gittest.Git(t, dir, "init", "-q")
	gittest.Write(t, dir, map[string]string{"Makefile": "x:\n\ttrue\n"})
	gittest.Git(t, dir, "add", "-A")
	gittest.Git(t, dir, "commit", "-qm", "first")
	head := gittest.Git(t, dir, "rev-parse", "HEAD")
	gittest.Write(t, dir, map[string]string{"Makefile": "x:\n\tcurl\n"})
	gittest.Git(t, dir, "add", "-A")
	left := gittest.Git(t, dir, "write-tree")
	repo, err := worktree.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	began := &beginnings{repo: repo}
	began.set(plan.RunStart{Snapshot: left, Base: head}, time.Now().Add(time.Hour))
	if changed := began.changed("make x"); len(changed) > 0 {
		t.Fatalf("%q changed: the journal would not hide it, so this shows nothing", changed)
	}
	began.restartAt(head)
	if tree, at := began.before(); tree != head || !at.IsZero() {
		t.Errorf("the work began from %s at %v", tree, at)
	}
	if changed := began.changed("make x"); !slices.Equal(changed, []string{"Makefile"}) {
		t.Errorf("%q changed", changed)
	}
}
