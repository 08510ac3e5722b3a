// Package durable writes files that are whole or not there, also after a loss of
// power: beside their place first, synced, then renamed, and the directory synced.
//
// It must not know what is in them. What needs less (a cache) or works through an
// [os.Root] does it by hand and says so.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plan-engine/plan/internal/failpoint"
)

// Replace puts data in the place of the file at path, with the given mode.
func Replace(path string, data []byte, mode fs.FileMode) error {
	return Write(path, mode, func(to io.Writer) error {
		_, err := to.Write(data)
		return err //nolint:wrapcheck // Write says of which file
	})
}

// Write puts what write writes in the place of the file at path, with the given
// mode. If write fails, the file stays as it was.
func Write(path string, mode fs.FileMode, write func(io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return finish(temp, path, mode, write)
}

// WriteBy is [Write] by way of a file of that name, which must not be there and be
// in the same directory.
func WriteBy(by, path string, mode fs.FileMode, write func(io.Writer) error) error {
	temp, err := os.OpenFile(by, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return finish(temp, path, mode, write)
}

func finish(temp *os.File, path string, mode fs.FileMode, write func(io.Writer) error) error {
	err := errors.Join(write(temp), temp.Chmod(mode), temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(temp.Name()))
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir makes the names in a directory survive a loss of power.
func SyncDir(dir string) error { return SyncFile(dir) }

// SyncFile makes what is in a file survive a loss of power, but not its name.
func SyncFile(path string) error {
	if failpoint.Unsynced() {
		return nil
	}
	d, err := os.Open(path)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	return nil
}
