package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/subpath"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree/git"
)

// elsewhereError says that the work tree of a run is none of this home's.
type elsewhereError struct{ error }

// Unwrap returns what says so, with what to do about it.
func (e *elsewhereError) Unwrap() error { return e.error }

// requireOwnHome refuses to work in a tree of another home, which a run that was
// imported names: the run may be going on there.
func (h *Host) requireOwnHome(ctx context.Context, run *engine.Run) error {
	if run.Start.Worktree == "" {
		return nil
	}
	isHere, err := h.worksHere(ctx, run)
	if err != nil {
		return err
	}
	if isHere {
		return h.requireOwnTree(ctx, run)
	}
	return &elsewhereError{hint.New(
		fmt.Sprintf("run %s works in %s, which belongs to another PLAN_HOME", run.ID, run.Start.Worktree),
		fmt.Sprintf("Go on with it there, or with a run of its own here: plan fork %s --at %d", run.ID, run.Head),
	)}
}

// requireStanding refuses to change something in the repository of a run that was taken in
// and has not gone on here, unless the person stands there: only a journal from elsewhere
// names it. Command is what does it there. A repository that is gone is left to who opens it.
func (h *Host) requireStanding(ctx context.Context, run *engine.Run, command string) error {
	if stray, err := h.isStray(ctx, run); err != nil || !stray {
		return err
	}
	if _, err := os.Lstat(run.Start.Repo); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	place := run.Start.Repo
	return hint.New(
		fmt.Sprintf("only the journal of run %s, which was imported, names %s, and nothing is changed there",
			run.ID, place),
		fmt.Sprintf("Do it from there, if you want it there: plan -C '%s' %s",
			strings.ReplaceAll(place, "'", `'\''`), command),
	)
}

// isStray reports whether a run was taken in, has not gone on here, and belongs by what its
// journal says to another place than where the person stands.
func (h *Host) isStray(ctx context.Context, run *engine.Run) (bool, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return false, err
	}
	only, err := onlyImported(ctx, db, run.ID)
	return only && !h.standsAt(run.Start.Repo), err
}

// onlyImported reports whether a run was taken in and has not gone on here.
func onlyImported(ctx context.Context, db *memory.DB, id plan.RunID) (bool, error) {
	if upTo, err := db.Imported(ctx, id); err != nil || upTo == 0 {
		return false, err
	}
	all, err := db.OnlyImported(ctx)
	return all[id], err
}

// stand is where a person stands.
type stand struct {
	dirs  []string
	below bool // anywhere below one of them is meant, too
}

// standsAt reports whether the person stands in the work tree at a path.
func (h *Host) standsAt(tree string) bool {
	real, err := filepath.EvalSymlinks(tree)
	if err != nil {
		return false
	}
	at := h.stands
	if at == nil {
		at = &stand{dirs: []string{"."}}
	}
	return slices.ContainsFunc(at.dirs, func(dir string) bool {
		if dir, err = filepath.Abs(dir); err != nil {
			return false
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return false
		}
		return git.Around(dir) == real || at.below && subpath.Within(dir, real)
	})
}

// requireOwnTree refuses to make the work tree of a run that was begun elsewhere: its
// journal would choose the branch, which may be one of the user's.
func (h *Host) requireOwnTree(ctx context.Context, run *engine.Run) error {
	db, err := h.DB(ctx)
	if err != nil {
		return err
	}
	imported, err := importedUpTo(ctx, db, run.ID, run.Start)
	if err != nil || imported == 0 {
		return err
	}
	if _, err := os.Lstat(run.Start.Worktree); !errors.Is(err, fs.ErrNotExist) {
		return nil //nolint:nilerr // who opens it says so
	}
	return &elsewhereError{hint.New(
		fmt.Sprintf(
			"the work tree of run %s is not here, and none is made on a branch that a journal from elsewhere names",
			run.ID,
		),
		fmt.Sprintf("Go on from it in a tree of its own: plan fork %s --at %d", run.ID, run.Head),
	)}
}

// WorkFolder is the folder in which a command of the user may run for a run: its own work
// tree, while that is there, or the repository. A journal from elsewhere chooses none: it
// would choose the programs that run with the user's keys.
func (h *Host) WorkFolder(ctx context.Context, run *engine.Run) (string, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return "", err
	}
	imported, err := importedUpTo(ctx, db, run.ID, run.Start)
	if err != nil {
		return "", err
	}
	if imported > 0 {
		return "", hint.New(
			fmt.Sprintf(
				"run %s was begun elsewhere, and your commands run in no folder that its journal names",
				run.ID,
			),
			fmt.Sprintf(
				"Bring the change over with plan apply %s in a repository of yours, and publish it from there.",
				run.ID,
			),
		)
	}
	if err := h.requireOwnHome(ctx, run); err != nil {
		return "", err
	}
	if info, err := os.Stat(run.Start.Worktree); run.Start.Worktree != "" && err == nil && info.IsDir() {
		return run.Start.Worktree, nil
	}
	return run.Start.Repo, nil
}
