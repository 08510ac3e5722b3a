package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// UserEnv is what goes into the environment of a command of the user's that calls
// git by itself, such as git push: with it the settings of the repository count that
// count for plan too. Hooks run from the folder that they run from, unless it or one
// of them lies in the work tree: then left is that folder, and no hook runs, unless
// hooks says that all may. A hook outside the tree that calls a program in it is a
// hook like any other.
func (p Program) UserEnv(ctx context.Context, hooks bool) (env []string, left string, err error) {
	over, _, err := p.guard.overrides(ctx)
	if err != nil {
		return nil, "", err
	}
	if barred := p.guard.leading(); len(barred) > 0 {
		return nil, "", &LeadsError{Names: barred}
	}
	over = append(over[:len(over):len(over)], setting{"core.fsmonitor", "false"})
	if !hooks {
		if left, err = p.guard.hooksInTree(ctx); err != nil {
			return nil, "", err
		}
		if left != "" {
			over = append(over, setting{"core.hookspath", os.DevNull})
		}
	}
	return environ(over), left, nil
}

// hooksInTree is the folder that hooks run from, if that or one of them lies in the
// work tree, else "".
func (g *guard) hooksInTree(ctx context.Context) (string, error) {
	common := g.dirs[len(g.dirs)-1]
	dir := filepath.Join(common, "hooks")
	out, err := g.plain.Run(ctx, Call{
		Dir:  g.root,
		Args: []string{"config", "-z", "--type=path", "--get-all", "core.hooksPath"},
	})
	if err != nil {
		return "", fmt.Errorf("find the hooks: %w", err)
	}
	values := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if len(values) > 1 { // the last is our own
		if dir = values[len(values)-2]; !filepath.IsAbs(dir) {
			dir = filepath.Join(g.root, dir)
		}
	}
	if g.inTree(dir) {
		return dir, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("find the hooks: %w", err)
	}
	for _, e := range entries {
		if g.inTree(filepath.Join(dir, e.Name())) {
			return dir, nil
		}
	}
	return "", nil
}

// inTree reports whether a path leads into a work tree of the repository, and not to the repository's own data.
func (g *guard) inTree(path string) bool {
	path = resolved(path)
	return Inside(path, g.trees()...) && !Inside(path, g.dirs...)
}
