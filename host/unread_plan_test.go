package host_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
)

// TestWhatIsSaidBeforeAPlanIsTheEnd: a run that ends with its plan does not end while
// a person's words wait, and the planner hears them, in real phases.
func TestWhatIsSaidBeforeAPlanIsTheEnd(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]host.Kind{"a follow-up": host.FollowUp, "guidance": host.Steer} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := hosttest.New(t)
			h := host.New(world.Config)
			defer h.Close()
			said, heard := false, false
			var moves []string
			show := func(ev plan.Event) {
				switch b := ev.Body.(type) {
				case plan.MessageEnd:
					last := b.Role == plan.RoleAssistant && len(b.Calls()) == 0
					if last && ev.Phase == plan.Plan && !said {
						said = true
						if _, err := h.Tell(t.Context(), ev.Run, host.Letter{Kind: kind, Text: "And mind the gap"}); err != nil {
							t.Error(err)
						}
					}
					heard = heard || ev.Phase == plan.Plan && b.Role == plan.RoleUser && strings.Contains(b.Text(), "mind the gap")
				case plan.StateChange:
					moves = append(moves, b.Event)
				}
			}
			r := host.Request{
				Dir:      world.Repo,
				Text:     "Make greet.sh say hello",
				PlanOnly: true,
			}
			end, err := h.Run(t.Context(), r, host.Face{Show: show})
			if err != nil || end.Parked != nil || end.State != plan.Planned {
				t.Fatalf("%+v, %v", end, err)
			}
			if !said || !heard || !slices.Contains(moves, "plan_only") {
				t.Errorf("it was said (%t) and heard (%t); the run went by %q", said, heard, moves)
			}
		})
	}
}

// TestAnApprovedPlanWaitsForWhatWasSaid: where something was said after the plan was
// made, a yes to it does not end a run that ends with its plan: it is written anew.
func TestAnApprovedPlanWaitsForWhatWasSaid(t *testing.T) {
	t.Parallel()
	world := hosttest.New(t)
	h := host.New(world.Config)
	defer h.Close()
	var moves []string
	face := host.Face{Show: func(ev plan.Event) {
		if b, ok := ev.Body.(plan.StateChange); ok {
			moves = append(moves, b.Event)
		}
	}}
	yes := true
	r := host.Request{
		Dir:      world.Repo,
		Text:     "Make greet.sh say hello",
		PlanOnly: true,
	}
	r.Settings.ApprovePlan = &yes
	end, err := h.Run(t.Context(), r, face)
	if err != nil || end.Parked == nil {
		t.Fatalf("%+v, %v", end, err)
	}
	if _, err := h.Tell(t.Context(), end.Run, host.Letter{Kind: host.FollowUp, Text: "And mind the gap"}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second yes is to what answers it
		if _, err := h.Decide(t.Context(), end.Run, host.Decision{Approve: true}); err != nil {
			t.Fatal(err)
		}
		if end, err = h.Resume(t.Context(), end.Run, host.Options{}, face); err != nil {
			t.Fatal(err)
		}
	}
	if want := "explore report revise plan_only"; end.State != plan.Planned || strings.Join(moves, " ") != want {
		t.Errorf("%s, it went by %q", end.State, moves)
	}
}
