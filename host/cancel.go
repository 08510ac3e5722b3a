package host

import (
	"context"
	"errors"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
)

// Cancelled is what came of a wish to end a run.
type Cancelled struct {
	// AlreadyFinal is the state of a run that was at its end; "" otherwise.
	AlreadyFinal plan.State
	// Asked is the process that drives the run and was asked to end it; nil where
	// the run is cancelled.
	Asked *memory.HeldError
}

// Cancel ends a run for good. What it changed stays in the work tree. A run that
// another process drives is asked to stop.
func (h *Host) Cancel(ctx context.Context, id plan.RunID) (c Cancelled, err error) {
	db, err := h.DB(ctx)
	if err != nil {
		return c, err
	}
	writer, err := db.Own(ctx, id)
	if errors.As(err, &c.Asked) {
		_, err := db.Post(ctx, id, string(cancel), nil)
		if !errors.Is(err, memory.ErrEnded) {
			return c, err
		}
		info, err := db.Run(ctx, id) // it came to its end just now
		return Cancelled{AlreadyFinal: info.State}, err
	}
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, writer.Close()) }()
	run, err := Fold(ctx, db, id, nil)
	if err != nil {
		return c, err
	}
	if run.State.Final() {
		c.AlreadyFinal = run.State
		return c, nil
	}
	if run.Start != nil && run.Start.Mirrored {
		if only, err := onlyImported(ctx, db, id); err != nil || !only { // else no queue has it here
			return c, errors.Join(err, mirroredError(run))
		}
	}
	var trees engine.Snapshots = noTrees{}
	if run.Start != nil && h.requireStanding(ctx, run, "cancel") == nil {
		if repo, err := h.treeOf(ctx, run); err == nil {
			trees = repo
		}
	}
	eng, err := h.idleEngine(db, writer, run, trees)
	if err != nil {
		return c, err
	}
	return c, eng.Cancel(ctx)
}

// idleEngine is an engine that ends or parks a run and runs no phase.
func (h *Host) idleEngine(
	db *memory.DB,
	writer *memory.Writer,
	run *engine.Run,
	trees engine.Snapshots,
) (*engine.Engine, error) {
	return engine.New(engine.Config{
		Runner:    noPhases{},
		Checker:   noChecks{},
		Snapshots: trees,
		Now:       h.now,
		Journal: &journal{
			db:     db,
			writer: writer,
			run:    run.ID,
			taken:  func() []int64 { return nil },
		},
	}, run)
}

var errIdle = errors.New("an engine that only ends a run was asked to work")

// noPhases stands where no phase is run.
type noPhases struct{}

// Describe implements engine.Runner.
func (noPhases) Describe(plan.Phase) plan.PhaseStart { return plan.PhaseStart{} }

// Run implements engine.Runner.
func (noPhases) Run(context.Context, plan.Brief, plan.Emit) (plan.Outcome, error) {
	return plan.Outcome{}, errIdle
}

// noChecks stands where no check is run.
type noChecks struct{}

// Check implements engine.Checker.
func (noChecks) Check(context.Context, plan.Trial, func(string)) (plan.CheckResult, []plan.Blob, error) {
	return plan.CheckResult{}, nil, errIdle
}

// noTrees stands where the repository is gone, or is not to be changed.
type noTrees struct{}

var errNoTrees = errors.New("the repository is gone, or only a journal from elsewhere names it")

// Snapshot implements engine.Snapshots.
func (noTrees) Snapshot(context.Context, plan.RunID, string) (plan.Snapshot, error) {
	return plan.Snapshot{}, errNoTrees
}

// Diff implements engine.Snapshots.
func (noTrees) Diff(context.Context, string, string) (string, error) { return "", errNoTrees }

// Stat implements engine.Snapshots.
func (noTrees) Stat(context.Context, string, string) (plan.DiffStat, error) {
	return plan.DiffStat{}, errNoTrees
}
