package worktree_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/worktree"
)

// work changes a tree in every way: modified, new, gone, mode, link, a file that
// becomes a directory and one the other way round.
func work(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"gone/deep/f", "dir", "file", "link"} {
		remove(t, dir, name)
	}
	put(t, dir, map[string]string{"f": "theirs", "new/deep/f": "new", "dir": "now a file", "file/x": "now a directory", "bin": "\x00\x01"})
	symlink(t, "f", dir, "link")
	if err := os.Chmod(filepath.Join(dir, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func workplace(t *testing.T) (*worktree.Repo, string) {
	t.Helper()
	r, dir := start(t, map[string]string{
		"f": "1\n2\n3\n4\n5\n", "gone/deep/f": "x", "dir/f": "x", "file": "x", "run": "x", "other": "x", ".gitignore": "*.log\n",
	})
	symlink(t, "nowhere", dir, "link")
	commit(t, dir, nil)
	return r, dir
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.Name() == ".git" {
			return fs.SkipDir
		}
		if rel, _ := filepath.Rel(dir, path); rel != "." {
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRestoreUndoesARunAndNothingElse(t *testing.T) {
	t.Parallel()
	r, dir := workplace(t)
	put(t, dir, map[string]string{"dirt": "mine", "other": "staged"})
	git(t, dir, "add", "other")
	put(t, dir, map[string]string{"other": "and changed", "a.log": "ignored"})
	from, before := tree(t, r), names(t, dir)
	work(t, dir)
	left := tree(t, r)
	put(t, dir, map[string]string{"later": "mine", "dirt": "mine, later"}) // the user goes on
	index := get(t, dir, ".git/index")

	kept := ""
	moved, err := r.Restore(t.Context(), left, from, worktree.Options{Keep: func(now, _ string) error {
		kept = now
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bin", "dir", "dir/f", "f", "file", "file/x", "gone/deep/f", "link", "new/deep/f", "run"}, moved.Paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if get(t, dir, "later") != "mine" || get(t, dir, "dirt") != "mine, later" || get(t, dir, ".git/index") != index {
		t.Error("something of the user's was touched")
	}
	if kept != moved.Before || tree(t, r) != moved.After {
		t.Errorf("kept %s, moved %+v", kept, moved)
	}
	remove(t, dir, "later")
	put(t, dir, map[string]string{"dirt": "mine"})
	if tree(t, r) != from {
		t.Error("it is another tree than before")
	}
	if diff := cmp.Diff(before, names(t, dir)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}

	// Once more there is nothing to do, and the way back leads back.
	again, err := r.Restore(t.Context(), left, from, worktree.Options{})
	if err != nil || len(again.Paths) > 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := r.Restore(t.Context(), from, left, worktree.Options{}); err != nil || tree(t, r) != left {
		t.Errorf("back: %v", err)
	}
}

func TestRestoreRefusesWhatChangedSince(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		paths  []string
	}{
		"a file of the run's": {func(t *testing.T, dir string) { put(t, dir, map[string]string{"f": "mine"}) }, []string{"f"}},
		"it is gone":          {func(t *testing.T, dir string) { remove(t, dir, "new") }, nil}, // undone already
		"it is gone, as the other was": {func(t *testing.T, dir string) {
			remove(t, dir, "f")
			put(t, dir, map[string]string{"gone/deep/f": "mine"})
		}, []string{"f", "gone/deep/f"}},
		"another mode": {func(t *testing.T, dir string) { _ = os.Chmod(filepath.Join(dir, "f"), 0o755) }, []string{"f"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := workplace(t)
			from := tree(t, r)
			work(t, dir)
			left := tree(t, r)
			c.change(t, dir)
			now := tree(t, r)
			_, err := r.Restore(t.Context(), left, from, worktree.Options{})
			var conflict *worktree.Conflict
			if c.paths == nil {
				if err != nil || tree(t, r) != from {
					t.Errorf("error %v", err)
				}
				return
			}
			if !errors.As(err, &conflict) {
				t.Fatalf("error %v, want a Conflict", err)
			}
			if diff := cmp.Diff(c.paths, conflict.Paths); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			if tree(t, r) != now {
				t.Error("something was changed")
			}
			if _, err := r.Restore(t.Context(), left, from, worktree.Options{Force: true}); err != nil || tree(t, r) != from {
				t.Errorf("forced: %v", err)
			}
		})
	}
}

func TestRestoreHeedsIgnoredFilesAndChecks(t *testing.T) {
	t.Parallel()
	r, dir := workplace(t)
	from := tree(t, r)
	work(t, dir)
	left := tree(t, r)
	put(t, dir, map[string]string{".git/info/exclude": "gone\n", "gone/deep/f": "precious"})
	_, err := r.Restore(t.Context(), left, from, worktree.Options{})
	var conflict *worktree.Conflict
	if !errors.As(err, &conflict) || get(t, dir, "gone/deep/f") != "precious" || get(t, dir, "f") != "theirs" {
		t.Fatalf("error %v, file %q", err, get(t, dir, "gone/deep/f"))
	}
	remove(t, dir, "gone")
	moved, err := r.Restore(t.Context(), left, from, worktree.Options{Check: true})
	if err != nil || len(moved.Paths) == 0 || tree(t, r) != left {
		t.Errorf("checked: %+v, %v", moved, err)
	}
	why := errors.New("no room")
	if _, err := r.Restore(t.Context(), left, from, worktree.Options{Keep: func(string, string) error { return why }}); !errors.Is(err, why) || tree(t, r) != left {
		t.Errorf("what could not be kept was changed: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Restore(ctx, left, from, worktree.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestRestoreInNestedRepositories(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	put(t, dir, map[string]string{"n/x": "x", "n/y": "y"})
	git(t, filepath.Join(dir, "n"), "init", "-q")
	from := tree(t, r)
	put(t, dir, map[string]string{"n/x": "changed", "n/new": "x", "f": "changed"})
	remove(t, dir, "n/y")
	if _, err := r.Restore(t.Context(), tree(t, r), from, worktree.Options{}); err != nil || tree(t, r) != from {
		t.Errorf("error %v: x %q", err, get(t, dir, "n/x"))
	}
}

// A file of the user's in the place of a directory of the run's is not lost.
func TestAFileInTheWayOfADirectory(t *testing.T) {
	t.Parallel()
	r, dir := workplace(t)
	from := tree(t, r)
	remove(t, dir, "gone")
	left := tree(t, r)
	put(t, dir, map[string]string{"gone": "mine"})
	now := tree(t, r)
	for _, force := range []bool{false, true} {
		_, err := r.Restore(t.Context(), left, from, worktree.Options{Force: force})
		var conflict *worktree.Conflict
		if !errors.As(err, &conflict) || len(conflict.Paths) != 1 || conflict.Paths[0] != "gone" || tree(t, r) != now {
			t.Errorf("restore, force %v: %v", force, err)
		}
	}
	if _, err := r.Merge(t.Context(), left, from, worktree.Options{}); err == nil || tree(t, r) != now {
		t.Errorf("merged: %v", err)
	}
}

func TestKeepNamesATree(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	snap, err := r.Keep(t.Context(), "R1", "undo-1", tree(t, r))
	if err != nil || git(t, dir, "rev-parse", "refs/plan/R1/undo-1^{tree}") != snap.Tree {
		t.Errorf("%+v, %v", snap, err)
	}
	kept, err := r.Kept(t.Context(), "R1")
	if diff := cmp.Diff(map[string]string{"undo-1": snap.Tree}, kept); err != nil || diff != "" {
		t.Errorf("%v, kept (-want +got):\n%s", err, diff)
	}
	if err := r.Forget(t.Context(), "R1", "undo-1"); err != nil {
		t.Fatal(err)
	}
	if kept, err := r.Kept(t.Context(), "R1"); err != nil || len(kept) > 0 {
		t.Errorf("kept %v, %v", kept, err)
	}
}
