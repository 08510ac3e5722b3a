package host

import (
	"context"
	"fmt"
	"iter"

	"github.com/plan-engine/plan"
)

// Follow reads the events of a run whose seq is greater than after, and then waits
// for more, whatever process drives the run, until the run is final or ctx ends.
// A caller who wants no more once the run is parked breaks at its Parked event.
// Live events are in no journal: Face.Show has them.
func (h *Host) Follow(ctx context.Context, id plan.RunID, after int64) iter.Seq2[plan.Event, error] {
	return func(yield func(plan.Event, error) bool) {
		db, err := h.DB(ctx)
		if err != nil {
			yield(plan.Event{}, err)
			return
		}
		for line, err := range db.Follow(ctx, id, after) {
			var ev plan.Event
			if err == nil {
				err = ev.UnmarshalJSON(line.JSON)
			}
			if err != nil {
				yield(plan.Event{}, fmt.Errorf("follow run %s: %w", id, err))
				return
			}
			if parked, ok := ev.Body.(plan.Parked); ok {
				here, err := h.parkedHere(ctx, db, id, &parked)
				if err != nil { // it can be followed, and not decided
					here, parked.Waiting = &parked, nil
				}
				ev.Body = *here
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}
