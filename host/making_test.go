package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/internal/intent"
	"github.com/plan-engine/plan/worktree"
)

// TestARunEndsWhatAnotherBegan: the power went while git made a work tree, whose HEAD
// names nothing until it is whole. The next run of the repository, and no other's, takes
// it away with its branch and its note.
func TestARunEndsWhatAnotherBegan(t *testing.T) {
	t.Parallel()
	w, other := hosttest.New(t), hosttest.New(t)
	h := host.New(w.Config)
	t.Cleanup(func() { _ = h.Close() })
	paths, err := h.Paths()
	if err != nil {
		t.Fatal(err)
	}
	repo, err := worktree.Open(t.Context(), w.Repo)
	if err != nil {
		t.Fatal(err)
	}
	head := gittest.Git(t, w.Repo, "rev-parse", "HEAD")
	left := worktree.NewTree{
		Dir:    filepath.Join(paths.Worktrees, "01KAYQ00000000000000000000"),
		Branch: "plan/left",
		Base:   head,
		Tree:   head,
	}
	if _, _, err := repo.Add(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(left.Dir, "greet.sh")); err != nil {
		t.Fatal(err)
	}
	gittest.Write(t, filepath.Join(w.Repo, ".git/worktrees", filepath.Base(left.Dir)), map[string]string{
		"HEAD":   strings.Repeat("0", len(head)) + "\n",
		"locked": "initializing",
	})
	note, err := intent.Begin(t.Context(), paths.Making, "run-"+filepath.Base(left.Dir), intent.Note{
		Run:    filepath.Base(left.Dir),
		Repo:   repo.Root(),
		Dir:    left.Dir,
		Branch: left.Branch,
		Base:   left.Base,
		Tree:   left.Tree,
		PID:    os.Getpid(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := note.Leave(); err != nil {
		t.Fatal(err)
	}

	notes := func() int {
		t.Helper()
		all, err := intent.All(paths.Making)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	run := func(dir string) {
		t.Helper()
		end, err := h.Run(t.Context(), host.Request{Dir: dir, Text: "Make greet.sh say hello"}, host.Face{})
		if err != nil || end.State != plan.Approved {
			t.Fatalf("%+v: %v", end, err)
		}
	}
	run(other.Repo)
	if notes() != 1 || !repo.HasWorkTree(left.Dir) {
		t.Error("a run of another repository has taken it away")
	}
	run(w.Repo)
	if notes() != 0 || repo.HasWorkTree(left.Dir) {
		t.Error("it is still there")
	}
	if there := gittest.Git(t, w.Repo, "branch", "--list", left.Branch); there != "" {
		t.Errorf("its branch is still there: %s", there)
	}
	gittest.Git(t, w.Repo, "fsck", "--full")
}
