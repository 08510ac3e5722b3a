package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// Change lays what is asked for now over what a batch was driven with before.
type Change func(*Settings) error

// Resume puts the parked jobs of a batch back into its queue, and returns its id,
// to be driven. A batch that another process drives is left alone, which is an
// error.
func (b *Batches) Resume(ctx context.Context, prefix string, change Change) (id string, err error) {
	return b.reopen(ctx, prefix, change, requeueParked)
}

// Continue is Resume without the limit on how many jobs may be started.
func (b *Batches) Continue(ctx context.Context, prefix string, change Change) (id string, err error) {
	return b.reopen(ctx, prefix, change, func(ctx context.Context, db *memory.DB, found *memory.Batch) error {
		found.MaxStarts = 0
		return requeueParked(ctx, db, found)
	})
}

// Retry puts jobs back into the queue that have ended without approval: those that
// failed, or the named ones, also if they were cancelled.
func (b *Batches) Retry(ctx context.Context, prefix string, only []string, change Change) (id string, err error) {
	return b.reopen(ctx, prefix, change, func(ctx context.Context, db *memory.DB, found *memory.Batch) error {
		return requeueEnded(ctx, db, found.ID, only)
	})
}

// reopen changes what is left to do of a batch that no process drives.
func (b *Batches) reopen(
	ctx context.Context,
	prefix string,
	change Change,
	requeue func(context.Context, *memory.DB, *memory.Batch) error,
) (id string, err error) {
	db, stored, err := b.find(ctx, prefix)
	if err != nil {
		return "", err
	}
	settings, err := settingsOf(stored)
	if err != nil {
		return "", err
	}
	if change != nil {
		if err := change(&settings); err != nil {
			return "", err
		}
	}
	if held, ok := db.BatchHolder(stored.ID); ok {
		return "", hint.New(
			fmt.Sprintf("batch %s is driven by process %d", stored.ID, held.PID),
			"Watch it with `plan batch status "+stored.ID+"`.",
		)
	}
	if err := requeue(ctx, db, &stored); err != nil {
		return "", err
	}
	data, err := json.Marshal(settings)
	if err != nil {
		return "", fmt.Errorf("encode how the batch is driven: %w", err)
	}
	return stored.ID, db.ChangeBatch(ctx, stored.ID, data, stored.MaxStarts)
}

func requeueParked(ctx context.Context, db *memory.DB, found *memory.Batch) error {
	parked := []memory.JobState{memory.JobParked}
	_, err := db.SetJobStates(ctx, found.ID, memory.JobQueued, parked, nil, false)
	return err
}

// requeueEnded puts jobs that have ended without approval into the queue. A run
// that is final is followed by another one; any other goes on.
func requeueEnded(ctx context.Context, db *memory.DB, id string, only []string) error {
	jobs, err := db.Jobs(ctx, id)
	if err != nil {
		return err
	}
	var anew, goOn []string
	for _, j := range jobs {
		again := j.State == memory.JobFailed || j.State == memory.JobCancelled && len(only) > 0
		if !again || len(only) > 0 && !slices.Contains(only, j.ID) {
			continue
		}
		if info, err := db.Run(ctx, j.Run); err == nil && !info.State.Final() {
			goOn = append(goOn, j.ID)
		} else {
			anew = append(anew, j.ID)
		}
	}
	if err := requireKnown(id, jobs, only); err != nil {
		return err
	}
	ended := []memory.JobState{memory.JobFailed, memory.JobCancelled}
	if len(anew) > 0 {
		if _, err := db.SetJobStates(ctx, id, memory.JobQueued, ended, anew, true); err != nil {
			return err
		}
	}
	if len(goOn) > 0 {
		if _, err := db.SetJobStates(ctx, id, memory.JobQueued, ended, goOn, false); err != nil {
			return err
		}
	}
	return nil
}

// Cancel ends the jobs of a batch that have not ended yet, or those of them that
// are named, and their runs, for good. Runs that another process drives are asked
// to stop. It returns the id of the batch and how many jobs were cancelled.
func (b *Batches) Cancel(ctx context.Context, prefix string, only []string) (id string, jobs int, err error) {
	db, stored, before, err := b.findJobs(ctx, prefix)
	if err != nil {
		return "", 0, err
	}
	open := []memory.JobState{memory.JobQueued, memory.JobRunning, memory.JobParked}
	n, err := db.SetJobStates(ctx, stored.ID, memory.JobCancelled, open, only, false)
	if err != nil {
		return "", 0, err
	}
	for _, j := range before {
		if j.Run == "" || !slices.Contains(open, j.State) || len(only) > 0 && !slices.Contains(only, j.ID) {
			continue
		}
		if _, err := b.host.Cancel(ctx, j.Run); err != nil && !errors.Is(err, memory.ErrNoRun) {
			b.host.Note(fmt.Sprintf("job %s: %v", j.ID, err))
		}
	}
	return stored.ID, int(n), nil
}
