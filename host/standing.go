package host

import (
	"context"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
)

// interrupted says of a run whose process was killed what the process itself would have
// recorded, had it been stopped: the run can be gone on with. It is not in the
// journal.
func interrupted() plan.Parked {
	return plan.Parked{
		Reason: plan.ParkInterrupted,
		Detail: "the process that drove the run is gone, and none has gone on with it",
	}
}

// listStanding lists runs, and says of those that their journals leave in the middle
// of something, and that no process drives, that they are interrupted.
func listStanding(ctx context.Context, db *memory.DB, f memory.Filter) ([]memory.RunInfo, error) {
	runs, err := db.Runs(ctx, f)
	if err != nil {
		return nil, err
	}
	heads := map[plan.RunID]int64{} // of those without a process
	for _, r := range runs {
		if !r.State.Final() && r.Parked == "" {
			if _, held := db.Holder(r.ID); !held {
				heads[r.ID] = r.Head
			}
		}
	}
	if len(heads) == 0 {
		return runs, placeListed(ctx, db, runs)
	}
	// A process may have come to an end between the list and the look at its lock.
	if runs, err = db.Runs(ctx, f); err != nil {
		return nil, err
	}
	for i, r := range runs {
		if head, ok := heads[r.ID]; ok && head == r.Head {
			runs[i].Parked = interrupted().Reason
		}
	}
	return runs, placeListed(ctx, db, runs)
}

// Standing folds a run as [Fold] does, and parks one that its journal leaves in the
// middle of something while no process drives it.
func (h *Host) Standing(ctx context.Context, id plan.RunID, see func(plan.Event)) (*engine.Run, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	run, err := Fold(ctx, db, id, see)
	if err != nil || run.State.Final() {
		return run, err
	}
	if run.Parked != nil {
		run.Parked, err = h.parkedHere(ctx, db, id, run.Parked)
		return run, err
	}
	if _, held := db.Holder(id); held {
		return run, nil
	}
	if info, err := db.Run(ctx, id); err != nil || info.Head != run.Head {
		return run, err // it came to its end just now
	}
	parked := plan.Event{Run: id, Body: interrupted()}
	run.Apply(parked)
	if see != nil {
		see(parked)
	}
	return run, nil
}

// parkedHere is how a run is parked. What one that was taken in waits with is what this program
// says of it: its journal may tell people of something else.
func (h *Host) parkedHere(
	ctx context.Context,
	db *memory.DB,
	id plan.RunID,
	as *plan.Parked,
) (*plan.Parked, error) {
	if upTo, err := db.Imported(ctx, id); err != nil || upTo == 0 || len(as.Waiting) == 0 {
		return as, err
	}
	waits, err := readPending(ctx, db, id)
	if err != nil {
		return nil, err
	}
	here := *as
	here.Waiting = waits.open
	return &here, nil
}
