package acp

import (
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/eventcases"
)

// TestNoEventIsForgotten: each type is told, or named among those that are not.
func TestNoEventIsForgotten(t *testing.T) {
	t.Parallel()
	for _, name := range eventcases.Forgotten(t, plan.EventTypes(), "telling.show") {
		t.Errorf("telling.show forgets %s: tell it there, or name it among those not told", name)
	}
}

// TestSteps: the entries are the plan's steps, in their order, and move on with the
// files that calls change.
func TestSteps(t *testing.T) {
	t.Parallel()
	var s steps
	doc := plan.PlanMade{PlanDoc: plan.PlanDoc{
		Text:  "# Plan\n\n## Steps\n1. In `a.go`, add x.\n   More of it.\n2. In `b.go`, use x.\n\n## Verify\n1. not a step\n",
		Files: map[string]string{"a.go": "", "b.go": ""},
	}}
	s.see(plan.Event{Body: doc})
	s.see(plan.Event{Body: plan.StateChange{To: plan.Implementing}})
	change := plan.ToolStart{Intent: &plan.Intent{Files: []plan.FileChange{{Path: "b.go"}}}}
	if !s.see(plan.Event{Body: change}) || s.see(plan.Event{Body: change}) {
		t.Error("a call that changes b.go moves on to its step, once")
	}
	var got string
	for _, e := range s.entries() {
		got += string(e.Status) + ": " + e.Content + "\n"
	}
	want := "completed: In `a.go`, add x.\nin_progress: In `b.go`, use x.\npending: Review\n"
	if got != want {
		t.Errorf("the entries are\n%swant\n%s", got, want)
	}
}
