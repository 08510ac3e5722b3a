package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/costs"
)

// spent is a call of a model in a phase.
func spent(phase plan.Phase, attempt int, conv, parent string, b plan.UsageReport) plan.Event {
	b.Usage.Requests = 1
	return plan.Event{Run: storyRun, Phase: phase, Attempt: attempt, Conv: conv, Parent: parent, Body: b}
}

// spentStory is a run with a bit of everything: two models, a sub-agent, a
// summary, a second attempt, a cost that the server said, and one not known.
func spentStory() []plan.Event {
	in := func(conv string, b plan.Body) plan.Event {
		return plan.Event{Run: storyRun, Phase: plan.Implement, Attempt: 1, Conv: conv, Body: b}
	}
	priced := func(model string, u plan.Usage, usd float64) plan.UsageReport {
		return plan.UsageReport{Model: model, Usage: u, CostUSD: usd, Priced: true}
	}
	said := priced("r/m", plan.Usage{Input: 500, Output: 20}, 0.0123)
	said.Reported = true
	claude := plan.Usage{Input: 10_000, Cached: 6000, Written: 1500, WrittenHour: 2500, Output: 300}
	return []plan.Event{
		spent(plan.Explore, 1, "c1", "", priced("a/m", plan.Usage{Input: 2000, Cached: 500, Output: 100}, 0.004)),
		spent(plan.Explore, 1, "s1", "c1", priced("b/small", plan.Usage{Input: 900, Output: 90}, 0.001)),
		spent(plan.Explore, 1, "c1", "", priced("a/m", plan.Usage{Input: 2000, Cached: 1500, Output: 100}, 0.003)),
		spent(plan.Implement, 1, "c2", "", priced("a/m", claude, 0.03)),
		spent(plan.Implement, 1, "s2", "c2", plan.UsageReport{Model: "local", Usage: plan.Usage{Input: 100, Output: 10}}),
		in("c2", plan.CompactionStart{Tokens: 9000, Window: 10_000}),
		spent(plan.Implement, 1, "c2", "", priced("a/m", plan.Usage{Input: 3000, Output: 200}, 0.02)),
		in("c2", plan.CompactionEnd{Before: 9000, After: 2000}),
		spent(plan.Implement, 1, "c2", "", priced("a/m", claude, 0.03)),
		spent(plan.Review, 1, "c3", "", said),
		spent(plan.Review, 2, "c4", "", priced("r/m", plan.Usage{Input: 500, Output: 20}, 0.01)),
	}
}

func costsOf(events []plan.Event) *costs.Costs {
	var c costs.Costs
	for _, e := range events {
		c.Add(e)
	}
	return &c
}

func TestWriteCosts(t *testing.T) {
	t.Parallel()
	inherited := spent(plan.Explore, 1, "c1", "", plan.UsageReport{
		Model:     "a/m",
		Usage:     plan.Usage{Input: 7000, Output: 70},
		CostUSD:   0.5,
		Priced:    true,
		Inherited: true,
	})
	for name, test := range map[string]struct {
		opts   Options
		events []plan.Event
	}{
		"costs.txt":           {Options{}, spentStory()},
		"costs_ascii.txt":     {Options{ASCII: true}, spentStory()[9:]},
		"costs_inherited.txt": {Options{}, append([]plan.Event{inherited}, spentStory()[0])},
		"costs_none.txt":      {Options{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if err := WriteCosts(&out, costsOf(test.events), test.opts); err != nil {
				t.Fatal(err)
			}
			checkGolden(t, name, out.String())
		})
	}
}

// What a run cost is the same by phase, by model and in its summary.
func TestCostsAddUp(t *testing.T) {
	t.Parallel()
	c, tally := costsOf(spentStory()), tallyOf(spentStory())
	total := c.Total()
	var models costs.Row
	for _, row := range c.Models() {
		row.Model = ""
		models = models.Plus(row)
	}
	same := cmpopts.EquateApprox(0, 1e-12)
	if diff := cmp.Diff(total, models, same); diff != "" {
		t.Errorf("by phase and by model (-phase +model):\n%s", diff)
	}
	if diff := cmp.Diff(tally.Usage, total.Usage); diff != "" || !cmp.Equal(tally.Cost, total.USD, same) {
		t.Errorf("the summary has $%v, the table $%v (-summary +table):\n%s", tally.Cost, total.USD, diff)
	}
	if total.Calls != 9 || total.ServerPriced != 1 || total.Unpriced != 1 || total.Reported != 0.0123 {
		t.Errorf("%+v", total)
	}
}
