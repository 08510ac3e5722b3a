package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/plan-engine/plan/internal/subpath"
)

const (
	copiers   = 8        // files copied at once
	copyPiece = 64 << 20 // bytes between two looks at the context
)

// copier copies a directory tree. Directories are made at once and get their
// mode and times at the end, when nothing is put into them any more.
type copier struct {
	from, to string
	group    *errgroup.Group
	dirs     []meta

	mu      sync.Mutex
	skipped []string
}

// meta is what a copy takes over besides the content.
type meta struct {
	path string // relative
	info fs.FileInfo
}

// copyTree copies everything under from but git's own data into the existing
// directory to. What cannot be copied (sockets, pipes, devices, unreadable
// files) is left out and named in the result, sorted; what vanishes meanwhile
// is left out silently.
func copyTree(ctx context.Context, from, to string) ([]string, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(copiers)
	c := &copier{
		from:  from,
		to:    to,
		group: group,
	}
	walkErr := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, relErr := filepath.Rel(from, path)
		if relErr != nil {
			return relErr //nolint:wrapcheck // cannot happen under from
		}
		return c.visit(ctx, rel, d, err)
	})
	// The first failing copy ends the walk too, and its error says why.
	if err := errors.Join(group.Wait(), walkErr); err != nil {
		return nil, err
	}
	for _, dir := range slices.Backward(c.dirs) {
		if err := c.finish(dir); err != nil {
			return nil, err
		}
	}
	slices.Sort(c.skipped)
	return c.skipped, nil
}

// visit deals with one path of the walk.
func (c *copier) visit(ctx context.Context, rel string, d fs.DirEntry, err error) error {
	if err != nil {
		return c.forgive(rel, err)
	}
	if d.Name() == ".git" && (rel == ".git" || !d.IsDir()) {
		// The root's is made anew. A file by that name leads back to the real
		// repository's data, and so would every git command in the copy.
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	info, err := d.Info()
	if err != nil {
		return c.forgive(rel, err)
	}
	m := meta{path: rel, info: info}
	switch {
	case d.IsDir():
		return c.dir(m)
	case info.Mode()&fs.ModeSymlink != 0:
		return c.link(m)
	case info.Mode().IsRegular():
		c.group.Go(func() error { return c.file(ctx, m) })
	default:
		c.skip(rel)
	}
	return nil
}

// forgive turns the errors of paths that are gone or closed to us into none.
func (c *copier) forgive(rel string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		c.skip(rel)
		return nil
	}
	return err
}

func (c *copier) skip(rel string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped = append(c.skipped, filepath.ToSlash(rel))
}

func (c *copier) dir(m meta) error {
	c.dirs = append(c.dirs, m)
	if m.path == "." {
		return nil
	}
	if err := os.Mkdir(filepath.Join(c.to, m.path), 0o700); err != nil {
		return fmt.Errorf("copy directory: %w", err)
	}
	return nil
}

// link copies a symbolic link as it is, except that one which leads to a place
// in the original by its full name leads to the same place in the copy, so
// that nothing written through it reaches the original.
func (c *copier) link(m meta) error {
	target, err := os.Readlink(filepath.Join(c.from, m.path))
	if err != nil {
		return c.forgive(m.path, err)
	}
	if filepath.IsAbs(target) {
		if rel, ok := subpath.Of(c.from, target); ok {
			target = filepath.Join(c.to, rel)
		}
	}
	to := filepath.Join(c.to, m.path)
	if err := os.Symlink(target, to); err != nil {
		return fmt.Errorf("copy symbolic link: %w", err)
	}
	return setTime(to, m.info)
}

func (c *copier) file(ctx context.Context, m meta) error {
	src, err := os.OpenFile(filepath.Join(c.from, m.path), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, syscall.ELOOP) {
			return nil // it was a file a moment ago
		}
		return c.forgive(m.path, err)
	}
	defer func() { _ = src.Close() }()
	dst, err := os.OpenFile(filepath.Join(c.to, m.path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("copy file: %w", err)
	}
	err = copyContent(ctx, dst, src)
	if err = errors.Join(err, dst.Close()); err != nil {
		return fmt.Errorf("copy file %q: %w", m.path, err)
	}
	return c.finish(m)
}

// copyContent copies file to file, which lets the kernel share the blocks
// where the file system can.
func copyContent(ctx context.Context, dst, src *os.File) error {
	for ctx.Err() == nil {
		if _, err := io.CopyN(dst, src, copyPiece); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err //nolint:wrapcheck // names the file
		}
	}
	return context.Cause(ctx)
}

// finish gives a copy its permissions and its time.
func (c *copier) finish(m meta) error {
	to := filepath.Join(c.to, m.path)
	if err := os.Chmod(to, m.info.Mode().Perm()); err != nil {
		return fmt.Errorf("copy permissions: %w", err)
	}
	return setTime(to, m.info)
}

// setTime sets the modification time of a path, a symbolic link's own.
func setTime(path string, info fs.FileInfo) error {
	stamp, err := unix.TimeToTimespec(info.ModTime())
	if err == nil {
		err = unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{stamp, stamp}, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return fmt.Errorf("copy time of %q: %w", path, err)
	}
	return nil
}
