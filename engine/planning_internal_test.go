package engine

import (
	"testing"

	"github.com/plan-engine/plan"
)

// TestRemarksAreAnswered: what was to change about a plan is said to the model that
// writes the next one, and to none after that.
func TestRemarksAreAnswered(t *testing.T) {
	t.Parallel()
	for by, said := range map[string][]plan.Body{
		"critique": {plan.Critiqued{Version: 1, Findings: "smaller"}},
		"person": {
			plan.ApprovalRequired{Call: "plan-1", Name: plan.PlanTool},
			plan.ApprovalResolved{Call: "other", Reason: "a call of a tool", By: "person"},
			plan.ApprovalResolved{Call: "plan-1", Reason: "smaller", By: "person"},
		},
	} {
		run := &Run{}
		for _, body := range said {
			run.Apply(plan.Event{Body: body})
		}
		if run.remarksBy != by || run.remarks != "smaller" {
			t.Errorf("%q by %q, want it by %q", run.remarks, run.remarksBy, by)
		}
		run.Apply(plan.Event{Body: plan.PlanMade{PlanDoc: plan.PlanDoc{Version: 2}}})
		if run.remarks != "" || run.remarksBy != "" {
			t.Errorf("%q by %q is left", run.remarks, run.remarksBy)
		}
	}
}
