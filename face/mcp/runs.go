package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

// runs are those that this process drives, for whichever client began them.
type runs struct {
	host    *host.Host
	options host.Options
	ctx     context.Context //nolint:containedctx // runs outlive the calls that begin them
	stop    context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	driven  map[plan.RunID]*driven
	working sync.WaitGroup
}

// driven is a run that goes on here.
type driven struct {
	done chan struct{}
	err  error // once done is closed
}

// errClosing says that the server ends.
var errClosing = errors.New("the server is ending, and begins no run any more")

func newRuns(ctx context.Context, h *host.Host, o host.Options) *runs {
	r := &runs{
		host:    h,
		options: o,
		driven:  map[plan.RunID]*driven{},
	}
	r.ctx, r.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	return r
}

// park parks what is driven, and begins nothing more.
func (r *runs) park() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stop(engine.ErrInterrupted)
}

// wait waits until nothing is driven any more.
func (r *runs) wait() { r.working.Wait() }

// start has a run driven, unless it is already.
func (r *runs) start(id plan.RunID, work func(context.Context) error) (begun bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false, errClosing
	}
	if r.driven[id] != nil {
		return false, nil
	}
	d := &driven{done: make(chan struct{})}
	r.driven[id] = d
	r.working.Go(func() {
		d.err = work(r.ctx)
		r.mu.Lock()
		delete(r.driven, id)
		r.mu.Unlock()
		close(d.done)
	})
	return true, nil
}

// begin begins a run.
func (r *runs) begin(req host.Request) (plan.RunID, error) {
	req.ID = r.host.NewRunID()
	return req.ID, r.drive(req.ID, func(ctx context.Context, face host.Face) error {
		_, err := r.host.Run(ctx, req, face)
		return err
	})
}

// goOn goes on with a run that is parked, or begins one that continues another.
func (r *runs) goOn(id plan.RunID) error {
	return r.drive(id, func(ctx context.Context, face host.Face) error {
		_, err := r.host.Resume(ctx, id, r.options, face)
		return failedHere(err)
	})
}

// drive has a run driven in the background, and returns once something of that is
// recorded.
func (r *runs) drive(id plan.RunID, work func(context.Context, host.Face) error) error {
	moved := make(chan error, 1)
	face := host.Face{
		Show: func(ev plan.Event) {
			if !ev.Live() {
				offer(moved, nil)
			}
		},
	}
	begun, err := r.start(id, func(ctx context.Context) error {
		err := work(ctx, face)
		offer(moved, err)
		return err
	})
	if err != nil || !begun {
		return err
	}
	return <-moved
}

// offer puts an error where one is waited for, if none was put there before.
func offer(to chan error, err error) {
	select {
	case to <- err:
	default:
	}
}

// settle waits until a run is final or parked, or so long. See is shown each event as it
// is recorded.
func (r *runs) settle(ctx context.Context, id plan.RunID, long time.Duration, see func(plan.Event)) error {
	r.mu.Lock()
	d := r.driven[id]
	r.mu.Unlock()
	var done chan struct{}
	if d != nil {
		done = d.done
	} else {
		standing, err := r.host.Standing(ctx, id, nil)
		if err != nil || standing.Parked != nil || standing.State.Final() {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	watched := make(chan error, 1)
	go func() { watched <- r.watch(ctx, id, done == nil, see) }()
	if done == nil {
		err := <-watched
		if ctx.Err() != nil { // so long was waited
			return nil
		}
		return err
	}
	var err error
	select {
	case <-done: // its locks are free, too
		err = d.err
	case <-ctx.Done():
	}
	cancel()
	if met := <-watched; err == nil && ctx.Err() == nil {
		err = met
	}
	return err
}

// watch shows the events of a run until ctx ends or the run is final; one that another
// process drives, until it parks.
func (r *runs) watch(ctx context.Context, id plan.RunID, elsewhere bool, see func(plan.Event)) error {
	run, err := r.host.Standing(ctx, id, nil)
	if err != nil {
		return err
	}
	for ev, err := range r.host.Follow(ctx, id, run.Head) {
		if err != nil {
			return err
		}
		see(ev)
		if ev.Type() == plan.TypeParked && elsewhere {
			return nil
		}
	}
	return nil
}

// failedHere is what is told of the end of driving: that another process drives the
// run is no failure.
func failedHere(err error) error {
	var held *memory.HeldError
	if errors.As(err, &held) {
		return nil
	}
	return err
}
