package host

import (
	"context"
	"sync"

	"github.com/plan-engine/plan"
)

// Running is a run that this process drives in the background.
type Running struct {
	// ID is that of the run.
	ID plan.RunID

	done chan struct{}
	end  End
	err  error
}

// Start begins a run as [Host.Run] does, and returns once its first events are
// recorded; the run goes on in the background until ctx ends. An error means that
// it did not begin.
func (h *Host) Start(ctx context.Context, r Request, face Face) (*Running, error) {
	if r.ID == "" {
		r.ID = h.NewRunID()
	}
	run := &Running{
		ID:   r.ID,
		done: make(chan struct{}),
	}
	began := make(chan struct{})
	show := face.show
	first := sync.OnceFunc(func() { close(began) })
	face.Show = func(ev plan.Event) {
		first()
		show(ev)
	}
	go func() {
		defer close(run.done)
		run.end, run.err = h.Run(ctx, r, face)
	}()
	select {
	case <-began:
		return run, nil
	case <-run.done:
		return run, run.err
	}
}

// Wait waits until the run is final or parks, and says how it stands.
func (r *Running) Wait() (End, error) {
	<-r.done
	return r.end, r.err
}
