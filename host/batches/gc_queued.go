package batches

import (
	"context"
	"time"

	"github.com/plan-engine/plan"
)

// QueueGC is what was removed of a queue, or would be.
type QueueGC struct {
	DryRun   bool         `json:"dry_run"`
	Removed  []OldBatch   `json:"removed"`
	Journals []plan.RunID `json:"journals"` // of runs
}

// OldBatch is a batch that has been over for long enough.
type OldBatch struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Jobs int    `json:"jobs"`
}

// GC removes batches of the queue that have been over for a while, whole, and journals of
// runs that no batch needs any more: no job which is to be done has them, and nothing has been
// written there for as long.
func (q *Queued) GC(ctx context.Context, after time.Duration, dryRun bool) (done QueueGC, err error) {
	done = QueueGC{DryRun: dryRun, Removed: []OldBatch{}, Journals: []plan.RunID{}}
	before, err := q.store.Ago(ctx, after)
	if err != nil {
		return done, err
	}
	over, err := q.store.Over(ctx, before)
	if err != nil {
		return done, err
	}
	for _, b := range over {
		removed := true
		if !dryRun {
			removed, err = q.store.Remove(ctx, b.ID)
		}
		if err != nil {
			return done, err
		}
		if removed {
			done.Removed = append(done.Removed, OldBatch{b.ID, b.Name, b.Jobs})
		}
	}
	runs, err := q.store.OldJournals(ctx, before)
	if err == nil && !dryRun {
		err = q.store.RemoveJournals(ctx, runs)
	}
	done.Journals = append(done.Journals, runs...)
	return done, err
}
