package batch

import (
	"context"
	"sync"
	"time"

	"github.com/plan-engine/plan/loop"
)

// Pauses between the calls that try whether a server is back.
const (
	firstProbe = 500 * time.Millisecond
	rareProbe  = 30 * time.Second
)

// outages are the servers that calls could not reach. The zero value has none. It
// is safe for concurrent use.
type outages struct {
	mu       sync.Mutex
	answered map[string]bool
	down     map[string]*outage
}

// outage is a server that could not be reached since a time.
type outage struct {
	failure loop.ModelError // of the last call that tried
	since   time.Time
	next    time.Time // when to try again
	probes  int
	probing bool
}

// enter lets a call to a server through, unless others are known to fail: then it
// fails with what the last one was told. Probing says that the call tries for all.
func (o *outages) enter(server string, now time.Time) (probing bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	down := o.down[server]
	switch {
	case down == nil:
		return false, nil
	case down.probing, now.Before(down.next):
		failure := down.failure
		failure.Down = now.Sub(down.since)
		return false, &failure
	}
	down.probing = true
	return true, nil
}

// leave learns from how a call to a server went, and adds to its failure what is
// known of the server. A call that its caller ended has found out nothing.
func (o *outages) leave(ctx context.Context, server string, now time.Time, probing bool, err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	down := o.down[server]
	if probing && down != nil {
		down.probing = false
	}
	failure, ok := loop.AsModelError(err)
	switch {
	case err == nil, ok && failure.Status != 0:
		if o.answered == nil {
			o.answered = map[string]bool{}
		}
		o.answered[server] = true
		delete(o.down, server)
		return err
	case ctx.Err() != nil, !ok:
		return err
	case failure.Kind != loop.ErrUnreachable:
		delete(o.down, server)
		return err
	}
	if down == nil {
		if o.down == nil {
			o.down = map[string]*outage{}
		}
		down = &outage{since: now}
		o.down[server] = down
	}
	if probing || down.probes == 0 { // others that were under way tell of the same moment
		down.next = now.Add(min(firstProbe<<min(down.probes, 10), rareProbe))
		down.probes++
	}
	down.failure = *failure
	down.failure.Answered = o.answered[server]
	report := down.failure
	report.Down = now.Sub(down.since)
	return &report
}
