package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxListed bounds how many files of a temporary folder are looked at.
const maxListed = 10_000

// TemporaryFile is a file in a wall's own temporary folder.
type TemporaryFile struct {
	Path string // below /tmp, whatever the folder is called at this level
	Size int64
	Mode fs.FileMode // permission bits
}

// TemporaryFiles lists the regular files in the wall's own /tmp, as far as 10,000
// paths, without those that it stands in for caches. [LevelNone] has none.
func (w *Wall) TemporaryFiles(ctx context.Context) ([]TemporaryFile, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cleared {
		return nil, errClosed
	}
	root, err := w.openTemporary()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing has run yet
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var out []TemporaryFile
	entries := 0
	err = walk(root, ".", func(name string, info fs.FileInfo) error {
		if entries++; entries > maxListed {
			return fs.SkipAll
		}
		if info.Mode().IsRegular() && !strings.HasPrefix(name, standInPrefix) {
			out = append(out, TemporaryFile{
				Path: temporaryRoot + "/" + filepath.ToSlash(name),
				Size: info.Size(),
				Mode: info.Mode().Perm(),
			})
		}
		return context.Cause(ctx)
	})
	if errors.Is(err, fs.SkipAll) {
		err = nil
	}
	return out, err
}

// openTemporary opens the folder that commands have for /tmp.
func (w *Wall) openTemporary() (*os.Root, error) {
	if w.scratch == "" || w.level == LevelNone {
		return nil, fs.ErrNotExist
	}
	root, err := os.OpenRoot(filepath.Join(w.scratch, "tmp0"))
	if err != nil {
		return nil, fmt.Errorf("sandbox: open the temporary folder: %w", err)
	}
	return root, nil
}

// Read reads a regular file as it stands behind the wall: one that Changes or
// Temporary name, by the same path. No link is followed out of the tree or the
// folder. A file of more than limit bytes is an error.
func (w *Wall) Read(path string, limit int64) ([]byte, fs.FileMode, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	root, name, err := w.rootOf(path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = root.Close() }()
	f, err := openRegular(root, name)
	if err != nil {
		return nil, 0, fmt.Errorf("sandbox: read a file behind the wall: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err //nolint:wrapcheck // names the path
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("sandbox: %s has more than %d bytes", path, limit)
	}
	return data, info.Mode().Perm(), err
}

// Stat is Read without reading: how long a regular file is, and its mode.
func (w *Wall) Stat(path string) (size int64, mode fs.FileMode, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	root, name, err := w.rootOf(path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("sandbox: look at a file behind the wall: %w", err)
	}
	return info.Size(), info.Mode().Perm(), nil
}

// rootOf is the directory that a path is looked for in, and the path in it.
func (w *Wall) rootOf(path string) (*os.Root, string, error) {
	if w.cleared {
		return nil, "", errClosed
	}
	if filepath.IsAbs(path) {
		name, err := filepath.Rel(temporaryRoot, path)
		if err != nil || !filepath.IsLocal(name) {
			return nil, "", fmt.Errorf("sandbox: %s is not in %s", path, temporaryRoot)
		}
		root, err := w.openTemporary()
		return root, name, err
	}
	dir := w.layer.upper
	if w.policy.Discard && w.level.NeedsCopy() {
		dir = w.policy.Copy
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", fmt.Errorf("sandbox: open the tree behind the wall: %w", err)
	}
	return root, filepath.FromSlash(path), nil
}
