package phases

import (
	"context"
	"encoding/json"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// another is what becomes of a phase's wish for another plan.
type another struct {
	evidence string // why it wants one, "" where it does not
	used     bool   // the run has had its one wish
}

// newAnother is the wish as the journal has it. Where it was granted the phase was
// cut off before it ended, for the conversation ends with it.
func newAnother(b plan.Brief) *another {
	a := &another{used: b.Asked}
	calls := map[string]json.RawMessage{}
	for _, ev := range b.Past {
		switch body := ev.Body.(type) {
		case plan.ToolStart:
			if body.Name == plan.ReplanTool {
				calls[body.Call] = body.Args
			}
		case plan.ToolEnd:
			var args struct {
				Evidence string `json:"evidence"`
			}
			if body.Name == plan.ReplanTool && !body.Error && json.Unmarshal(calls[body.Call], &args) == nil {
				a.evidence = args.Evidence
			}
		}
	}
	return a
}

// ask is behind the tool.
func (a *another) ask(evidence string) bool {
	if a.used {
		return false
	}
	a.used, a.evidence = true, evidence
	return true
}

// hooks end the conversation before its next turn, whatever was called beside it.
func (a *another) hooks() loop.Hooks {
	return loop.Hooks{TurnStart: func(context.Context, int) string {
		if a.evidence == "" {
			return ""
		}
		return "another plan is made"
	}}
}

// replacedPlan shows a reviewer the plan that was given up for the one it has.
func replacedPlan(b plan.Brief) string {
	if b.Earlier == nil {
		return ""
	}
	return "It took the place of an earlier plan, of which some may have been carried out, and this was said to be " +
		"wrong with that one. It is one side's word: where the request rests on it, try it.\n\n" +
		fence("earlier-plan", "", b.Earlier.Text) + "\n\n" + givenUpBecause(b)
}

// givenUpBecause says why a plan was given up.
func givenUpBecause(b plan.Brief) string { return fence("given-up-because", "", b.Replan) }
