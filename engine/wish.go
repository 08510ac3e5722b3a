package engine

import (
	"context"
	"errors"
	"sync"
)

// errReplan is the cause for which a step ends when another plan is asked for.
var errReplan = errors.New("another plan is asked for")

// wish is a request for another plan, which comes from another goroutine than
// the one that drives the run. The zero value is no request.
type wish struct {
	mu     sync.Mutex
	reason string
	stop   context.CancelCauseFunc // ends the step that goes on; nil for none that may be ended
}

// set asks for another plan.
func (w *wish) set(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reason = why
	if w.stop != nil {
		w.stop(errReplan)
	}
}

// why is the reason that waits, "" for none.
func (w *wish) why() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reason
}

// take returns the reason that waits, and forgets it.
func (w *wish) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	why := w.reason
	w.reason = ""
	return why
}

// during makes the context of a step. With open, a request ends it.
func (w *wish) during(ctx context.Context, open bool) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if open {
		w.stop = cancel
		if w.reason != "" {
			cancel(errReplan)
		}
	}
	return ctx, func() {
		w.mu.Lock()
		w.stop = nil
		w.mu.Unlock()
		cancel(nil)
	}
}
