package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// TestAConversationThatWasCutOffEndsWithItsRun: with what it had used, the inner one
// first. Between two turns the run can be gone on with all the same.
func TestAConversationThatWasCutOffEndsWithItsRun(t *testing.T) {
	t.Parallel()
	r := &Run{State: plan.Reviewing, phaseOpen: true}
	in := func(conv string, bodies ...plan.Body) {
		for _, b := range bodies {
			r.trackOpen(plan.Event{Seq: 7, Conv: conv, Body: b})
		}
	}
	used := plan.UsageReport{Usage: plan.Usage{Requests: 1, Input: 5}, CostUSD: 0.5}
	answer := plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant}}
	in("c0", plan.ConvStart{}, used, plan.ConvEnd{})
	in("c1", plan.ConvStart{}, used, answer, plan.TurnStart{}, plan.TurnEnd{})
	in("c1.0.0", plan.ConvStart{}, used)
	in("c1", used)
	inherited := used
	inherited.Inherited = true
	in("c1", inherited)
	if !r.Boundary(plan.Event{Body: plan.TurnEnd{}}) {
		t.Error("an open conversation keeps the run from being gone on with")
	}
	want := []plan.Event{
		{Conv: "c1.0.0", Body: plan.ConvEnd{Reason: "cancelled", Usage: used.Usage, CostUSD: 0.5}},
		{Conv: "c1", Body: plan.ConvEnd{
			Reason:  "cancelled",
			Turns:   1,
			Usage:   used.Usage.Add(used.Usage),
			CostUSD: 1,
		}},
	}
	if diff := cmp.Diff(want, r.endOpen(plan.EndCancelled, func(plan.Body) bool { return true })); diff != "" {
		t.Error(diff)
	}
}
