package loop_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

func TestWhatACallCosts(t *testing.T) {
	t.Parallel()
	used := plan.Usage{Requests: 1, Input: 1000, Output: 100}
	priced := func(string, plan.Usage) (float64, bool) { return 0.5, true }
	for _, c := range []struct {
		name  string
		said  *float64
		price func(string, plan.Usage) (float64, bool)
		want  plan.UsageReport
	}{
		{"the server says it", new(0.0123), priced, plan.UsageReport{CostUSD: 0.0123, Priced: true, Reported: true}},
		{"the server says it, and no price is known", new(0.0123), nil, plan.UsageReport{CostUSD: 0.0123, Priced: true, Reported: true}},
		{"it was free", new(0.0), priced, plan.UsageReport{Priced: true, Reported: true}},
		{"the server says nonsense", new(-1.0), priced, plan.UsageReport{CostUSD: 0.5, Priced: true}},
		{"the server says more nonsense", new(math.Inf(1)), priced, plan.UsageReport{CostUSD: 0.5, Priced: true}},
		{"the server says most nonsense", new(math.MaxFloat64), priced, plan.UsageReport{CostUSD: 0.5, Priced: true}},
		{"it does not say", nil, priced, plan.UsageReport{CostUSD: 0.5, Priced: true}},
		{"nobody knows", nil, nil, plan.UsageReport{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, _ := played(t, func(int, loop.Call) (loop.Answer, error) {
				ans := says("Done.")
				ans.Usage, ans.CostUSD = used, c.said
				return ans, nil
			})
			b.cfg.Price = c.price
			b.run("Go.")
			c.want.Model, c.want.Usage = "m", used
			if diff := cmp.Diff([]plan.UsageReport{c.want}, those[plan.UsageReport](b.j.events())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNoAnswerTakesBackWhatWasUsed: what a server counts below zero, or beyond what a sum can
// hold, keeps no conversation from coming to its limits.
func TestNoAnswerTakesBackWhatWasUsed(t *testing.T) {
	t.Parallel()
	for _, said := range []int64{-1_000_000, math.MaxInt64, math.MinInt64} {
		b, p := played(t, func(n int, _ loop.Call) (loop.Answer, error) {
			ans := looks(n)
			ans.Usage = plan.Usage{Requests: 1, Input: 1000}
			if n == 1 {
				ans.Usage.Input, ans.Usage.Output, ans.CostUSD = said, said, new(math.MaxFloat64)
			}
			return ans, nil
		}, page(10))
		b.cfg.Limits.Tokens = 2500
		end, err := b.loop().Run(context.Background(), plan.UserText("Go."))
		if err != nil || end.Limit == nil || end.Limit.Kind != "tokens" || len(p.calls) > 4 || end.Limit.Value < 0 {
			t.Errorf("%d: %d calls, %+v, %v", said, len(p.calls), end.Limit, err)
		}
	}
}

// TestWhatFailedIsPaid: a stream that reported usage before it broke off has been
// billed by the server, and so has an answer that said nothing. Both count
// towards the limits.
func TestWhatFailedIsPaid(t *testing.T) {
	t.Parallel()
	used := plan.Usage{Input: 1000, Output: 100}
	broken := &loop.ModelError{Kind: loop.ErrServed, Message: "broke off", Usage: used}
	b, p := played(t, func(n int, _ loop.Call) (loop.Answer, error) {
		switch n {
		case 0:
			return loop.Answer{}, broken
		case 1:
			ans := answered(thought("Hm."))
			ans.Usage, ans.CostUSD = plan.Usage{Requests: 1, Input: 1000, Output: 50}, new(0.25)
			return ans, nil
		}
		return loop.Answer{}, broken
	})
	b.cfg.Limits.Tokens = 2000
	b.cfg.Retry.Served = 1
	l := b.loop()
	if _, err := l.Run(context.Background(), plan.UserText("Go.")); err == nil || len(p.calls) != 3 {
		t.Fatalf("%v after %d calls", err, len(p.calls))
	}
	counted := plan.Usage{Requests: 1, Input: 1000, Output: 100}
	want := []plan.UsageReport{
		{Model: "m", Usage: counted},
		{Model: "m", Usage: plan.Usage{Requests: 1, Input: 1000, Output: 50}, CostUSD: 0.25, Priced: true, Reported: true},
		{Model: "m", Usage: counted},
	}
	if diff := cmp.Diff(want, those[plan.UsageReport](b.j.events())); diff != "" {
		t.Error(diff)
	}
	balanced(t, b.j.events())
	end, err := l.Run(context.Background())
	if err != nil || end.Limit == nil || end.Limit.Kind != "tokens" || len(p.calls) != 3 {
		t.Errorf("went on to %+v, %v", end, err)
	}
}

// TestWhatAServerDidNotTake is recorded, whether or not the call came to an
// answer, on one line and without secrets.
func TestWhatAServerDidNotTake(t *testing.T) {
	t.Parallel()
	changes := []plan.Adjusted{{Part: "reasoning_effort", From: "high", Why: "Unsupported\nvalue s3cret " + strings.Repeat("x", 1000)}}
	b, _ := played(t, func(n int, _ loop.Call) (loop.Answer, error) {
		if n == 0 {
			return loop.Answer{}, &loop.ModelError{Kind: loop.ErrServed, Message: "broke off", Adjusted: changes}
		}
		ans := says("Done.")
		ans.Adjusted = []plan.Adjusted{{Model: "x/m", Part: "max_tokens", To: "max_completion_tokens", Why: "use it"}}
		return ans, nil
	})
	b.cfg.Redact = func(s string) string { return strings.ReplaceAll(s, "s3cret", "***") }
	b.run("Go.")
	got := those[plan.Adjusted](b.j.events())
	if len(got) != 2 || got[0].Model != "m" || got[0].From != "high" || got[1].Model != "x/m" {
		t.Fatalf("recorded %+v", got)
	}
	if why := got[0].Why; !strings.HasPrefix(why, "Unsupported value *** xxx") || len(why) > 500 {
		t.Errorf("says %q", why)
	}
	balanced(t, b.j.events())
}

// TestAServerThatCutsIsNamedOnce in a conversation, also where another process
// goes on with it.
func TestAServerThatCutsIsNamedOnce(t *testing.T) {
	t.Parallel()
	play := func(_ int, call loop.Call) (loop.Answer, error) {
		ans := looks(countCalls(call.Messages))
		ans.Usage.Input = min(sizeOf(call), 4096)
		return ans, nil
	}
	b, _ := played(t, play, page(9000))
	b.cfg.Limits.Turns = 12
	b.cfg.System = strings.Repeat("Be brief. ", 800)
	b.run("Go.")
	got := those[plan.Adjusted](b.j.events())
	if len(got) != 1 || got[0].Part != plan.PartContext || got[0].Model != "m" ||
		!strings.HasPrefix(got[0].String(), "m: the server read 4,096 of about ") ||
		!strings.HasSuffix(got[0].Why, "tokens: raise its window (Ollama: OLLAMA_CONTEXT_LENGTH), or set [models.m] window") {
		t.Fatalf("said %+v", got)
	}
	again, _ := played(t, play, page(9000))
	again.cfg.Limits.Turns, again.cfg.System = 16, b.cfg.System
	if _, err := again.loop(b.j.events()...).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := those[plan.Adjusted](again.j.events()); len(got) != 0 {
		t.Errorf("said again %+v", got)
	}
}
