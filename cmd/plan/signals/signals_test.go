package signals

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"
)

// sent is a signal, so long after the one before it.
type sent struct {
	after  time.Duration
	signal os.Signal
}

// TestWhatKills: only a Ctrl-C that comes half a second after another one.
func TestWhatKills(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signals []sent
		kills   bool
	}{
		"a terminal that closes":    {[]sent{{0, syscall.SIGHUP}, {0, syscall.SIGHUP}, {time.Hour, syscall.SIGHUP}}, false},
		"a service that is stopped": {[]sent{{0, syscall.SIGTERM}, {time.Second, syscall.SIGTERM}}, false},
		"both":                      {[]sent{{0, syscall.SIGTERM}, {time.Second, syscall.SIGHUP}}, false},
		"Ctrl-C once":               {[]sent{{0, syscall.SIGINT}}, false},
		"timeout -s INT":            {[]sent{{0, syscall.SIGINT}, {499 * time.Millisecond, syscall.SIGINT}}, false},
		"Ctrl-C twice":              {[]sent{{0, syscall.SIGINT}, {time.Second, syscall.SIGINT}}, true},
		"Ctrl-C after another":      {[]sent{{0, syscall.SIGTERM}, {time.Second, syscall.SIGINT}}, false},
		"Ctrl-C three times": {
			[]sent{{0, syscall.SIGINT}, {0, syscall.SIGINT}, {500 * time.Millisecond, syscall.SIGINT}}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(1, 0)
			signals, done := make(chan os.Signal), make(chan struct{})
			stopped, killed := 0, 0
			ended := make(chan struct{})
			times := make(chan time.Time, len(c.signals))
			go func() {
				heed(signals, done, func() time.Time { return now }, func() { now = <-times; stopped++ }, func() { killed++ })
				close(ended)
			}()
			at := now
			for i, s := range c.signals {
				if i == 1 && c.signals[0].signal == os.Interrupt {
					close(done) // changes nothing for what follows
				}
				at = at.Add(s.after)
				times <- at
				signals <- s.signal
			}
			close(signals)
			<-ended
			if stopped != len(c.signals) || (killed > 0) != c.kills {
				t.Errorf("stopped %d times, killed %d", stopped, killed)
			}
		})
	}
}

// TestWatch: real signals end the context, and the process goes on, also after the
// release where a second signal is no second wish.
func TestWatch(t *testing.T) { //nolint:paralleltest // it signals the process
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		why := errors.New("stopped")
		at := time.Unix(1, 0)
		ctx, release := Watch(context.Background(), func() time.Time { return at }, why, func() { t.Error("killed") })
		for range 3 {
			if err := syscall.Kill(os.Getpid(), s); err != nil {
				t.Fatal(err)
			}
		}
		<-ctx.Done()
		if got := context.Cause(ctx); !errors.Is(got, why) {
			t.Errorf("%v: %v", s, got)
		}
		release()
		if err := syscall.Kill(os.Getpid(), s); err != nil { // would end the test
			t.Fatal(err)
		}
	}
}
