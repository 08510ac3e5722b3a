package batch

import (
	"context"
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
// each 429 halves it and stops everybody for as long as the server asks. So one
// refusal slows all jobs, where each would otherwise run into its own. Who waits
// is served in order. Repeating a call is left to whoever made it, whose journal
// says so.
type Limiter struct {
	most float64

	mu      sync.Mutex
	window  float64
	inside  int
	until   time.Time // nobody goes in before
	cut     time.Time // when the window was last halved
	strikes int       // refusals since the last answer
	line    []*turnstile
	alarm   *time.Timer
	now     func() time.Time
}

// turnstile is one call that waits to go in.
type turnstile struct{ open chan struct{} }

// NewLimiter makes a limiter that lets up to most calls in at a time (at least
// 1). A nil now is time.Now.
func NewLimiter(most int, now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	n := float64(max(most, 1))
	return &Limiter{
		most:   n,
		window: n,
		now:    now,
	}
}

// Model is m behind the gate.
func (l *Limiter) Model(m loop.Model) loop.Model { return gated{m, l} }

type gated struct {
	loop.Model
	limiter *Limiter
}

// Generate implements [loop.Model].
func (g gated) Generate(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
	began, err := g.limiter.enter(ctx)
	if err != nil {
		return loop.Answer{}, err
	}
	var failure error
	defer func() { g.limiter.leave(began, failure) }() // also when the model's client panics
	ans, err := g.Model.Generate(ctx, req, live)
	failure = err
	return ans, err
}

// Window is how many calls may be under way at the moment, and until when none
// may begin.
func (l *Limiter) Window() (calls int, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.window), l.until
}

// enter waits for its turn, and says when it came.
func (l *Limiter) enter(ctx context.Context) (time.Time, error) {
	me := &turnstile{open: make(chan struct{})}
	l.mu.Lock()
	l.line = append(l.line, me)
	l.admit()
	l.mu.Unlock()
	select {
	case <-me.open:
		return l.now(), nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.line, me); i >= 0 {
		l.line = slices.Delete(l.line, i, i+1)
	} else { // it was let in just now
		l.inside--
		l.admit()
	}
	return time.Time{}, context.Cause(ctx)
}

// admit lets in who may go in. The caller holds the lock.
func (l *Limiter) admit() {
	if wait := l.until.Sub(l.now()); wait > 0 && len(l.line) > 0 {
		if l.alarm != nil {
			l.alarm.Stop()
		}
		l.alarm = time.AfterFunc(wait, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.admit()
		})
		return
	}
	for len(l.line) > 0 && l.inside < int(l.window) {
		l.inside++
		close(l.line[0].open)
		l.line = l.line[1:]
	}
}

// leave learns from how a call went that began at a time.
func (l *Limiter) leave(began time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inside--
	failure, _ := loop.AsModelError(err)
	switch {
	case err == nil:
		l.window = min(l.most, l.window+1/l.window)
		l.strikes = 0
	case failure != nil && failure.Kind == loop.ErrRateLimit:
		l.refused(began, failure.RetryAfter)
	}
	l.admit()
}

// refused slows everybody. Calls that were under way when the window was halved
// do not halve it again: they tell of the same moment.
func (l *Limiter) refused(began time.Time, after time.Duration) {
	now := l.now()
	if !began.Before(l.cut) {
		l.window = max(1, l.window/2)
		l.cut = now
		l.strikes++
	}
	if after <= 0 {
		after = min(firstPause<<min(max(l.strikes-1, 0), 10), longPause)
	}
	if until := now.Add(after); until.After(l.until) {
		l.until = until
	}
}
