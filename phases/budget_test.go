package phases_test

import (
	"encoding/json"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/tokens"
)

// TestToolsOfImplementFitTheirBudget: every request carries what is said of the
// tools, so that a word there is paid for in each turn. Counted are the bytes that go
// over the wire: names, quotes and brackets cost tokens as words do.
func TestToolsOfImplementFitTheirBudget(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\nrefusal = \"no\"\n", nil)
	if _, err := b.run(briefFor(plan.Implement, 1)); err != nil {
		t.Logf("%v", err) // the request is sent all the same
	}
	sent := b.requests()[0].raw["tools"]
	var each []json.RawMessage
	if err := json.Unmarshal(sent, &each); err != nil {
		t.Fatal(err)
	}
	var counter tokens.Counter
	for _, tool := range each {
		t.Logf("%5d %.50s", counter.Count(string(tool)), tool)
	}
	sum := counter.Count(string(sent))
	t.Logf("%5d in all", sum)
	if budget := int64(1660); sum == 0 || sum >= budget {
		t.Errorf("the tools of Implement take %d tokens of each request; fewer than %d are the budget", sum, budget)
	}
}

// TestFirstMessagesFitTheirBudgets: what a phase is told, apart from the request and
// from what others found, is sent with each of its requests.
func TestFirstMessagesFitTheirBudgets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		phase  plan.Phase
		way    string
		budget int64 // bytes
	}{
		{plan.Explore, plan.WayFull, 1650},
		{plan.Explore, plan.WayAuto, 3850},
		{plan.Explore, plan.WayShort, 2800},
		{plan.Plan, plan.WayFull, 2450},
		{plan.Implement, plan.WayFull, 2000},
		{plan.Review, plan.WayFull, 3750},
		{plan.Critique, plan.WayFull, 1150},
	} {
		b := setup(t, "[[reply]]\nrefusal = \"no\"\n", nil)
		b.cfg.Way = test.way
		if _, err := b.run(briefFor(test.phase, 1)); err != nil {
			t.Logf("%s: %v", test.phase, err) // it is sent all the same
		}
		var told int64
		for _, ev := range b.events() {
			if r, ok := ev.Body.(plan.Request); ok && r.Whole {
				for _, p := range r.Parts {
					if p.Kind == plan.PartInstructions {
						told = p.Bytes
					}
				}
				break
			}
		}
		t.Logf("%s by the way %s: %d", test.phase, test.way, told)
		if told == 0 || told > test.budget {
			t.Errorf("%s by the way %s is told %d bytes; %d are the budget", test.phase, test.way, told, test.budget)
		}
	}
}
