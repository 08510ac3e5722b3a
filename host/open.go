package host

import (
	"context"
	"strings"

	"github.com/plan-engine/plan/host/walls"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// OpenRepo opens the repository at dir for whatever is to be done there. What decides
// what git runs is as it was before the commands of a run that was killed: it is put
// back, or the repository is refused.
func (h *Host) OpenRepo(ctx context.Context, dir string) (*worktree.Repo, error) {
	return h.openRestored(ctx, dir, worktree.Open)
}

// openOwnTree is [Host.OpenRepo] for the work tree of a run; see [worktree.OpenOwn].
func (h *Host) openOwnTree(ctx context.Context, dir string) (*worktree.Repo, error) {
	return h.openRestored(ctx, dir, worktree.OpenOwn)
}

func (h *Host) openRestored(
	ctx context.Context,
	dir string,
	open func(ctx context.Context, dir string, avoid ...func(path string) bool) (*worktree.Repo, error),
) (*worktree.Repo, error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	programs := walls.StartsIn(paths.Home)
	putBack, err := sandbox.RestoreStarts(programs)
	if len(putBack) > 0 {
		h.note("a run was killed that had changed what decides what git runs; it was put back: " +
			strings.Join(putBack, ", "))
	}
	if err != nil {
		return nil, hint.Wrap(err, "See what .git says of hooks, filters and other programs where runs were killed, "+
			"then remove the file.")
	}
	repo, err := open(ctx, dir, h.Avoid(ctx))
	if err != nil {
		return nil, err
	}
	about := repo.GitDirs()
	if link := repo.GitLink(); link != "" {
		about = append(about, link)
	}
	if err := sandbox.CheckStart(programs, about...); err != nil {
		return nil, err
	}
	return repo.WithLarge(h.large(paths.Home, repo.Root())), nil
}
