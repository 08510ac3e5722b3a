package turnstile

import (
	"context"
	"errors"
	"time"
)

// wait is one wait, for a goroutine of this process or for other processes. It
// counts beats and reads no clock: while this process is stopped, none pass.
type wait struct {
	t      *Turnstile
	ticker *time.Ticker
	beats  int
	quiet  int // beats since the process inside was seen to live
	pid    int
	at     time.Time
}

func (w *wait) end() {
	if w.ticker != nil {
		w.ticker.Stop()
	}
}

// await waits for what comes through a channel. It fails where it gives up.
func await[T any](ctx context.Context, w *wait, from <-chan T) (value T, err error) {
	if w.ticker == nil {
		w.ticker = time.NewTicker(w.t.cfg.Beat)
		w.pid, w.at = w.t.holder()
	}
	for {
		select {
		case value = <-from:
			return value, nil
		case <-ctx.Done():
			return value, context.Cause(ctx)
		case <-w.ticker.C:
			if err := w.look(); err != nil {
				return value, err
			}
		}
	}
}

// look sees once a beat whether those before this one move.
func (w *wait) look() error {
	w.beats++
	w.quiet++
	if pid, at := w.t.holder(); pid != w.pid || !at.Equal(w.at) {
		w.pid, w.at, w.quiet = pid, at, 0
	}
	if w.quiet >= w.t.cfg.Patience {
		return &StuckError{
			PID:  w.pid,
			Path: w.t.in.Name(),
			For:  time.Duration(w.quiet) * w.t.cfg.Beat,
		}
	}
	if w.beats == w.t.cfg.Word {
		w.t.tell(w.pid)
	}
	return nil
}

// tell says for whom this process waits, once for all of its goroutines.
func (t *Turnstile) tell(pid int) {
	t.mu.Lock()
	silent := t.told || t.inside
	t.told = true
	t.mu.Unlock()
	if !silent && t.cfg.Tell != nil {
		t.cfg.Tell(pid)
	}
}

// passLine stands in line, and says whether the line has come to an end. The kernel
// keeps the order of processes, and cannot be asked to stop waiting: where this one
// gives up, a goroutine keeps its place until then.
func (w *wait) passLine(ctx context.Context) (came bool, err error) {
	t := w.t
	first, err := tryLock(t.next)
	if err != nil {
		return true, err
	}
	if first {
		in, err := tryLock(t.in)
		if in || err != nil {
			return true, errors.Join(err, unlock(t.next))
		}
	}
	let := make(chan error, 1)
	go func() { let <- t.queue(first) }()
	of, err := await(ctx, w, let)
	if err == nil {
		return true, of
	}
	go func() {
		if <-let == nil {
			_ = unlock(t.in) // as in Leave
		}
		t.place <- struct{}{}
	}()
	return false, err
}

// queue waits for the first lock, which the first one in line has already, and with
// it for the second.
func (t *Turnstile) queue(first bool) error {
	if !first {
		if err := lock(t.next); err != nil {
			return err
		}
	}
	return errors.Join(lock(t.in), unlock(t.next))
}
