package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/eventcases"
)

// TestNoEventIsForgotten: what is neither told in a way of its own nor left to others is
// told by its headline.
func TestNoEventIsForgotten(t *testing.T) {
	t.Parallel()
	show := func(ev plan.Event) string {
		tell := newTelling(&session{})
		tell.out.sending = true // so that all of it waits
		tell.show(ev)
		data, err := json.Marshal(tell.out.waiting)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimPrefix(string(data), "null")
	}
	for _, name := range eventcases.Unshown(t, eventcases.Named(t, "telling.show"), show) {
		t.Errorf("telling.show forgets %s", name)
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
