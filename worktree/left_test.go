package worktree_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan/worktree"
)

// TestAFileCutShortIsNoAddition: a git that was killed while it made a work tree has
// left one file cut short, and no index. That is nothing to keep, and a file of another
// name is; once git had made all, so is a file that differs.
func TestAFileCutShortIsNoAddition(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"a": "long\n", "b": "x"})
	spec := specFor(t, r)
	own, _, err := r.Add(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	adds := func(what string, want bool) {
		t.Helper()
		if got, err := worktree.Adds(t.Context(), own.Root(), spec.Tree); err != nil || got != want {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	adds("whole", false)
	remove(t, own.Root(), "b")
	put(t, own.Root(), map[string]string{"a": "lo"})
	adds("changed", true)
	remove(t, dir, ".git/worktrees/R1/index")
	put(t, dir, map[string]string{".git/worktrees/R1/index.lock": ""})
	adds("cut short", false)
	put(t, own.Root(), map[string]string{"new": "mine"})
	adds("cut short, with a new file", true)
}

// TestDropLeft: whatever a loss of power has left of a work tree that git was about to
// make goes, with what git has in its list of it, which git locks for that time.
func TestDropLeft(t *testing.T) {
	t.Parallel()
	const entry = ".git/worktrees/R1/"
	for name, cut := range map[string]func(t *testing.T, dir, own string){
		"its HEAD names nothing yet": func(t *testing.T, dir, own string) {
			put(t, dir, map[string]string{entry + "HEAD": strings.Repeat("0", 40) + "\n"})
		},
		"nothing was written into its entry": func(t *testing.T, dir, own string) {
			put(t, dir, map[string]string{entry + "HEAD": "", entry + "gitdir": "", entry + "commondir": ""})
			put(t, own, map[string]string{".git": ""})
		},
		"its entry is all there is": func(t *testing.T, dir, own string) {
			for _, file := range []string{"HEAD", "gitdir", "commondir", "index"} {
				remove(t, dir, entry+file)
			}
			if err := os.RemoveAll(own); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := start(t, map[string]string{"a": "x"})
			own, _ := add(t, r)
			put(t, dir, map[string]string{entry + "locked": "initializing"})
			cut(t, dir, own.Root())
			if !r.HasWorkTree(own.Root()) {
				t.Error("it is not seen")
			}
			if err := r.DropLeft(t.Context(), own.Root()); err != nil {
				t.Fatal(err)
			}
			if r.HasWorkTree(own.Root()) {
				t.Error("it is there")
			}
			if _, err := os.Lstat(filepath.Join(dir, entry)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("its entry: %v", err)
			}
			git(t, dir, "fsck")
		})
	}
}

// TestLeftMoves: the folder that a move died in is found, and one of the user's is not.
func TestLeftMoves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, map[string]string{
		".plan-move-1/.gitignore": "*\n", ".plan-move-1/new/a": "x", ".plan-move-mine/a": "x", "b": "x",
		".plan-move-3/.gitignore": "", ".plan-move-yours/.gitignore": "", ".plan-move-yours/a": "x",
	})
	if err := os.Mkdir(filepath.Join(dir, ".plan-move-2"), 0o700); err != nil {
		t.Fatal(err)
	}
	got := worktree.LeftMoves(dir)
	var want []string
	for _, name := range []string{".plan-move-1", ".plan-move-2", ".plan-move-3"} {
		want = append(want, filepath.Join(dir, name))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for _, stage := range got {
		if err := worktree.DropMove(stage); err != nil {
			t.Error(err)
		}
	}
	if got := worktree.LeftMoves(dir); got != nil {
		t.Errorf("dropped, and there: %q", got)
	}
	if got := worktree.LeftMoves(filepath.Join(dir, "b")); got != nil {
		t.Errorf("in a file: %q", got)
	}
}
