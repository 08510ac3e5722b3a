package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// OwnedTree is the work tree of a run, and whether it can go.
type OwnedTree struct {
	ID     plan.RunID `json:"id"`
	State  plan.State `json:"state"` // "" when no run of that id is known
	Dir    string     `json:"worktree"`
	Branch string     `json:"work_branch"`
	Repo   string     `json:"repo"`
	// Safe says that nothing is lost with it; Why says why, or why not.
	Safe bool   `json:"safe"`
	Why  string `json:"why"`
	// Clean says that all that is in it is in a snapshot of the run as well.
	Clean   bool `json:"clean"`
	Removed bool `json:"removed"`

	base string
	tree string // its files, as the last snapshot has them
	repo *worktree.Repo
	host *Host
}

// WorkTrees looks at the work trees of all runs. With remove it takes those away
// that can go.
func (h *Host) WorkTrees(ctx context.Context, remove bool) ([]OwnedTree, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	trees, err := h.ownedTrees(ctx, db)
	if err != nil {
		return nil, err
	}
	for i := range trees {
		if t := &trees[i]; t.Safe && remove {
			if err := h.dropTree(ctx, t); err != nil {
				t.Why = err.Error()
			}
		}
	}
	return trees, nil
}

// ownedTrees looks at the work trees of all runs.
func (h *Host) ownedTrees(ctx context.Context, db *memory.DB) ([]OwnedTree, error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(paths.Worktrees)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the work trees: %w", err)
	}
	var out []OwnedTree
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		t := OwnedTree{ID: plan.RunID(e.Name()), Dir: filepath.Join(paths.Worktrees, e.Name())}
		if err := h.inspectTree(ctx, db, &t); err != nil {
			t.Why = err.Error()
		}
		out = append(out, t)
	}
	return out, nil
}

// inspectTree decides whether a work tree can go.
func (h *Host) inspectTree(ctx context.Context, db *memory.DB, t *OwnedTree) error {
	run, err := Fold(ctx, db, t.ID, nil)
	if errors.Is(err, memory.ErrNoRun) || err == nil && run.Start == nil {
		t.Why = "no run of this id is known here; if you do not need it, `git worktree remove --force` takes it away"
		return nil
	}
	if err != nil {
		return err
	}
	t.State = run.State
	if only, err := onlyImported(ctx, db, t.ID); err != nil || only {
		t.Why = "the run was imported and has not gone on here, so only its journal says what this is; if you do " +
			"not need it, `git worktree remove --force` takes it away"
		return err
	}
	if run, err = h.latestIn(ctx, db, run); err != nil {
		return err
	}
	t.State = run.State
	if isNamedAfter(run.Start.WorkBranch, t.ID) { // a journal from elsewhere may name any
		t.Branch = run.Start.WorkBranch
	}
	t.Repo = run.Start.Repo
	t.base = run.Start.Base
	if held, ok := db.Holder(run.ID); ok {
		t.Why = fmt.Sprintf("process %d works in it", held.PID)
		return nil
	}
	t.host = h
	if t.repo, err = h.OpenRepo(ctx, run.Start.Repo); err != nil {
		return err
	}
	tree, err := h.openOwnTree(ctx, t.Dir)
	if err != nil {
		return err
	}
	now, err := tree.Tree(ctx)
	if err != nil {
		return err
	}
	dirty, err := tree.DirtySubmodules(ctx)
	if err != nil {
		return err
	}
	t.tree = run.Tree()
	t.Clean = now == run.Tree() && len(dirty) == 0
	return t.canGo(ctx, run)
}

// canGo decides it of a tree whose run is known.
func (t *OwnedTree) canGo(ctx context.Context, run *engine.Run) error {
	refs, err := t.repo.Kept(ctx, run.ID)
	if err != nil {
		return err
	}
	origin := run.Origin()
	if run.ID != t.ID { // all that was done in it is to be elsewhere before it goes
		change, _, err := t.host.ThreadChangeOf(ctx, run)
		if err != nil {
			return err
		}
		origin = change.From
	}
	switch {
	case !t.Clean:
		t.Why = "it holds changes that are in no snapshot of the run"
		return nil
	case !run.State.Final():
		t.Why = "the run is not final"
		return nil
	case origin == run.Tree():
		t.Safe, t.Why = true, "the run changed nothing"
		return nil
	case run.ID == t.ID && wasApplied(refs):
		t.Safe, t.Why = true, "the change was applied"
		return nil
	}
	if t.Safe, err = t.repo.Contains(ctx, origin, run.Tree()); err != nil {
		return err
	}
	t.Why = "the change is in your work tree"
	if !t.Safe {
		t.Why = "the change was not applied"
	}
	return nil
}

// dropTree removes a work tree, while no run can begin to work in it.
func (h *Host) dropTree(ctx context.Context, t *OwnedTree) (err error) {
	tree, err := h.openOwnTree(ctx, t.Dir)
	if err != nil {
		return err
	}
	hold, err := h.holdTree(ctx, tree, t.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Close()) }()
	if err := h.dropNoted(ctx, t); err != nil {
		return err
	}
	t.Removed = true
	return nil
}

// RemoveWorkTree removes the work tree of a run, also one whose change was not
// brought over: the snapshots stay. One with changes that are in no snapshot is an
// error. It reports false where there was none any more.
func (h *Host) RemoveWorkTree(ctx context.Context, run *engine.Run) (bool, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return false, err
	}
	t := OwnedTree{ID: plan.RunID(filepath.Base(run.Start.Worktree)), Dir: run.Start.Worktree}
	if run.Start.Worktree == "" {
		return false, fmt.Errorf("run %s has no work tree of its own; it works in %s", run.ID, run.Start.Repo)
	}
	if err := h.requireOwnHome(ctx, run); err != nil {
		return false, err
	}
	if _, err := os.Lstat(t.Dir); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := h.inspectTree(ctx, db, &t); err != nil {
		return false, err
	}
	if !t.Clean {
		return false, hint.New(
			fmt.Sprintf("the work tree of run %s stays: %s", run.ID, t.Why),
			"Take what you need out of "+t.Dir+", or commit it there; "+
				"`plan cancel` takes a last snapshot of a run that is not final.",
		)
	}
	return true, h.dropTree(ctx, &t)
}

// WorkTreeDir is where the work tree of a run is, "" if there is none.
func (h *Host) WorkTreeDir(id plan.RunID) string {
	paths, err := h.Paths()
	if err != nil {
		return ""
	}
	dir := filepath.Join(paths.Worktrees, string(id))
	if _, err := os.Lstat(dir); err != nil {
		return ""
	}
	return dir
}
