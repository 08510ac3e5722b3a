package subpath_test

import (
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
