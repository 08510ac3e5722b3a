package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
)

// TestEachPhaseEndsOnceAndSaysHow: whatever ends a phase, it has one end for
// its one start, with the reason.
func TestEachPhaseEndsOnceAndSaysHow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		stop func(cancel context.CancelCauseFunc) (*plan.Parked, error)
		want string
	}{
		{"error", func(context.CancelCauseFunc) (*plan.Parked, error) { return nil, errors.New("no") }, plan.EndError},
		{"parked", func(context.CancelCauseFunc) (*plan.Parked, error) {
			return &plan.Parked{Reason: plan.ParkQuestion}, nil
		}, plan.EndParked},
		{"limit", func(context.CancelCauseFunc) (*plan.Parked, error) { return &plan.Parked{Reason: plan.ParkLimit}, nil }, plan.EndLimit},
		{"cancelled", func(cancel context.CancelCauseFunc) (*plan.Parked, error) {
			cancel(engine.ErrCancelled)
			return nil, engine.ErrCancelled
		}, plan.EndCancelled},
		{"interrupted", func(cancel context.CancelCauseFunc) (*plan.Parked, error) {
			cancel(engine.ErrInterrupted)
			return nil, engine.ErrInterrupted
		}, plan.EndParked},
		{"time", func(cancel context.CancelCauseFunc) (*plan.Parked, error) {
			up := &plan.TimeUp{Max: time.Second}
			cancel(up)
			return nil, up
		}, plan.EndLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			b.crew.during = func(context.Context, plan.Brief) (*plan.Parked, error) { return c.stop(cancel) }
			if _, err := b.drive(ctx); err != nil {
				t.Fatal(err)
			}
			var ends []string
			for _, ev := range b.events() {
				if end, ok := ev.Body.(plan.PhaseEnd); ok {
					ends = append(ends, end.Reason)
				}
			}
			if diff := cmp.Diff([]string{c.want}, ends); diff != "" || b.count(plan.TypePhaseStart) != 1 {
				t.Error(b.count(plan.TypePhaseStart), "starts;", diff)
			}
			sound(t, b.events(), true)
		})
	}
}
