package phases_test

import (
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/tokens"
	"github.com/plan-engine/plan/sandbox"
)

// TestToolsOfImplementFitTheirBudget: every request carries what is said of the
// tools, so that a word there is paid for in each turn.
func TestToolsOfImplementFitTheirBudget(t *testing.T) {
	t.Parallel()
	shell, err := sandbox.New(sandbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	kit := newKit(t, shell)
	var counter tokens.Counter
	var sum int64
	for _, name := range kit.Offer[plan.Implement] {
		spec := kit.Tools[name]
		n := counter.Count(spec.Name) + counter.Count(spec.Description) + counter.Count(string(spec.Schema))
		t.Logf("%-12s %5d", name, n)
		sum += n
	}
	if budget := int64(2000); sum == 0 || sum >= budget {
		t.Errorf("the tools of Implement take %d tokens of each request; fewer than %d are the budget", sum, budget)
	}
}
