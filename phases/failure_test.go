package phases_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// TestModelFailures: what can help later parks, what cannot ends with advice.
func TestModelFailures(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	at := func(d time.Duration) *time.Time { w := now.Add(d); return &w }
	for _, c := range []struct {
		name, fault string
		park        plan.ParkReason
		wake        *time.Time
		hint        string // in the advice, or in the detail of what is parked
	}{
		{"a 429 that names a time", "status = 429\nretry_after = \"900\"", plan.ParkRateLimit, at(900 * time.Second), ""},
		{"a 429 that does not", "status = 429\ntimes = 0", plan.ParkRateLimit, at(time.Minute), ""},
		{"a 500 for ever", "status = 500\ntimes = 0", plan.ParkRateLimit, at(time.Minute), ""},
		{"a quota", "status = 429\nbody = '{\"error\":{\"message\":\"You exceeded your current quota\",\"code\":\"insufficient_quota\"}}'", plan.ParkLimit, nil, "add credit"},
		{"too long", "status = 400\nbody = '{\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}'", plan.ParkLimit, nil, "--compaction full"},
		{"a wrong key", "status = 401", "", nil, "OPENAI_API_KEY"},
		{"an unknown model", "status = 404", "", nil, "--model"},
		{"a request it does not like", "status = 400", plan.ParkRefused, nil, "plan doctor"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "[[reply]]\n[reply.fault]\nkind = \"status\"\n"+c.fault+"\n", nil)
			out, err := b.run(briefFor(plan.Explore, 1))
			b.balanced()
			if c.park == "" {
				if err == nil || out.Park != nil || !strings.Contains(hint(err), c.hint) {
					t.Errorf("%+v, %v, %q", out.Park, err, hint(err))
				}
				return
			}
			if err != nil || out.Park == nil {
				t.Fatalf("%+v, %v", out, err)
			}
			if out.Park.Reason != c.park || out.Park.Detail == "" || !strings.Contains(out.Park.Detail, c.hint) {
				t.Errorf("parked %+v", out.Park)
			}
			if diff := cmp.Diff(c.wake, out.Park.WakeAt); diff != "" {
				t.Errorf("wakes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAModelThatIsTakenAway: a key that ran out in the middle of a run does not
// cost what was done before.
func TestAModelThatIsTakenAway(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 404} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			gone := fmt.Sprintf("[reply.fault]\nkind = \"status\"\nstatus = %d\n", status)
			b := setup(t, run(1, 0)+"[[reply]]\nturn = 1\n"+gone, map[string]string{"a.txt": ""})
			out, err := b.run(briefFor(plan.Implement, 1))
			if err != nil || out.Park == nil || out.Park.Reason != plan.ParkLimit || !strings.Contains(out.Park.Detail, "OPENAI_API_KEY") {
				t.Errorf("in the middle of a phase: %+v, %v", out.Park, err)
			}
			b = setup(t, "[[reply]]\n"+gone, nil)
			brief := briefFor(plan.Plan, 1)
			brief.Spent.Requests = 1
			if out, err := b.run(brief); err != nil || out.Park == nil || out.Park.Reason != plan.ParkLimit {
				t.Errorf("in a later phase: %+v, %v", out.Park, err)
			}
			b.balanced()
		})
	}
}

func TestLimitsParkWithAdvice(t *testing.T) {
	t.Parallel()
	endless := "[[reply]]\n[reply.usage]\ninput = 100\noutput = 10\n[[reply.call]]\nname = \"glob\"\nargs = { pattern = \"*\" }\n"
	for _, c := range []struct {
		limits plan.Limits
		says   string
	}{
		{plan.Limits{Turns: 2}, "turns: 2 of 2 used; go on with a higher --max-turns"},
		{plan.Limits{Tokens: 150}, "tokens: 220 of 150 used; go on with a higher --max-tokens"},
		{plan.Limits{CostUSD: 0.15}, "cost: 0.1 of 0.15 used, and the next call could cost more than is left; go on with a higher --max-cost"},
	} {
		for _, p := range plan.Phases() {
			t.Run(fmt.Sprint(c.says, " in ", p), func(t *testing.T) {
				t.Parallel()
				b := setup(t, endless, map[string]string{"a.txt": ""})
				b.cfg.Limits = c.limits
				b.cfg.Price = func(_ string, u plan.Usage) (float64, bool) { return float64(u.Requests) / 10, true }
				out, err := b.run(briefFor(p, 1))
				if err != nil || out.Park == nil || out.Park.Reason != plan.ParkLimit || out.Park.Detail != c.says {
					t.Errorf("%+v, %v", out.Park, err)
				}
				b.balanced()
			})
		}
	}
}
