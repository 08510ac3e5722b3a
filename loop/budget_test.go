package loop_test

import (
	"context"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// dollars is a price of 1 USD for a thousand tokens in, 2 for those that are kept
// for an hour, and 4 for a thousand out.
func dollars(_ string, u plan.Usage) (float64, bool) {
	return float64(u.Input+u.WrittenHour+4*u.Output) / 1000, true
}

// TestTheBudgetHoldsBeforeTheCall: an answer may not become longer than what is
// left pays for, and where that is next to nothing the call is not made.
func TestTheBudgetHoldsBeforeTheCall(t *testing.T) {
	t.Parallel()
	prompt := strings.Repeat("word ", 800) // 1,000 tokens, 2 USD to keep
	for _, c := range []struct {
		name      string
		usd       float64
		set       int
		most      func(string) int
		window    int64
		price     func(string, plan.Usage) (float64, bool)
		least, to int // of what the call asks; to 0: nothing
		hit       bool
	}{
		{name: "plenty, and an answer that is known to be short", usd: 100, most: func(string) int { return 8000 }, price: dollars},
		{name: "plenty, and an answer that is set to be short", usd: 100, set: 2000, price: dollars, least: 2000, to: 2000},
		{name: "plenty, and a small window", usd: 100, window: 10_000, price: dollars},
		{name: "less than the longest answer", usd: 22, most: func(string) int { return 8000 }, price: dollars, least: 4500, to: 5000},
		{name: "less than what is set", usd: 22, set: 6000, price: dollars, least: 4500, to: 5000},
		{name: "how long an answer becomes is not known", usd: 22, price: dollars, least: 4500, to: 5000},
		{name: "just a short answer", usd: 6.4, price: dollars, least: 1024, to: 1100},
		{name: "not even that", usd: 6, price: dollars, hit: true},
		{name: "not even the prompt", usd: 1.5, price: dollars, hit: true},
		{name: "no price is known", usd: 0.01, set: 3000, least: 3000, to: 3000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, p := played(t, func(int, loop.Call) (loop.Answer, error) { return says("Done."), nil })
			b.cfg.Limits.CostUSD, b.cfg.Price = c.usd, c.price
			b.cfg.Settings.MaxOutputTokens, b.cfg.MaxOutput, b.cfg.Window = c.set, c.most, c.window
			end := b.run(prompt)
			balanced(t, b.j.events())
			if c.hit {
				if len(p.calls) != 0 || end.Limit == nil || end.Limit.Kind != "cost" || end.Limit.Value != 0 || end.Limit.Max != c.usd {
					t.Errorf("ended with %+v after %d calls", end.Limit, len(p.calls))
				}
				return
			}
			if end.Text != "Done." {
				t.Fatalf("ended with %+v", end)
			}
			if got := p.calls[0].Settings.MaxOutputTokens; got < c.least || got > c.to {
				t.Errorf("an answer of %d tokens is asked for", got)
			}
		})
	}
}

// TestASubAgentHasWhatIsLeftOfItsParents budget, and no more.
func TestASubAgentHasWhatIsLeftOfItsParents(t *testing.T) {
	t.Parallel()
	b, p := played(t, func(n int, _ loop.Call) (loop.Answer, error) {
		if n > 0 {
			return says("Done."), nil
		}
		ans := answered(plan.Block{Type: plan.BlockToolCall, Call: "t", Name: "task", Args: `{"task":"look at it"}`})
		ans.Usage = plan.Usage{Requests: 1, Input: 1000, Output: 1000} // 5 USD
		return ans, nil
	}, loop.SubAgent(loop.Delegate{Model: "helper"}))
	b.cfg.Limits.CostUSD, b.cfg.Price = 25, dollars
	if end := b.run("Go."); end.Text != "Done." || len(p.calls) != 3 {
		t.Fatalf("ended with %+v after %d calls", end, len(p.calls))
	}
	if got := p.calls[1]; got.Model != "helper" || got.Settings.MaxOutputTokens > 5000 || got.Settings.MaxOutputTokens < 4000 {
		t.Errorf("%s is asked for %d tokens", got.Model, got.Settings.MaxOutputTokens)
	}
	routes := those[plan.Route](of("c1.0.0", b.j.events()))
	if len(routes) != 1 || routes[0] != (plan.Route{For: "task", Model: "helper", Why: "the model that is set for sub-agents"}) {
		t.Errorf("recorded %+v", routes)
	}
	balanced(t, b.j.events())
}

// TestASummaryIsPaidFromWhatIsLeft, by the model that writes it.
func TestASummaryIsPaidFromWhatIsLeft(t *testing.T) {
	t.Parallel()
	var summaries []loop.Call
	play := func(_ int, call loop.Call) (loop.Answer, error) {
		if len(call.Tools) == 0 {
			summaries = append(summaries, call)
			ans := says("Known: pages were read.")
			ans.Usage = plan.Usage{Requests: 1, Input: 500, Output: 50}
			return ans, nil
		}
		ans := looks(countCalls(call.Messages))
		ans.Message.Blocks = append(ans.Message.Blocks, plan.Block{Type: plan.BlockText, Text: strings.Repeat("Indeed. ", 700)})
		return ans, nil
	}
	b, _ := played(t, play, page(6000))
	b.cfg.Window, b.cfg.Compaction, b.cfg.Limits.Turns = 16_000, loop.CompactFull, 14
	b.cfg.Headers = map[string]string{"X-Plan-Phase": "implement"}
	b.cfg.SummaryModel, b.cfg.SummaryWhy = "cheap", "@cheap"
	b.cfg.Price = func(model string, u plan.Usage) (float64, bool) {
		if model != "cheap" {
			return 0, false
		}
		return float64(u.Requests) / 2, true
	}
	b.run("Go.")
	if len(summaries) == 0 || summaries[0].Model != "cheap" || summaries[0].Headers["X-Plan-Phase"] != "compact" {
		t.Fatalf("asked for %d summaries", len(summaries))
	}
	paid := 0
	for _, u := range those[plan.UsageReport](b.j.events()) {
		if u.Model == "cheap" && u.Priced {
			paid++
		}
	}
	if routes := those[plan.Route](b.j.events()); paid != len(summaries) || len(routes) != paid || routes[0] != (plan.Route{For: "compact", Model: "cheap", Why: "@cheap"}) {
		t.Errorf("%d summaries, %d paid, recorded %+v", len(summaries), paid, routes)
	}
	balanced(t, b.j.events())

	summaries = nil
	poor, _ := played(t, play, page(6000))
	poor.cfg = b.cfg
	poor.cfg.Emit = poor.j.emit
	poor.cfg.Limits.CostUSD = 0.4
	poor.run("Go.")
	got := compactions(poor.j.events())
	if len(summaries) != 0 || len(got) == 0 || !strings.Contains(got[0].Error, "limit on cost leaves too little") {
		t.Errorf("%d summaries, %+v", len(summaries), got)
	}
	balanced(t, poor.j.events())
}

// TestTheBudgetHoldsWhereACallIsMadeAgain: what failed has cost something too.
func TestTheBudgetHoldsWhereACallIsMadeAgain(t *testing.T) {
	t.Parallel()
	b, p := played(t, func(int, loop.Call) (loop.Answer, error) {
		return loop.Answer{}, &loop.ModelError{Kind: loop.ErrServed, Message: "broke off", Usage: plan.Usage{Input: 1000, Output: 500}}
	})
	b.cfg.Limits.CostUSD, b.cfg.Price = 6, dollars
	end, err := b.loop().Run(context.Background(), plan.UserText("Go."))
	if err != nil || end.Reason != loop.Limited || end.Limit.Kind != "cost" || end.Limit.Value != 3 || len(p.calls) != 1 {
		t.Errorf("ended with %+v, %v after %d calls", end, err, len(p.calls))
	}
	if ends := those[plan.TurnEnd](b.j.events()); len(ends) != 1 || ends[0].Reason != plan.EndLimit {
		t.Errorf("the turn ended as %+v", ends)
	}
	balanced(t, b.j.events())
}
