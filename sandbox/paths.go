package sandbox

import (
	"path/filepath"

	"github.com/plan-engine/plan/internal/subpath"
)

// within reports whether path is dir or lies below it.
func within(path, dir string) bool { return subpath.Within(dir, path) }

// rebase is path with the directory from at its head replaced by to.
func rebase(path, from, to string) string {
	if rel, ok := subpath.Of(from, path); ok {
		return filepath.Join(to, rel)
	}
	return path
}
