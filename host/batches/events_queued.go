package batches

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// Events are the events of the run of a job whose seq is greater than after, as the queue has
// them, whichever worker drives the run: byte for byte, and without gaps. With follow they
// are waited for until the run is final, or its job is over.
func (q *Queued) Events(ctx context.Context, name string, after int64, follow bool) iter.Seq2[memory.Line, error] {
	return func(yield func(memory.Line, error) bool) {
		err := q.follow(ctx, name, follow, func(line memory.Line) bool { return line.Seq <= after || yield(line, nil) })
		if err != nil && ctx.Err() == nil {
			yield(memory.Line{}, err)
		}
	}
}

// Blob is a text that an event of the run of a job names by its hash.
func (q *Queued) Blob(ctx context.Context, name, hash string) ([]byte, error) {
	_, j, err := q.jobOf(ctx, name)
	if err != nil {
		return nil, err
	}
	blobs, err := q.store.Blobs(ctx, j.Run)
	for _, data := range blobs {
		if plan.NewBlob(data).Hash == hash {
			return data, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("the journal of run %s in the queue has no text %.12s", j.Run, hash)
	}
	return nil, err
}

// follow passes on the events of a run, until take wants no more.
func (q *Queued) follow(ctx context.Context, name string, wait bool, take func(memory.Line) bool) error {
	of, j, err := q.jobOf(ctx, name)
	if err != nil {
		return err
	}
	last := int64(0)
	for data, err := range q.store.Follow(ctx, of, j, wait) {
		var at struct {
			Seq  int64          `json:"seq"`
			Type plan.EventType `json:"type"`
		}
		if err == nil {
			err = json.Unmarshal(data, &at)
		}
		if err == nil && at.Seq != last+1 {
			err = fmt.Errorf("event %d comes after event %d", at.Seq, last)
		}
		if err != nil {
			return fmt.Errorf("follow run %s in the queue: %w", j.Run, err)
		}
		last = at.Seq
		if !take(memory.Line{Seq: at.Seq, JSON: data}) || at.Type == plan.TypeRunEnd {
			return nil
		}
	}
	return nil
}
