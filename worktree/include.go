package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sync/errgroup"
)

func checkGlobs(globs []string) error {
	for _, glob := range globs {
		if !doublestar.ValidatePattern(glob) || strings.HasPrefix(glob, "/") {
			return fmt.Errorf(
				"worktree_include: %q is no glob of a path in the repository; write one like \"**/.env\" or "+
					"\"node_modules\"",
				glob,
			)
		}
	}
	return nil
}

// included reports whether a glob fits the path or a directory that it is in.
func included(globs []string, path string) bool {
	path = strings.TrimSuffix(path, "/")
	for _, glob := range globs {
		glob = strings.TrimSuffix(glob, "/")
		for at := path; ; {
			if ok, err := doublestar.Match(glob, at); ok && err == nil {
				return true
			}
			cut := strings.LastIndexByte(at, '/')
			if cut < 0 {
				break
			}
			at = at[:cut]
		}
	}
	return false
}

// copyIgnored copies the ignored files that fit the globs into another work
// tree, where they are not there yet.
func (r *Repo) copyIgnored(ctx context.Context, to *Repo, globs []string) error {
	if len(globs) == 0 {
		return nil
	}
	out, err := r.run(ctx, "ls-files", "-o", "-i", "--exclude-standard", "-z")
	if err != nil {
		return fmt.Errorf("list ignored files: %w", err)
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(copiers)
	c := &copier{
		from:  r.root,
		to:    to.root,
		group: group,
	}
	for _, path := range splitNUL(out) {
		if !included(globs, path) {
			continue
		}
		if err := c.include(gctx, path); err != nil {
			return errors.Join(err, group.Wait())
		}
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("copy ignored files: %w", err)
	}
	return nil
}

// include copies one ignored path; a repository of its own is copied whole.
func (c *copier) include(ctx context.Context, path string) error {
	whole := isNested(path)
	path = strings.TrimSuffix(path, "/")
	info, err := os.Lstat(filepath.Join(c.from, path))
	if err != nil {
		return c.forgive(path, err)
	}
	to := filepath.Join(c.to, path)
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("copy ignored files: %w", err)
	}
	m := meta{path: path, info: info}
	switch {
	case whole:
		if err := os.Mkdir(to, 0o755); err != nil {
			return fmt.Errorf("copy ignored files: %w", err)
		}
		_, err := copyTree(ctx, filepath.Join(c.from, path), to)
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return c.link(m)
	case info.Mode().IsRegular():
		c.group.Go(func() error { return c.file(ctx, m) })
	}
	return nil
}
