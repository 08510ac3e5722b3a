package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
)

// legal is the workflow once more, by hand: from, event, to.
var legal = map[[2]string]plan.State{
	{"new", "explore"}:         plan.Exploring,
	{"new", "implement"}:       plan.Implementing,
	{"new", "review"}:          plan.Reviewing,
	{"exploring", "report"}:    plan.Planning,
	{"exploring", "answer"}:    plan.QuestionAnswered,
	{"exploring", "fail"}:      plan.Failed,
	{"exploring", "cancel"}:    plan.Cancelled,
	{"planning", "revise"}:     plan.Planning,
	{"planning", "plan"}:       plan.Implementing,
	{"planning", "plan_only"}:  plan.Planned,
	{"planning", "fail"}:       plan.Failed,
	{"planning", "cancel"}:     plan.Cancelled,
	{"implementing", "built"}:  plan.Reviewing,
	{"implementing", "replan"}: plan.Planning,
	{"implementing", "fail"}:   plan.Failed,
	{"implementing", "cancel"}: plan.Cancelled,
	{"reviewing", "approve"}:   plan.Approved,
	{"reviewing", "fix"}:       plan.Implementing,
	{"reviewing", "recheck"}:   plan.Implementing,
	{"reviewing", "replan"}:    plan.Planning,
	{"reviewing", "exhaust"}:   plan.Exhausted,
	{"reviewing", "block"}:     plan.Blocked,
	{"reviewing", "fail"}:      plan.Failed,
	{"reviewing", "cancel"}:    plan.Cancelled,
}

func TestEveryMove(t *testing.T) {
	t.Parallel()
	states := []plan.State{
		plan.Unstarted, plan.Exploring, plan.Planning, plan.Implementing, plan.Reviewing,
		plan.Approved, plan.Planned, plan.QuestionAnswered, plan.Exhausted, plan.Blocked, plan.Failed, plan.Cancelled, "", "nowhere",
	}
	events := []string{"", "nothing"}
	for _, m := range table() {
		events = append(events, m.event)
	}
	allowed := 0
	for _, at := range states {
		for _, event := range events {
			want, ok := legal[[2]string{string(at), event}]
			to, err := next(context.Background(), at, event)
			switch {
			case ok && (err != nil || to != want):
				t.Errorf("%s --%s--> %s, %v; want %s", at, event, to, err, want)
			case !ok && err == nil:
				t.Errorf("%s --%s--> %s is not legal", at, event, to)
			case !ok && (to != "" || !strings.Contains(err.Error(), string(at)) || !strings.Contains(err.Error(), event)):
				t.Errorf("%s --%s--> %q: %v names too little", at, event, to, err)
			}
			if ok {
				allowed++
			}
		}
	}
	if allowed != len(legal) {
		t.Errorf("%d of %d legal moves were tried", allowed, len(legal))
	}
}

// TestMovesDoNotMindCancellation: the machine of looplab/fsm stays between two
// states for good when its context is cancelled in the middle of a move.
func TestMovesDoNotMindCancellation(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	if to, err := next(ctx, plan.Reviewing, evApprove); err != nil || to != plan.Approved {
		t.Errorf("%s, %v", to, err)
	}
}

// TestEveryPhaseHasAStage: what the program knows as a phase is worked on in a
// state of its own, in the same order.
func TestEveryPhaseHasAStage(t *testing.T) {
	t.Parallel()
	var worked []plan.Phase
	for _, s := range stages() {
		worked = append(worked, s.state.Phase())
		if s.work == nil {
			t.Errorf("nothing is done in %s", s.state)
		}
	}
	if !slices.Equal(worked, plan.Phases()) {
		t.Errorf("the stages work on %v, and the phases are %v", worked, plan.Phases())
	}
	left := map[plan.State]bool{}
	for _, m := range table() {
		for _, from := range m.from {
			left[from] = true
		}
	}
	for _, s := range append(plan.ActiveStates(), plan.FinalStates()...) {
		if left[s] == s.Final() {
			t.Errorf("%s is final: %v, and a row leads out of it: %v", s, s.Final(), left[s])
		}
	}
}
