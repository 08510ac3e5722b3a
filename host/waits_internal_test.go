package host

import (
	"testing"
	"time"

	"github.com/plan-engine/plan"
)

// TestWaitsFor: what a process sleeps through is what passes by itself. A server
// that never answered may be a wrong address, so only those wait who were told to.
func TestWaitsFor(t *testing.T) {
	t.Parallel()
	at, yes, no := time.Now(), true, false
	limited := plan.Parked{Reason: plan.ParkRateLimit}
	gone := plan.Parked{Reason: plan.ParkUnreachable, WakeAt: &at}
	never := plan.Parked{Reason: plan.ParkUnreachable}
	for _, c := range []struct {
		told                 *bool
		usual                bool
		limited, gone, never bool
	}{
		{told: &yes, limited: true, gone: true, never: true},
		{told: &no, usual: true},
		{usual: true, limited: true, gone: true},
		{},
	} {
		s := &session{face: Face{Wait: c.usual}}
		s.cfg.Wait = c.told
		if s.waitsFor(limited) != c.limited || s.waitsFor(gone) != c.gone || s.waitsFor(never) != c.never {
			t.Errorf("%+v: waits for %t, %t, %t", c, s.waitsFor(limited), s.waitsFor(gone), s.waitsFor(never))
		}
		if s.waitsFor(plan.Parked{Reason: plan.ParkLimit, WakeAt: &at}) {
			t.Errorf("%+v: waits for a limit", c)
		}
	}
}
