package worktree_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/worktree"
)

// elsewhere makes a change in a tree of its own, and returns where it leads from
// and to.
func elsewhere(t *testing.T, r *worktree.Repo) (base, theirs string) {
	t.Helper()
	own, _ := add(t, r)
	base = tree(t, own)
	work(t, own.Root())
	put(t, own.Root(), map[string]string{"f": "1\n2\n3\n4\nFIVE\n"})
	return base, tree(t, own)
}

func TestMergeBringsAChangeOver(t *testing.T) {
	t.Parallel()
	r, dir := workplace(t)
	base, theirs := elsewhere(t, r)
	put(t, dir, map[string]string{"f": "ONE\n2\n3\n4\n5\n", "mine": "x"})
	git(t, dir, "add", "mine")
	index := get(t, dir, ".git/index")

	if in, err := r.Contains(t.Context(), base, theirs); err != nil || in {
		t.Errorf("contains %v, %v", in, err)
	}
	moved, err := r.Merge(t.Context(), base, theirs, worktree.Options{Check: true})
	if err != nil || len(moved.Paths) != 10 || get(t, dir, "f") != "ONE\n2\n3\n4\n5\n" {
		t.Errorf("checked: %+v, %v", moved, err)
	}
	if moved, err = r.Merge(t.Context(), base, theirs, worktree.Options{}); err != nil {
		t.Fatal(err)
	}
	if get(t, dir, "f") != "ONE\n2\n3\n4\nFIVE\n" || get(t, dir, "new/deep/f") != "new" || get(t, dir, "mine") != "x" || get(t, dir, ".git/index") != index {
		t.Errorf("f is %q", get(t, dir, "f"))
	}
	if tree(t, r) != moved.After {
		t.Errorf("moved %+v", moved)
	}
	again, err := r.Merge(t.Context(), base, theirs, worktree.Options{})
	if err != nil || len(again.Paths) > 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if in, err := r.Contains(t.Context(), base, theirs); err != nil || !in {
		t.Errorf("contains %v, %v", in, err)
	}
	// The way back.
	if _, err := r.Restore(t.Context(), moved.After, moved.Before, worktree.Options{}); err != nil || get(t, dir, "f") != "ONE\n2\n3\n4\n5\n" {
		t.Errorf("undone: %v", err)
	}
}

func TestMergeLeavesConflictsToThePerson(t *testing.T) {
	t.Parallel()
	r, dir := workplace(t)
	base, theirs := elsewhere(t, r)
	put(t, dir, map[string]string{"f": "1\n2\n3\n4\nfünf\n", "new/deep/f": "mine"})
	now := tree(t, r)
	_, err := r.Merge(t.Context(), base, theirs, worktree.Options{})
	var conflict *worktree.Conflict
	if !errors.As(err, &conflict) || tree(t, r) != now {
		t.Fatalf("error %v, want a Conflict and nothing changed", err)
	}
	if diff := cmp.Diff([]string{"f", "new/deep/f"}, conflict.Paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	moved, err := r.Merge(t.Context(), base, theirs, worktree.Options{Force: true})
	if diff := cmp.Diff([]string{"f", "new/deep/f"}, moved.Conflicts); err != nil || diff != "" {
		t.Errorf("%v, conflicts (-want +got):\n%s", err, diff)
	}
	if got := get(t, dir, "f"); !strings.Contains(got, "<<<<<<<") || !strings.Contains(got, "FIVE") || !strings.Contains(got, "fünf") {
		t.Errorf("f is %q", got)
	}
	if get(t, dir, "bin") != "\x00\x01" {
		t.Error("the rest did not come over")
	}
}

func TestMergeCommitCommitsTheChangeAlone(t *testing.T) {
	t.Parallel()
	r, dir := workplace(t)
	base, theirs := elsewhere(t, r)
	commit(t, dir, map[string]string{"since": "x"})
	put(t, dir, map[string]string{"other": "dirt", "staged": "x"})
	git(t, dir, "add", "staged")
	head := git(t, dir, "rev-parse", "HEAD")
	id, _, err := r.MergeCommit(t.Context(), base, theirs, "Do the work", worktree.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "log", "-1", "--format=%H %P %s %an"); got != id+" "+head+" Do the work A U Thor" {
		t.Errorf("commit %q", got)
	}
	if diff := cmp.Diff([]string{" M other", "A  staged"}, strings.Split(git(t, dir, "status", "--porcelain"), "\n")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if got := git(t, dir, "diff", "HEAD~", "HEAD", "--name-only"); strings.Contains(got, "other") || strings.Contains(got, "staged") || !strings.Contains(got, "new/deep/f") {
		t.Errorf("committed %q", got)
	}
	if _, _, err := r.MergeCommit(t.Context(), base, theirs, "Again", worktree.Options{}); !errors.Is(err, worktree.ErrNothing) {
		t.Errorf("again: %v", err)
	}
}

func TestMergeCommitLeavesStagedFilesAlone(t *testing.T) {
	t.Parallel()
	r, dir := workplace(t)
	base, theirs := elsewhere(t, r)
	put(t, dir, map[string]string{"f": "ONE\n2\n3\n4\n5\n"})
	git(t, dir, "add", "f")
	before, now := state(t, dir), tree(t, r)
	_, _, err := r.MergeCommit(t.Context(), base, theirs, "Do the work", worktree.Options{})
	var conflict *worktree.Conflict
	if !errors.As(err, &conflict) || !strings.Contains(err.Error(), "staged changes; commit or unstage them first: f") || tree(t, r) != now {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(before, state(t, dir)); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
}

func TestMergeCommitNeedsAHeadThatFits(t *testing.T) {
	t.Parallel()
	r, dir := workplace(t)
	put(t, dir, map[string]string{"f": "1\n2\n3\n4\nfifth\n"}) // the run is made on this
	base, theirs := elsewhere(t, r)
	now, head := tree(t, r), git(t, dir, "rev-parse", "HEAD")
	_, _, err := r.MergeCommit(t.Context(), base, theirs, "Do the work", worktree.Options{})
	var conflict *worktree.Conflict
	if !errors.As(err, &conflict) || tree(t, r) != now || git(t, dir, "rev-parse", "HEAD") != head {
		t.Errorf("error %v", err)
	}
}

func TestCommitToABranch(t *testing.T) {
	t.Parallel()
	r, dir := workplace(t)
	base, theirs := elsewhere(t, r)
	put(t, dir, map[string]string{"dirt": "x"})
	before := state(t, dir)
	first, err := r.CommitTo(t.Context(), "work/new", "HEAD", base, theirs, "Do the work", false)
	if err != nil {
		t.Fatal(err)
	}
	if got := git(t, dir, "log", "-1", "--format=%H %P", "work/new"); got != first+" "+git(t, dir, "rev-parse", "HEAD") {
		t.Errorf("commit %q", got)
	}
	if diff := cmp.Diff(before, state(t, dir)); diff != "" {
		t.Errorf("the work tree changed (-before +after):\n%s", diff)
	}
	if _, err := r.CommitTo(t.Context(), "work/new", "HEAD", base, theirs, "Again", false); !errors.Is(err, worktree.ErrNothing) {
		t.Errorf("again: %v", err)
	}
	// Onto a branch that has gone on.
	git(t, dir, "branch", "side")
	if id, err := r.CommitTo(t.Context(), "side", "", base, theirs, "Check", true); err != nil || git(t, dir, "rev-parse", "side") == id {
		t.Errorf("checked: %v", err)
	}
	if id, err := r.CommitTo(t.Context(), "side", "", base, theirs, "Do it there", false); err != nil || git(t, dir, "rev-parse", "side") != id {
		t.Errorf("existing branch: %v", err)
	}
	for _, name := range []string{"main", "no..good", "-x", ""} {
		if _, err := r.CommitTo(t.Context(), name, "HEAD", base, theirs, "x", false); err == nil {
			t.Errorf("committed to %q", name)
		}
	}
}

func TestPatchCanBeApplied(t *testing.T) {
	t.Parallel()
	r, dir := workplace(t)
	base, theirs := elsewhere(t, r)
	patch, err := r.Patch(t.Context(), base, theirs)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Dir(dir), map[string]string{"patch": patch})
	cmd := exec.CommandContext(t.Context(), "git", "apply", "../patch")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s", err, out)
	}
	if tree(t, r) != theirs {
		t.Error("it leads to another tree")
	}
}
