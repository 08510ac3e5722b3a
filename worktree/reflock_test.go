package worktree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/worktree"
)

// A git that was killed while it wrote a snapshot's ref has left its lock. Whatever
// writes that ref next takes it away; a lock that is not plan's own stays.
func TestLocksOfKilledGitsAreTakenAway(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"a": "x"})
	lock := func(ref string) string {
		t.Helper()
		path := filepath.Join(dir, ".git", filepath.FromSlash(ref)+".lock")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	heads := lock("refs/heads/other")
	lock("refs/plan/R/start")
	if _, err := r.Snapshot(t.Context(), "R", "start"); err != nil {
		t.Errorf("the lock of a snapshot stays: %v", err)
	}
	lock("refs/plan/R/start")
	if err := r.Forget(t.Context(), "R", "start"); err != nil {
		t.Errorf("the lock of a snapshot that goes stays: %v", err)
	}
	_, err := r.Snapshot(t.Context(), "R", "start")
	all := filepath.Join(dir, ".git", "packed-refs.lock") // any git may hold this one
	if err := errors.Join(err, os.WriteFile(all, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	err = r.Forget(t.Context(), "R", "start")
	if err == nil || !strings.Contains(err.Error(), "if no git is at work there") || !strings.Contains(err.Error(), "remove "+all) {
		t.Errorf("of the lock of all refs it says %v", err)
	}
	if err := errors.Join(os.Remove(all), r.Forget(t.Context(), "R", "start")); err != nil {
		t.Error(err)
	}
	if kept, err := r.Kept(t.Context(), "R"); err != nil || len(kept) > 0 {
		t.Errorf("kept %v, %v", kept, err)
	}
	if _, err := os.Lstat(heads); err != nil {
		t.Errorf("the lock of a branch is gone: %v", err)
	}
}

// A git that was killed while it moved the branch of a run's own work tree has left its
// locks. The next commit there takes them away; those of a tree of the user's stay.
func TestLocksOfARunsOwnBranchAreTakenAway(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"a": "x"})
	spec := specFor(t, r)
	own, _, err := r.Add(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, map[string]string{
		".git/worktrees/R1/HEAD.lock": "", ".git/refs/heads/plan/r1.lock": "", ".git/refs/heads/kept.lock": "",
		".git/HEAD.lock": "", "a": "y",
	})
	theirs := tree(t, r)
	if _, _, err := own.MergeCommit(t.Context(), spec.Tree, theirs, "y", worktree.Options{}); err != nil {
		t.Error(err)
	}
	if got := git(t, own.Root(), "show", "plan/r1:a"); got != "y" {
		t.Errorf("the branch has %q", got)
	}
	if _, err := r.CommitTo(t.Context(), "kept", spec.Base, spec.Tree, theirs, "y", false); err != nil {
		t.Errorf("a branch that is made: %v", err)
	}
	put(t, dir, map[string]string{"a": "x"})
	if _, _, err := r.MergeCommit(t.Context(), spec.Tree, theirs, "y", worktree.Options{}); err == nil {
		t.Error("a lock of the user's tree is gone")
	}
}

// A power cut, or a kill, while git makes a work tree with its branch leaves any part of
// it, with contents or without. Drop takes that away, and the same can be made again.
func TestDropOfHalfATree(t *testing.T) {
	t.Parallel()
	admin := filepath.Join(".git", "worktrees", "R1")
	for name, spoil := range map[string]func(t *testing.T, dir, own string){
		"a link without contents": func(t *testing.T, _, own string) { put(t, own, map[string]string{".git": ""}) },
		"a folder alone":          func(t *testing.T, dir, _ string) { remove(t, dir, admin) },
		"git's files without contents": func(t *testing.T, dir, _ string) {
			put(t, filepath.Join(dir, admin), map[string]string{"HEAD": "", "commondir": "", "gitdir": "", "locked": ""})
		},
		"no folder, and git's lock of it": func(t *testing.T, dir, own string) {
			put(t, filepath.Join(dir, admin), map[string]string{"locked": "initializing"})
			remove(t, own, ".")
		},
		"no branch, and git's lock of it": func(t *testing.T, dir, own string) {
			remove(t, dir, admin)
			remove(t, own, ".")
			remove(t, dir, ".git/refs/heads/plan/r1")
			put(t, dir, map[string]string{".git/refs/heads/plan/r1.lock": ""})
		},
		"a branch, and git's lock of it": func(t *testing.T, dir, _ string) {
			put(t, dir, map[string]string{".git/refs/heads/plan/r1.lock": ""})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := start(t, map[string]string{"a": "x"})
			spec := specFor(t, r)
			own, _, err := r.Add(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			spoil(t, dir, own.Root())
			if _, err := r.Drop(t.Context(), spec.Dir, spec.Branch, spec.Base); err != nil {
				t.Error(err)
			}
			own, _, err = r.Add(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			if got := git(t, own.Root(), "status", "--porcelain", "-b"); got != "## plan/r1" {
				t.Errorf("made again: %q", got)
			}
		})
	}
}

// A git that was killed while it made a work tree keeps no clone from taking in what it lacks.
func TestACloneWithHalfATree(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{"null": strings.Repeat("0", 40) + "\n", "empty": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo, dir := start(t, map[string]string{"a": "x"})
			other := tempDir(t) + "/clone"
			git(t, dir, "clone", "-q", dir, other)
			clone := open(t, other)
			half := filepath.Join(other, ".git", "worktrees", "R1")
			spoil := func() {
				put(t, half, map[string]string{
					"HEAD":      head,
					"commondir": "../..\n",
					"gitdir":    filepath.Join(other, "tree", ".git") + "\n",
					"locked":    "initializing\n",
				})
			}
			spoil()
			put(t, dir, map[string]string{"a": "y"})
			if _, err := repo.Snapshot(t.Context(), "R", "turn-1"); err != nil {
				t.Fatal(err)
			}
			b, err := repo.Bundle(t.Context(), "R", git(t, dir, "rev-parse", "HEAD"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := clone.Unbundle(t.Context(), "R", b); err != nil {
				t.Error(err)
			}
			spoil()
			git(t, dir, "commit", "-qam", "y")
			if err := clone.Fetch(t.Context()); err != nil {
				t.Error(err)
			}
			if got := git(t, other, "show", "origin/HEAD:a"); got != "y" {
				t.Errorf("fetched %q", got)
			}
		})
	}
}
