package batch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/plan-engine/plan/loop"
)

// Pauses for a server that says "too many requests" without saying for how long.
const (
	firstPause = 500 * time.Millisecond
	longPause  = 30 * time.Second
)

// Limiter is a gate before a model's server that all jobs share. It lets a
// window of calls through at a time: each answer widens the window a little,
// each 429 halves it and stops all calls for as long as the server asks. So one
// refusal slows all jobs, where each would otherwise run into its own. A server
// that one call could not reach is tried by one call at a time, ever more rarely:
// the others fail meanwhile as that one did. Calls that wait are let through in
// order. Repeating a call is left to its caller, whose journal says so.
type Limiter struct {
	maxWindow float64

	mu          sync.Mutex
	window      float64
	inFlight    int
	pausedUntil time.Time // no call begins before
	lastHalved  time.Time // when the window was last halved
	refusals    int       // refusals since the last answer
	waiting     []*waiter
	wakeUp      *time.Timer
	outages     outages
	now         func() time.Time
	tell        func(time.Duration)
}

// waiter is one call that waits to begin.
type waiter struct{ admitted chan struct{} }

// NewLimiter makes a limiter that lets up to most calls in at a time (at least
// 1). A nil now is time.Now.
func NewLimiter(most int, now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	n := float64(max(most, 1))
	return &Limiter{
		maxWindow: n,
		window:    n,
		now:       now,
	}
}

// Tell has a function called with each pause that a server asks this process for. It
// must not block, and is to be set before the first call.
func (l *Limiter) Tell(f func(pause time.Duration)) { l.tell = f }

// Slow slows all jobs down as another process was told to. Within a pause it makes
// that one longer at most: several processes tell of the same moment.
func (l *Limiter) Slow(pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	began := l.now()
	if began.Before(l.pausedUntil) {
		began = l.lastHalved.Add(-1)
	}
	l.slowDown(began, pause)
}

// Model is m behind the gate.
func (l *Limiter) Model(m loop.Model) loop.Model { return limitedModel{m, l} }

type limitedModel struct {
	loop.Model
	limiter *Limiter
}

// errCrashed stands for how a call went whose client panicked.
var errCrashed = errors.New("the model's client crashed")

// Generate implements [loop.Model].
func (g limitedModel) Generate(
	ctx context.Context,
	req loop.Call,
	live func(loop.Delta),
) (ans loop.Answer, err error) {
	l := g.limiter
	began, err := l.acquire(ctx)
	if err != nil {
		return loop.Answer{}, err
	}
	defer func() { l.release(began, err) }() // also when the model's client panics
	server := req.Model
	if named, ok := g.Model.(interface{ Server(model string) string }); ok {
		server = named.Server(req.Model)
	}
	probing, err := l.outages.enter(server, l.now())
	if err != nil {
		return loop.Answer{}, err
	}
	err = errCrashed // unless the call returns
	defer func() { err = l.outages.leave(ctx, server, l.now(), probing, err) }()
	return g.Model.Generate(ctx, req, live)
}

// Window is how many calls may be under way at the moment, and until when none
// may begin.
func (l *Limiter) Window() (calls int, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.window), l.pausedUntil
}

// acquire waits for its turn, and says when it came.
func (l *Limiter) acquire(ctx context.Context) (time.Time, error) {
	me := &waiter{admitted: make(chan struct{})}
	l.mu.Lock()
	l.waiting = append(l.waiting, me)
	l.admitWaiting()
	l.mu.Unlock()
	select {
	case <-me.admitted:
		return l.now(), nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, me); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	} else { // it was let in just now
		l.inFlight--
		l.admitWaiting()
	}
	return time.Time{}, context.Cause(ctx)
}

// admitWaiting lets those calls through that may begin. The caller holds the lock.
func (l *Limiter) admitWaiting() {
	if wait := l.pausedUntil.Sub(l.now()); wait > 0 && len(l.waiting) > 0 {
		if l.wakeUp != nil {
			l.wakeUp.Stop()
		}
		l.wakeUp = time.AfterFunc(wait, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.admitWaiting()
		})
		return
	}
	for len(l.waiting) > 0 && l.inFlight < int(l.window) {
		l.inFlight++
		close(l.waiting[0].admitted)
		l.waiting = l.waiting[1:]
	}
}

// release learns from how a call went that began at a time.
func (l *Limiter) release(began time.Time, err error) {
	if pause := l.learn(began, err); pause > 0 && l.tell != nil {
		l.tell(pause)
	}
}

// learn returns the pause that a server asks for, unless others were told of it.
func (l *Limiter) learn(began time.Time, err error) (pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	failure, _ := loop.AsModelError(err)
	switch {
	case err == nil:
		l.window = min(l.maxWindow, l.window+1/l.window)
		l.refusals = 0
	case failure != nil && failure.Kind == loop.ErrRateLimit:
		pause = l.slowDown(began, failure.RetryAfter)
	}
	l.admitWaiting()
	return pause
}

// slowDown halves the window of all jobs. Calls that were under way when the window was halved
// do not halve it again: they tell of the same moment. It returns for how long no
// call begins, 0 for a moment that is known.
func (l *Limiter) slowDown(began time.Time, after time.Duration) (pause time.Duration) {
	now := l.now()
	fresh := !began.Before(l.lastHalved)
	if fresh {
		l.window = max(1, l.window/2)
		l.lastHalved = now
		l.refusals++
	}
	if after <= 0 {
		after = min(firstPause<<min(max(l.refusals-1, 0), 10), longPause)
	}
	if until := now.Add(after); until.After(l.pausedUntil) {
		l.pausedUntil = until
	}
	if fresh {
		pause = after
	}
	return pause
}
