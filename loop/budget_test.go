package loop_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

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
	routes := those[plan.Route](b.j.events())
	want := plan.Route{For: "compact", Model: "cheap", Why: "@cheap"}
	if paid != len(summaries) || len(routes) != paid || routes[0] != want {
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

// TestASmallModelSummarisesWhatItTakes, whether its window is known before or is
// learnedWindow from its refusal.
func TestASmallModelSummarisesWhatItTakes(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]int64{"it is known": 4000, "it is learnt": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused, took := 0, 0
			b, _ := played(t, func(_ int, call loop.Call) (loop.Answer, error) {
				switch size := sizeOf(call); {
				case call.Model != "m" && size > 4000:
					refused++
					return loop.Answer{}, tooLong(4000)
				case call.Model != "m":
					took++
					return says("Known: pages were read."), nil
				}
				ans := looks(countCalls(call.Messages))
				ans.Message.Blocks = append(ans.Message.Blocks, plan.Block{Type: plan.BlockText, Text: strings.Repeat("Indeed. ", 700)})
				return ans, nil
			}, page(6000))
			b.cfg.Window, b.cfg.Compaction, b.cfg.Limits.Turns = 48_000, loop.CompactFull, 20
			b.cfg.SummaryModel = "small"
			b.cfg.WindowOf = func(model string) int64 { return map[string]int64{"small": known}[model] }
			b.run("Go.")
			if took == 0 || (known > 0) != (refused == 0) {
				t.Errorf("%d summaries, and %d refused", took, refused)
			}
		})
	}
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

// TestSubAgentsSpendTheSameMoneyOnce: those that work at the same time see what
// the others are about to spend, and wait for what they leave.
func TestSubAgentsSpendTheSameMoneyOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		usd     float64
		used    int64 // output tokens of each
		helpers int   // that get an answer
		alone   bool
	}{
		{"enough for both", 200, 100, 2, false},
		{"enough for one after the other", 13, 100, 2, true},
		{"enough for one", 13, 2500, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			team := &team{used: c.used}
			b, _ := played(t, nil, loop.SubAgent(loop.Delegate{}))
			b.cfg.Model, b.cfg.Price, b.cfg.Limits.CostUSD = team, dollars, c.usd
			var end loop.End
			synctest.Test(t, func(*testing.T) {
				if !c.alone {
					team.pair = new(sync.WaitGroup)
					team.pair.Add(2)
				}
				end = b.run("Go.")
			})
			if team.most > 1 == c.alone || team.helpers != c.helpers {
				t.Errorf("%d helpers, %d at once; ended with %+v", team.helpers, team.most, end)
			}
			var cost float64
			for _, u := range those[plan.UsageReport](b.j.events()) {
				cost += u.CostUSD
			}
			if cost > c.usd {
				t.Errorf("spent %f of %f", cost, c.usd)
			}
			balanced(t, b.j.events())
		})
	}
}

// team is a model that gives two tasks away and answers them.
type team struct {
	mu      sync.Mutex
	pair    *sync.WaitGroup // of helpers that are to be asked at the same time; nil: none are
	used    int64           // output tokens of each
	helpers int
	now     int
	most    int
}

// Generate implements loop.Model.
func (m *team) Generate(_ context.Context, call loop.Call, _ func(loop.Delta)) (loop.Answer, error) {
	if len(call.Tools) > 0 {
		if len(call.Messages) > 1 {
			return says("Done."), nil
		}
		ans := answered(
			plan.Block{Type: plan.BlockToolCall, Call: "t1", Name: "task", Args: `{"task":"one"}`},
			plan.Block{Type: plan.BlockToolCall, Call: "t2", Name: "task", Args: `{"task":"two"}`},
		)
		ans.Usage = plan.Usage{Requests: 1, Output: 100}
		return ans, nil
	}
	m.count(1)
	defer m.count(-1)
	if m.pair != nil {
		m.pair.Done()
		m.pair.Wait()
	} else {
		synctest.Wait() // until the other one is asked, or waits for money
	}
	ans := says("One.")
	ans.Usage.Output = m.used
	if most := call.Settings.MaxOutputTokens; most > 0 {
		ans.Usage.Output = min(m.used, int64(most))
	}
	return ans, nil
}

// count notes that a helper is being answered, or no longer.
func (m *team) count(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now += n
	m.most = max(m.most, m.now)
	m.helpers += max(n, 0)
}
