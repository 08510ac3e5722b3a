package worktree_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/plan-engine/plan/internal/gittest"
)

// What was in the tree counts by its content, what was not by when it was changed.
func TestUnlike(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{
		"Makefile": "a", "run": "a", "crlf": "a\n", ".gitattributes": "crlf eol=crlf", ".gitignore": "bin",
		"same": "a", "gone": "a", "[a]": "a",
	})
	put(t, dir, map[string]string{"bin/old": "x", "bin/new": "x", "bin/target": "x", "dirty": "d", "crlf": "a\r\n"})
	for name, to := range map[string]string{"link": "run", "moved": "run", "bin/link": "target"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	gittest.Git(t, dir, "add", "link", "moved")
	began := tree(t, r)
	soon := time.Now().Add(time.Hour)
	all := []string{
		"Makefile", "run", "crlf", "same", "dirty", "bin/old", "bin/link", "link", "moved", "[a]", "gone", "none",
	}
	put(t, dir, map[string]string{"Makefile": "b", "[a]": "b"})
	remove(t, dir, "moved")
	remove(t, dir, "gone")
	if err := os.Symlink("Makefile", filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	got := r.Unlike(t.Context(), began, soon, all)
	if want := []string{"Makefile", "moved", "[a]", "gone", "none"}; !slices.Equal(got, want) {
		t.Errorf("%q differ, want %q", got, want)
	}
	if got := r.Unlike(t.Context(), began, time.Time{}, []string{"same", "bin/old", "bin/link"}); len(got) != 2 {
		t.Errorf("%q differ of what is older than the tree", got)
	}
	if got := r.Unlike(t.Context(), "nothing", soon, []string{"same"}); len(got) != 1 {
		t.Error("of a tree that is not there something counts as it was")
	}
}
