package subpath_test

import (
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/internal/subpath"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dir, path, rel string
		ok             bool
	}{
		{"/a", "/a", ".", true},
		{"/a", "/a/b/c", "b/c", true},
		{"/a", "/a/b/../c", "c", true},
		{"/", "/a", "a", true},
		{"/", "/", ".", true},
		{"/a/", "/a/b/", "b", true},
		{"//a/./b/..", "/a/b", "b", true},
		{"/..", "/a", "a", true},
		{"/a", "/", "", false},
		{"/a", "/b/../../a/..b", "..b", true},
		{"/a", "/ab", "", false},
		{"/a", "/a/../b", "", false},
		{"/a/b", "/a", "", false},
		{"/a", "b", "", false},
		{"a", "a/..b", "..b", true},
	} {
		rel, ok := subpath.Of(c.dir, c.path)
		if ok != c.ok || ok && rel != c.rel || subpath.Within(c.dir, c.path) != c.ok {
			t.Errorf("%s in %s: %q, %v", c.path, c.dir, rel, ok)
		}
	}
}

// Of says what [filepath.Rel] does, whose way is longer.
func FuzzOf(f *testing.F) {
	for _, seed := range [][2]string{{"/a", "/a/b"}, {"/", "/a"}, {"/a", "/ab"}, {"/a/..", "/../b"}, {"a", "a/b"}, {"", "/"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, dir, path string) {
		want, err := filepath.Rel(dir, path)
		in := err == nil && filepath.IsLocal(want)
		if rel, ok := subpath.Of(dir, path); ok != in || ok && rel != want {
			t.Errorf("%q in %q: %q, %v; want %q, %v", path, dir, rel, ok, want, in)
		}
	})
}
