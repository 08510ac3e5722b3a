// Package subpath says where a path lies below a directory.
//
// It compares names and touches no file: who must not be led astray by symbolic
// links resolves them first, or works through an [os.Root].
package subpath

import "path/filepath"

// Of is path relative to dir, "." for dir itself. It reports whether path is dir
// or lies below it.
func Of(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// Within reports whether path is dir or lies below it.
func Within(dir, path string) bool {
	_, ok := Of(dir, path)
	return ok
}
