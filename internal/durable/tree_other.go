//go:build !linux

package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// SyncTree makes all that is below a directory, on the disk that it is on, survive
// a loss of power.
func SyncTree(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrPermission) && d.Type().IsRegular() {
			f, err = os.OpenFile(path, os.O_WRONLY, 0)
		}
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
