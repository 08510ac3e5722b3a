package batches

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/internal/hint"
)

// Cancel ends the jobs of a batch that have not ended, or those that are named, for
// good. Workers are told within a third of a lease.
func (q *Queued) Cancel(ctx context.Context, prefix string, only []string) (id string, n int, err error) {
	b, jobs, err := q.find(ctx, prefix)
	if err == nil {
		err = requireQueued(b.ID, jobs, only)
	}
	if err != nil {
		return "", 0, err
	}
	n, err = q.store.Cancel(ctx, b.ID, named(only))
	return b.ID, n, err
}

// Retry puts jobs that have failed into the queue again, to begin anew, or those that
// are named, also where they were cancelled or wait parked. With a budget that is
// raised, jobs go on, too, that a limit had parked.
func (q *Queued) Retry(
	ctx context.Context,
	prefix string,
	only []string,
	raise Settings,
) (id string, n int, err error) {
	b, jobs, err := q.find(ctx, prefix)
	if err == nil {
		err = requireQueued(b.ID, jobs, only)
	}
	if err != nil {
		return "", 0, err
	}
	raised, err := q.raise(ctx, b, raise)
	if err != nil {
		return "", 0, err
	}
	chosen := named(only)
	if raised {
		n, err = q.store.Requeue(ctx, b.ID, false, func(j nats.Job) bool {
			return chosen(j) && j.State == batch.JobParked && j.Parked == plan.ParkLimit
		})
		if err != nil {
			return "", 0, err
		}
	}
	more, err := q.store.Requeue(ctx, b.ID, true, func(j nats.Job) bool {
		return chosen(j) && (j.State == batch.JobFailed || len(only) > 0 && j.State != batch.JobDone)
	})
	return b.ID, n + more, err
}

// Resume puts the parked jobs of a batch into the queue again, where each stood. A budget
// that is raised counts for them.
func (q *Queued) Resume(ctx context.Context, prefix string, raise Settings) (id string, n int, err error) {
	b, err := q.store.Batch(ctx, prefix)
	if err == nil {
		_, err = q.raise(ctx, b, raise)
	}
	if err != nil {
		return "", 0, err
	}
	n, err = q.store.Requeue(ctx, b.ID, false, func(j nats.Job) bool { return j.State == batch.JobParked })
	return b.ID, n, err
}

// raise changes the budget of a batch that has one. What was used before was counted
// for such alone.
func (q *Queued) raise(ctx context.Context, b nats.Batch, to Settings) (raised bool, err error) {
	if to.MaxCost == 0 && to.MaxTokens == 0 {
		return false, nil
	}
	s, err := settingsIn(b)
	switch {
	case err != nil:
		return false, err
	case to.MaxCost > 0 && s.MaxCost == 0, to.MaxTokens > 0 && s.MaxTokens == 0:
		return false, hint.Usage(
			"batch %s was put into the queue without this budget, and what it used was not counted; "+
				"start another batch with it: plan batch run --new",
			b.ID,
		)
	}
	if to.MaxCost > 0 {
		s.MaxCost = to.MaxCost
	}
	if to.MaxTokens > 0 {
		s.MaxTokens = to.MaxTokens
	}
	settings, err := json.Marshal(s)
	if err != nil {
		return false, fmt.Errorf("encode the settings of batch %s: %w", b.ID, err)
	}
	return true, q.store.SetSettings(ctx, b.ID, settings)
}

// named chooses the jobs of some names; none chooses all.
func named(only []string) func(nats.Job) bool {
	return func(j nats.Job) bool { return len(only) == 0 || slices.Contains(only, j.ID) }
}
