package engine

import (
	"context"
	"errors"
	"sync"
)

// errReplan is the cause for which a step ends when another plan is asked for.
var errReplan = errors.New("another plan is asked for")

// replanRequest is a request for another plan, which comes from another goroutine than
// the one that drives the run. The zero value is no request.
type replanRequest struct {
	mu     sync.Mutex
	reason string
	stop   context.CancelCauseFunc // ends the step that goes on; nil for none that may be ended
}

// set asks for another plan.
func (r *replanRequest) set(why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reason = why
	if r.stop != nil {
		r.stop(errReplan)
	}
}

// pendingReason is the reason that waits, "" for none.
func (r *replanRequest) pendingReason() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reason
}

// take returns the reason that waits, and forgets it.
func (r *replanRequest) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	why := r.reason
	r.reason = ""
	return why
}

// stepContext makes the context of a step. With open, a request ends it.
func (r *replanRequest) stepContext(ctx context.Context, open bool) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if open {
		r.stop = cancel
		if r.reason != "" {
			cancel(errReplan)
		}
	}
	return ctx, func() {
		r.mu.Lock()
		r.stop = nil
		r.mu.Unlock()
		cancel(nil)
	}
}
