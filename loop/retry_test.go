package loop_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

func TestRetries(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	for _, c := range []struct {
		name, fault string
		kind        loop.ErrorKind // of the failure in the end; "" for success
		slept       []time.Duration
	}{
		{"429 waits as long as it is told", "kind = \"status\"\nstatus = 429\nretry_after = \"2\"\ntimes = 2", "", []time.Duration{2000 * ms, 2000 * ms}},
		{"429 that asks for too long", "kind = \"status\"\nstatus = 429\nretry_after = \"900\"", loop.ErrRateLimit, nil},
		{"429 for ever", "kind = \"status\"\nstatus = 429\ntimes = 0", loop.ErrRateLimit, []time.Duration{500 * ms, 1000 * ms, 2000 * ms, 4000 * ms, 8000 * ms}},
		{"500 twice", "kind = \"status\"\nstatus = 500\ntimes = 2", "", []time.Duration{500 * ms, 1000 * ms}},
		{"500 for ever", "kind = \"status\"\nstatus = 500\ntimes = 0", loop.ErrServed, []time.Duration{500 * ms, 1000 * ms}},
		{"401", "kind = \"status\"\nstatus = 401", loop.ErrAuth, nil},
		{"404", "kind = \"status\"\nstatus = 404", loop.ErrNotFound, nil},
		{"400", "kind = \"status\"\nstatus = 400", loop.ErrRefused, nil},
		{"truncated", "kind = \"truncate\"\ntimes = 1", "", []time.Duration{500 * ms}},
		{"half a call", "kind = \"half_call\"\ntimes = 1", "", []time.Duration{500 * ms}},
		{"reset", "kind = \"reset\"\ntimes = 1", "", []time.Duration{500 * ms}},
		{"error frame", "kind = \"error_frame\"\ntimes = 1", "", []time.Duration{500 * ms}},
		{"garbage", "kind = \"garbage\"\ntimes = 1", "", []time.Duration{500 * ms}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, `
[[reply]]
turn = 0
text = "Looking at it now."
  [reply.fault]
  `+c.fault+`
  [[reply.call]]
  name = "look"
  args = { n = 1 }
[[reply]]
turn = 1
text = "Done."
`, look())
			end, err := b.loop().Run(context.Background(), plan.UserText("Go."))
			me, _ := loop.AsModelError(err)
			switch {
			case c.kind == "" && (err != nil || end.Text != "Done."):
				t.Errorf("ended with %+v, %v", end, err)
			case c.kind != "" && (me == nil || me.Kind != c.kind):
				t.Errorf("failed with %v, want kind %s", err, c.kind)
			}
			if diff := cmp.Diff(c.slept, b.slept); diff != "" {
				t.Error("waits:", diff)
			}
			retries := 0
			for _, ev := range b.j.events() {
				if ev.Type() == plan.TypeRetry {
					retries++
				}
			}
			if retries != len(c.slept) {
				t.Errorf("%d retry events for %d retries", retries, len(c.slept))
			}
			balanced(t, b.j.events())
		})
	}
}

func TestAnEmptyAnswerIsTheEndInTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\n[reply.fault]\nkind = \"empty\"\ntimes = 0\n")
	if end := b.run("Go."); end.Text != "" {
		t.Errorf("ended with %q", end.Text)
	}
	if got := len(b.server.Requests()); got != 3 {
		t.Errorf("%d requests, want 3", got)
	}
}
