package proof

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/worktree"
)

// Tree compares the work tree of a run with the trees that the run has recorded.
type Tree struct{ repo *worktree.Repo }

// Look implements engine.Sight.
func (t Tree) Look(ctx context.Context) (tree, head string, err error) {
	state, err := t.repo.Look(ctx)
	return state.Tree, state.Head, err
}

// Changed implements engine.Sight.
func (t Tree) Changed(ctx context.Context, from, to string) ([]string, error) {
	return t.repo.Changed(ctx, from, to)
}

// Touches implements engine.Changes.
func (t Tree) Touches(ctx context.Context, from, to string, globs []string) (bool, error) {
	paths, err := t.repo.Changed(ctx, from, to)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		return slices.ContainsFunc(globs, func(glob string) bool {
			return doublestar.MatchUnvalidated(strings.TrimPrefix(glob, "./"), path)
		})
	}), nil
}

// Files implements engine.Sight.
func (t Tree) Files(ctx context.Context, paths []string) (map[string]engine.File, error) {
	hashes, err := t.repo.Hashes(ctx, paths)
	if err != nil {
		return nil, err
	}
	out := make(map[string]engine.File, len(paths))
	for path, hash := range hashes {
		var written time.Time
		if info, err := os.Lstat(filepath.Join(t.repo.Root(), path)); err == nil {
			written = info.ModTime()
		}
		out[path] = engine.File{
			Hash:    hash,
			Written: written,
		}
	}
	return out, nil
}
