package host

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/plan-engine/plan/internal/subpath"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree/git"
)

// Clear is the environment in which a process that works about dir may start programs of
// its own: it leads neither into the work tree there nor into one that a run of this home
// worked on, where the commands of runs could have put programs. A tree that holds the
// home of the user counts only where dir lies in it, since all that the user has leads there.
func (h *Host) Clear(ctx context.Context, dir string) []string {
	return git.Clear(h.environ, aroundDir(dir), h.Avoid(ctx))
}

// aroundDir is the work tree that a directory seems to be in, "" for none.
func aroundDir(dir string) string {
	if dir == "" {
		return ""
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	return git.Around(dir)
}

// Searched is the PATH on which programs of plan's own are found that work about dir.
func (h *Host) Searched(ctx context.Context, dir string) string {
	return h.searched(aroundDir(dir), h.Avoid(ctx))
}

// Avoid returns what reports whether an absolute path leads into a tree that a run of this
// home has worked on by now, or into one of more: no program of plan's own is taken from
// there. It is asked for anew wherever something begins, since other trees come to be
// worked on.
func (h *Host) Avoid(ctx context.Context, more ...string) func(path string) bool {
	paths, err := h.Paths()
	if err != nil {
		return func(string) bool { return false } // nothing has run, and nothing will
	}
	ctx = context.WithoutCancel(ctx)
	whole := append(more, paths.Home) // of the home: the trees of runs, and the clones that they are of
	known := sync.OnceValues(func() ([]string, error) { return h.knownTrees(ctx, paths.DB) })
	return func(path string) bool {
		if git.Inside(path, whole...) {
			return true
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			real = path
		}
		if git.Around(path) == "" && (real == path || git.Around(real) == "") {
			return false
		}
		trees, err := known()
		within := func(tree string) bool { return subpath.Within(tree, path) || subpath.Within(tree, real) }
		return err != nil || slices.ContainsFunc(trees, within)
	}
}

// searched is the PATH on which programs of plan's own are found that work on a tree.
func (h *Host) searched(tree string, avoid func(path string) bool) string {
	return git.PathOutside(cmp.Or(h.Getenv("PATH"), os.Getenv("PATH")), tree, avoid)
}

// knownTrees lists the trees that runs of the home worked on, without those that hold the
// home of the user.
func (h *Host) knownTrees(ctx context.Context, db string) ([]string, error) {
	if _, err := os.Stat(db); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	trees, err := memory.Trees(ctx, db)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(trees, func(tree string) bool {
		return !filepath.IsAbs(tree) || git.Inside(h.Getenv("HOME"), tree)
	}), nil
}
