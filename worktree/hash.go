package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
)

// Hashes returns the hex SHA-256 of the content of each file, "" for a path
// that is no file of the work tree: missing, a directory, or leading out of
// it. Symbolic links are followed within the root.
func (r *Repo) Hashes(ctx context.Context, paths []string) (map[string]string, error) {
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return nil, fmt.Errorf("hash files: %w", err)
	}
	defer func() { _ = root.Close() }()
	sums := make(map[string]string, len(paths))
	for _, path := range paths {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("hash files of %q: %w", r.root, context.Cause(ctx))
		}
		if sums[path], err = hashFile(root, path); err != nil {
			return nil, fmt.Errorf("hash file %q of %q: %w", path, r.root, err)
		}
	}
	return sums, nil
}

func hashFile(root *os.Root, path string) (string, error) {
	f, err := openRegular(root, path)
	if f == nil || err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err //nolint:wrapcheck // names the file
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// openRegular opens a regular file within the root. It returns nil without an
// error when there is no such file, and never waits for a pipe's other end.
func openRegular(root *os.Root, path string) (*os.File, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if absent(err) {
			return nil, nil
		}
		return nil, err //nolint:wrapcheck // names the file
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// absent reports whether an open failed because the path names no file under
// the root, as opposed to a file that cannot be read.
func absent(err error) bool {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return true // os.Root says without a number that a path leads out
	}
	return slices.Contains([]syscall.Errno{
		syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ENXIO,
	}, errno)
}
