// Package subpath says where a path lies below a directory.
//
// It compares names and touches no file: who must not be led astray by symbolic
// links resolves them first, or works through an [os.Root].
package subpath

import (
	"path/filepath"
	"strings"
)

// Of is path relative to dir, "." for dir itself. It reports whether path is dir
// or lies below it.
func Of(dir, path string) (rel string, ok bool) {
	if strings.HasPrefix(dir, "/") && strings.HasPrefix(path, "/") && filepath.Separator == '/' {
		return ofAbsolute(filepath.Clean(dir), filepath.Clean(path))
	}
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

// ofAbsolute is Of for clean absolute paths, in a tenth of the time that [filepath.Rel]
// takes: it is asked of each path of a machine beside each that is hidden.
func ofAbsolute(dir, path string) (rel string, ok bool) {
	if dir == path {
		return ".", true
	}
	rel, ok = strings.CutPrefix(path, dir)
	if !ok || dir == "/" {
		return rel, ok
	}
	return strings.CutPrefix(rel, "/")
}

// Within reports whether path is dir or lies below it.
func Within(dir, path string) bool {
	_, ok := Of(dir, path)
	return ok
}
