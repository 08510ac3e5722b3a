// Package scratch makes folders that one process uses, and removes those that no
// process uses any more.
package scratch

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Remove removes a tree even when directories in it are closed to their owner,
// as those of Go's module cache and the kernel's own work folders are. A tree
// that is not there is no error.
func Remove(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a private folder that is about to be removed
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove %q: %w", dir, err)
	}
	return nil
}
