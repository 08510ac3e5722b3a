package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// Restore says how far a work tree is taken back.
type Restore struct {
	// To is engine.LabelStart, or the seq of an event: the last snapshot at or before
	// it is meant.
	To string

	// Thread goes back to before the first of the runs that this one continues. To
	// is engine.LabelStart then.
	Thread bool

	// Undo takes the last Apply or Restore for the run back, instead.
	Undo bool

	// Dir is the work tree in which an Apply is taken back. Default: the user's, which
	// the run began in.
	Dir string

	// Force overwrites files that were changed since; what was there is kept.
	Force bool

	// Check only says what would be done.
	Check bool
}

// Restore takes the work tree of a run back. Only files that the run changed since
// then are touched, and only if they are still as the run left them. Conflicts are
// an error, with what they are in the [ApplyResult]; nothing was changed then.
func (h *Host) Restore(ctx context.Context, run *engine.Run, how Restore) (m ApplyResult, err error) {
	db, err := h.DB(ctx)
	if err != nil {
		return m, err
	}
	repo, err := h.restoreTree(ctx, run, how)
	if errors.Is(err, fs.ErrNotExist) {
		return m, hint.New(
			fmt.Sprintf("the work tree of run %s is gone, so there is nothing to restore in it", run.ID),
			fmt.Sprintf(
				"Its snapshots stay: `plan apply %s` brings the change over, `plan fork %s --at SEQ` makes a tree "+
					"as it was.",
				run.ID,
				run.ID,
			),
		)
	}
	if err != nil {
		return m, err
	}
	hold, err := h.holdTree(ctx, repo, run.ID)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, hold.Close()) }()
	const instead = "--force overwrites them, and keeps what was there"
	out := ApplyResult{
		ID:     run.ID,
		Result: ResultRestored,
		Check:  how.Check,
		Repo:   repo.Root(),
	}
	opts := worktree.Options{
		Check:  how.Check,
		Force:  how.Force,
		Intent: hold.Intent(),
	}
	if how.Undo {
		out.Result = ResultUndone
		commit, merge, err := undoLast(ctx, repo, run.ID, opts)
		out.Commit = commit
		return out.finish(merge, step{}, err, instead+"; a commit is taken back by hand with git revert")
	}
	left, to, err := h.restoreEnds(ctx, db, repo, run, how)
	if err != nil {
		return m, err
	}
	var undoStep step
	opts.Keep = keepBothSides(ctx, repo, run.ID, "restore", &undoStep)
	merge, err := repo.Restore(ctx, left, to.Tree, opts)
	err = dropUnmade(ctx, repo, run.ID, undoStep, err)
	if err == nil && merge.Before == merge.After {
		out.Result = ResultNothing
	}
	if err == nil && !run.State.Final() {
		h.note(
			"the run is not final: if it goes on, it finds another tree than it left; `plan fork` goes on from an " +
				"earlier moment instead",
		)
	}
	return out.finish(merge, undoStep, err, instead)
}

// restoreTree opens the work tree that is to be changed: the run's, or the one
// that the last step was made in.
func (h *Host) restoreTree(ctx context.Context, run *engine.Run, how Restore) (*worktree.Repo, error) {
	command := "restore " + string(run.ID) + " --to start"
	if how.Undo {
		command = "restore " + string(run.ID) + " --undo"
	}
	if err := h.requireStanding(ctx, run, command); err != nil {
		return nil, err
	}
	if !how.Undo || run.Start.Worktree == "" {
		return h.treeOf(ctx, run)
	}
	repo, err := h.OpenRepo(ctx, run.Start.Repo)
	if err != nil {
		return nil, err
	}
	refs, err := repo.Kept(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	if done := steps(refs); len(done) > 0 && done[len(done)-1].kind == "restore" {
		return h.treeOf(ctx, run)
	}
	if how.Dir != "" {
		return h.OpenRepo(ctx, how.Dir)
	}
	return repo, nil
}

// restoreGoal is the last snapshot up to an event, with what was changed
// after it by others. Loose says that the run may have changed the tree since its latest
// snapshot.
func restoreGoal(
	ctx context.Context,
	db *memory.DB,
	run *engine.Run,
	seq int64,
) (to plan.Snapshot, since []plan.Drift, loose bool, err error) {
	to = run.Snapshots[0]
	query := memory.Query{Types: []plan.EventType{plan.TypeSnapshot, plan.TypePhaseStart, plan.TypeDrift}}
	for ev, err := range db.Events(ctx, run.ID, query) {
		if err != nil {
			return to, nil, false, err
		}
		switch b := ev.Body.(type) {
		case plan.Drift:
			if ev.Seq > seq {
				since = append(since, b)
			}
		case plan.Snapshot:
			loose = false
			if ev.Seq <= seq {
				to = b
			}
		default:
			loose = loose || ev.Phase == plan.Implement
		}
	}
	return to, since, loose, nil
}

// restoreEnds finds the tree that the run left and the one to go back to.
func (h *Host) restoreEnds(
	ctx context.Context,
	db *memory.DB,
	repo *worktree.Repo,
	run *engine.Run,
	how Restore,
) (left string, to plan.Snapshot, err error) {
	seq := int64(1)
	if how.To != engine.LabelStart {
		if seq, err = strconv.ParseInt(how.To, 10, 64); err != nil || seq < 1 || seq > run.Head {
			return "", to, hint.Usage(
				"--to %q: write start, or the seq of an event; run %s has 1 to %d",
				how.To,
				run.ID,
				run.Head,
			)
		}
	}
	to, since, loose, err := restoreGoal(ctx, db, run, seq)
	if err != nil {
		return "", to, err
	}
	if how.Thread {
		if how.To != engine.LabelStart {
			return "", to, hint.Usage("--thread goes back to before its first run: give --to start with it")
		}
		c, _, err := h.ThreadChangeOf(ctx, run)
		if err != nil {
			return "", to, err
		}
		to.Tree, since = c.From, nil
	}
	for i, d := range since {
		label := fmt.Sprintf("goal-%d", i+1)
		to.Tree, err = repo.Carry(ctx, run.ID, label, to.Tree, d.From, cmp.Or(d.Tree, d.From))
		if err != nil {
			return "", to, err
		}
	}
	if !loose {
		return run.Tree(), to, nil
	}
	if !how.Force {
		return "", to, hint.New(
			fmt.Sprintf(
				"run %s stopped in the middle of Implement, and no snapshot says which changes are its own",
				run.ID,
			),
			fmt.Sprintf(
				"`plan resume %s` goes on with it, `plan cancel %s` ends it with a snapshot; --force takes "+
					"everything in the tree for the run's.",
				run.ID,
				run.ID,
			),
		)
	}
	left, err = repo.Tree(ctx)
	return left, to, err
}
