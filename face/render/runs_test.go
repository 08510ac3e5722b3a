package render

import (
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

func TestListSaysWhenARunIsDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	at := now.Add(5 * time.Minute)
	tests := map[string]struct {
		parked plan.ParkReason
		wake   *time.Time
		left   time.Duration // from now; 0: it waits for a person
		words  string
	}{
		"a rate limit":             {plan.ParkRateLimit, &at, 5 * time.Minute, "parked: rate_limit, due in 5m00s"},
		"one without a time":       {plan.ParkRateLimit, nil, time.Minute, "parked: rate_limit, due in 1m00s"},
		"a server that went away":  {plan.ParkUnreachable, &at, 5 * time.Minute, "parked: unreachable, due in 5m00s"},
		"one that never was there": {plan.ParkUnreachable, nil, 0, "parked: unreachable"},
		"a limit":                  {plan.ParkLimit, nil, 0, "parked: limit"},
		"a refusal":                {plan.ParkRefused, &at, 0, "parked: refused"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := memory.RunInfo{Parked: tt.parked, WakeAt: tt.wake, Updated: now}
			wake, ok := host.WakeTime(run)
			if ok != (tt.left > 0) || ok && wake.Sub(now) != tt.left {
				t.Errorf("due at %v, %v; want %v from now", wake, ok, tt.left)
			}
			if got := standing(run, now); got != tt.words {
				t.Errorf("listed as %q, want %q", got, tt.words)
			}
		})
	}
}
