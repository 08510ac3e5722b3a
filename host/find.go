package host

import (
	"context"
	"errors"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// latestRun names the newest run of the repository that is meant.
const latestRun = "latest"

// Resolve finds a run by a prefix of its id, or by the end of it, which is random. A run
// that was asked for after the end of another has an id before it has begun.
func (h *Host) Resolve(ctx context.Context, name string) (plan.RunID, error) {
	return h.ResolveAt(ctx, name, ".")
}

// ResolveAt is [Host.Resolve], for which "latest" is the newest run of the repository at
// dir, or of the home where it has none.
func (h *Host) ResolveAt(ctx context.Context, name, dir string) (plan.RunID, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return "", err
	}
	if name == latestRun {
		return h.Latest(ctx, dir)
	}
	id, err := db.Resolve(ctx, name)
	var many *memory.AmbiguousError
	switch {
	case errors.Is(err, memory.ErrNoRun):
		waiting, werr := continuations(ctx, db, true)
		for _, c := range waiting {
			if memory.Names(name, c.Run) {
				return c.Run, nil
			}
		}
		return "", errors.Join(hint.Wrap(
			err,
			"`plan list` shows all runs; the beginning or the end of an id will do that fits only one run, "+
				"or `latest`.",
		), werr)
	case errors.As(err, &many):
		return "", hint.Wrap(err, "`plan list` says which is which.")
	}
	return id, err
}

// Latest is the newest run of the repository at dir, whatever its state, or of the whole
// home where that has none, or dir is in no repository.
func (h *Host) Latest(ctx context.Context, dir string) (plan.RunID, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return "", err
	}
	runs, err := newestRuns(ctx, db, h.rootAt(ctx, dir), nil, true)
	if err != nil {
		return "", err
	}
	if len(runs) == 0 {
		return "", hint.New("there is no run yet", "`plan run \"…\"` starts one.")
	}
	return runs[0].ID, nil
}

// rootAt is the repository at dir, "" where there is none.
func (h *Host) rootAt(ctx context.Context, dir string) string {
	repo, err := h.OpenRepo(ctx, dir)
	if err != nil {
		return ""
	}
	return repo.Root()
}

// newestRuns is the newest run in these states, all of them for nil, of a repository; or
// else, where that is meant, of the home.
func newestRuns(
	ctx context.Context,
	db *memory.DB,
	root string,
	states []plan.State,
	orElse bool,
) ([]memory.RunInfo, error) {
	filter := memory.Filter{Limit: 1, States: states, Repo: root}
	runs, err := db.Runs(ctx, filter)
	if err == nil && len(runs) == 0 && orElse && root != "" {
		filter.Repo = ""
		runs, err = db.Runs(ctx, filter)
	}
	return runs, err
}

// Newest is the newest run that is not final, of the repository at dir alone, or with
// orElse of that before all others. One that was asked for after the end of another, and
// has not begun, comes first.
func (h *Host) Newest(ctx context.Context, dir string, orElse bool) (plan.RunID, error) {
	where, root := "", ""
	if orElse {
		root = h.rootAt(ctx, dir)
	} else {
		repo, err := h.OpenRepo(ctx, dir)
		if err != nil {
			return "", err
		}
		root = repo.Root()
		where = " in " + root
	}
	db, err := h.DB(ctx)
	if err != nil {
		return "", err
	}
	if id, err := h.waitingToBegin(ctx, db, root); err != nil || id != "" {
		return id, err
	}
	runs, err := newestRuns(ctx, db, root, plan.ActiveStates(), orElse)
	if err != nil {
		return "", err
	}
	if len(runs) == 0 {
		return "", hint.New(
			"there is no run to resume"+where+": none is unfinished",
			"`plan list` shows all runs; `plan run \"…\"` starts one.",
		)
	}
	return runs[0].ID, nil
}

// waitingToBegin is the newest run of a repository that was asked for after the end of
// another, and that no process has begun; "" for none.
func (h *Host) waitingToBegin(ctx context.Context, db *memory.DB, root string) (plan.RunID, error) {
	waiting, err := continuations(ctx, db, true)
	for _, c := range slices.Backward(waiting) {
		if info, err := db.Run(ctx, c.from); err == nil && info.Repo == root {
			return c.Run, nil
		}
	}
	return "", err
}
