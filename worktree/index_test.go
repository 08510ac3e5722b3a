package worktree_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// forget removes the indexes that were kept.
func forget(t *testing.T, dir string) (found int) {
	t.Helper()
	kept, err := filepath.Glob(filepath.Join(dir, ".git", "plan-index-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range kept {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	return len(kept)
}

// Whatever is changed between two looks at a tree, the index that was kept from
// the first leads to the same tree as the user's own.
func TestTheKeptIndexLeadsToTheSameTree(t *testing.T) {
	t.Parallel()
	steps := []struct {
		name   string
		change func(t *testing.T, dir string)
	}{
		{"nothing", func(*testing.T, string) {}},
		{"untracked", func(t *testing.T, dir string) { put(t, dir, map[string]string{"new": "x", "out/a": "x", "out/b": "x"}) }},
		{"changed again", func(t *testing.T, dir string) { put(t, dir, map[string]string{"new": "y", "f": "y"}) }},
		{"same size at once", func(t *testing.T, dir string) { put(t, dir, map[string]string{"new": "z"}) }},
		{"what was new is ignored now", func(t *testing.T, dir string) { put(t, dir, map[string]string{".gitignore": "/out\n"}) }},
		{"a file of it", func(t *testing.T, dir string) { put(t, dir, map[string]string{"out/b": "y"}) }},
		{"not ignored any more", func(t *testing.T, dir string) { remove(t, dir, ".gitignore") }},
		{"a tracked file is ignored", func(t *testing.T, dir string) { put(t, dir, map[string]string{".gitignore": "f\n"}) }},
		{"and gone", func(t *testing.T, dir string) { remove(t, dir, "f") }},
		{"and back", func(t *testing.T, dir string) { put(t, dir, map[string]string{"f": "back"}) }},
		{"mode", func(t *testing.T, dir string) { _ = os.Chmod(filepath.Join(dir, "new"), 0o755) }},
		{"a nested repository", func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"n/x": "x"})
			git(t, filepath.Join(dir, "n"), "init", "-q")
		}},
		{"a file in it", func(t *testing.T, dir string) { put(t, dir, map[string]string{"n/y": "y"}) }},
		{"it is gone", func(t *testing.T, dir string) { remove(t, dir, "n") }},
		{"staged", func(t *testing.T, dir string) { git(t, dir, "add", "new") }},
		{"unstaged", func(t *testing.T, dir string) { git(t, dir, "reset", "-q") }},
		{"a directory becomes a file", func(t *testing.T, dir string) {
			remove(t, dir, "d")
			put(t, dir, map[string]string{"d": "x"})
		}},
		{"and a link", func(t *testing.T, dir string) {
			remove(t, dir, "d")
			symlink(t, "f", dir, "d")
		}},
		{"sparse", func(t *testing.T, dir string) { git(t, dir, "sparse-checkout", "set", "--no-cone", "/new") }},
		{"no index", func(t *testing.T, dir string) { remove(t, dir, ".git/index") }},
	}
	r, dir := start(t, map[string]string{"f": "x", "d/f": "x", "keep": "x"})
	kept := 0
	for _, s := range steps {
		s.change(t, dir)
		quick := tree(t, r)
		kept += forget(t, dir)
		slow := tree(t, r)
		if diff := cmp.Diff(content(t, dir, slow), content(t, dir, quick)); diff != "" || quick != slow {
			t.Errorf("%s: (-without the kept index +with it):\n%s", s.name, diff)
		}
	}
	if kept < 10 {
		t.Errorf("an index was kept %d times only", kept)
	}
}

// A work tree that is as HEAD has it needs no index of its own, whether or not it
// was so the last time.
func TestSurveyOfACleanTreeWritesNothing(t *testing.T) {
	t.Parallel()
	r, dir := start(t, map[string]string{"f": "x"})
	survey := func(want int) {
		t.Helper()
		got, err := r.Survey(t.Context())
		if err != nil || got.State.Tree == "" || got.State.Head != got.Head {
			t.Errorf("survey %+v, %v", got, err)
		}
		if kept, _ := filepath.Glob(filepath.Join(dir, ".git", "plan-index-*")); len(kept) != want {
			t.Errorf("%d indexes are kept, want %d: %q", len(kept), want, kept)
		}
	}
	survey(0)
	put(t, dir, map[string]string{"f": "y"})
	survey(1)
	put(t, dir, map[string]string{"f": "x"})
	survey(0)
}
