// Package signals turns the signals that ask a process to stop into the end of a
// context.
package signals

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// again is how long after a Ctrl-C another one is a second wish: whatever signals
// a process and then its group, as timeout does, means one.
const again = 500 * time.Millisecond

// Watch returns a context that ends with cause on the first signal that asks the
// process to stop. A second Ctrl-C calls kill. A terminal that goes away signals
// more than once, and so may the manager of a service: neither ever kills, not
// even what comes after the release, while the process writes its last words. Nor
// does a Ctrl-C then that comes too soon after the first.
//
// A reader that leaves, as head does, or a terminal that is gone must not take the
// process with it, so SIGPIPE is noticed and nothing more; ignoring it would be
// inherited by every child, and `yes | head` would never end.
func Watch(ctx context.Context, now func() time.Time, cause error, kill func()) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		heed(signals, done, now, func() { cancel(cause) }, kill)
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGHUP)
		close(done)
		cancel(nil)
	})
}

// heed reads signals until done: each stops, and a second Ctrl-C kills, also after done.
func heed(signals <-chan os.Signal, done <-chan struct{}, now func() time.Time, stop, kill func()) {
	var first time.Time // Ctrl-C
	for {
		select {
		case <-done:
			if first.IsZero() {
				return
			}
			done = nil
		case s, ok := <-signals:
			if !ok {
				return
			}
			stop()
			switch {
			case s != os.Interrupt:
			case first.IsZero():
				first = now()
			case now().Sub(first) >= again:
				kill()
			}
		}
	}
}
