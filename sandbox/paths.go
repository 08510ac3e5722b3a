package sandbox

import (
	"path/filepath"
)

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// rebase is path with the directory from at its head replaced by to.
func rebase(path, from, to string) string {
	if rel, err := filepath.Rel(from, path); err == nil && filepath.IsLocal(rel) {
		return filepath.Join(to, rel)
	}
	return path
}
