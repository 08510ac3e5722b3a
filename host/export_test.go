package host

import (
	"context"

	"github.com/plan-engine/plan"
)

// BeginAgain is what a process does that read that a run is to go on from another, and
// then is overtaken by one that begins it.
func (h *Host) BeginAgain(ctx context.Context, id plan.RunID) error {
	db, err := h.DB(ctx)
	if err != nil {
		return err
	}
	all, err := continuations(ctx, db, false)
	for _, c := range all {
		if c.Run == id {
			_, err = h.beginOrResume(ctx, db, c, Options{}, Face{})
		}
	}
	return err
}
