package engine

import (
	"context"

	"github.com/plan-engine/plan"
)

// Boundary reports whether the run can be gone on with from just after the
// event that was applied last, as if its journal ended there, with the tree of
// the latest snapshot: it has just moved, or ended a turn of a phase that
// changes nothing.
func (r *Run) Boundary(last plan.Event) bool {
	if r.State.Phase() == "" || len(r.open) > 0 {
		return false
	}
	switch last.Type() {
	case plan.TypeState:
		return true
	case plan.TypeTurnEnd:
		return r.phaseOpen && r.State != plan.Implementing
	}
	return false
}

// Park parks a run that no process is driving.
func (e *Engine) Park(ctx context.Context, p plan.Parked) error { return e.park(ctx, p) }
