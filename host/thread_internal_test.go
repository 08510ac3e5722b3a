package host

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/hint"
)

// TestAThreadIsAppliedWhereAllOfItWasApproved: a change that no review has seen comes
// along with no later run, unless a person says so.
func TestAThreadIsAppliedWhereAllOfItWasApproved(t *testing.T) {
	t.Parallel()
	run := func(id plan.RunID, s plan.State, files int) *engine.Run {
		return &engine.Run{ID: id, State: s, Outcome: &plan.RunEnd{Outcome: s, Diff: plan.DiffStat{Files: files}}}
	}
	parked := &engine.Run{ID: "PARKED", State: plan.Implementing}
	last := run("LAST", plan.Exhausted, 1) // of which RequireApproved speaks
	for name, c := range map[string]struct {
		thread Thread
		anyway bool
		names  string // the run that is in the way, "" for none
	}{
		"all of it":              {Thread{run("A", plan.Approved, 2), run("B", plan.Approved, 1), last}, false, ""},
		"one that changed not":   {Thread{run("A", plan.Failed, 0), run("B", plan.Exhausted, 0), last}, false, ""},
		"one that was exhausted": {Thread{run("A", plan.Approved, 2), run("B", plan.Exhausted, 1), last}, false, "B"},
		"one that is not over":   {Thread{parked, last}, false, "PARKED"},
		"all the same":           {Thread{run("A", plan.Failed, 2), parked, last}, true, ""},
	} {
		err := requireThreadApproved(c.thread, c.anyway)
		switch {
		case c.names == "" && err == nil:
		case c.names == "" || err == nil || !strings.Contains(err.Error(), c.names) ||
			!strings.Contains(hint.Of(err), "plan diff LAST --thread"):
			t.Errorf("%s: %v", name, err)
		}
	}
}
