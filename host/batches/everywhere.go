package batches

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/memory"
)

// Everywhere are the batches of a home, and beside them those of a queue, as one list.
type Everywhere struct {
	Home  *Batches
	Queue *Queued // nil for none
}

// List lists all batches, newest first. Where the queue cannot be read, those of the home
// are there beside the error.
func (e Everywhere) List(ctx context.Context) ([]Batch, error) {
	list, err := e.Home.List(ctx)
	if err != nil || e.Queue == nil {
		return list, err
	}
	queued, err := e.Queue.List(ctx)
	list = append(list, queued...)
	slices.SortStableFunc(list, func(a, b Batch) int { return cmp.Compare(b.ID, a.ID) })
	return list, err
}

// Show says how a batch and its jobs stand.
func (e Everywhere) Show(ctx context.Context, prefix string) (Standing, error) {
	s, err := e.Home.Show(ctx, prefix)
	if !errors.Is(err, memory.ErrNoBatch) || e.Queue == nil {
		return s, err
	}
	queued, qerr := e.Queue.Show(ctx, prefix)
	if errors.Is(qerr, nats.ErrNoBatch) {
		return s, err
	}
	return queued, qerr
}

// InQueue reports whether a batch is in the queue: it is where the home has none of its
// name.
func (e Everywhere) InQueue(ctx context.Context, prefix string) (bool, error) {
	if e.Queue == nil {
		return false, nil
	}
	_, _, err := e.Home.find(ctx, prefix)
	if errors.Is(err, memory.ErrNoBatch) {
		_, err = e.Queue.store.Batch(ctx, prefix)
		if errors.Is(err, nats.ErrNoBatch) {
			return false, nil // the home says that there is none
		}
		return err == nil, err
	}
	return false, err
}
