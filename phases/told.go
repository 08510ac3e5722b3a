package phases

import (
	"slices"

	"github.com/plan-engine/plan"
)

// told counts the prompts of this attempt that were recorded. The frozen
// conversation that Explore starts from is recorded in one commit with its
// prompt, and is no prompt.
//
// Judged is the last prompt, from 0, whose answer the phase parked over: a
// process that goes on after that asks again, whatever was asked before it.
func told(b plan.Brief) (prompts, judged int) {
	frozen, answered := 0, false
	if b.Phase == plan.Explore {
		frozen = len(slices.DeleteFunc(slices.Clone(b.Context), func(m plan.Message) bool { return !isPrompt(m) }))
	}
	for _, ev := range b.Past {
		switch body := ev.Body.(type) {
		case plan.MessageEnd:
			if isPrompt(body.Message) && ev.Attempt == b.Attempt {
				prompts++
			}
			answered = body.Role == plan.RoleAssistant && !body.Discarded && len(body.Calls()) == 0
		case plan.Parked:
			if answered && (body.Reason == plan.ParkRefused || body.Reason == plan.ParkLimit) {
				judged = prompts - frozen - 1
			}
		}
	}
	return max(prompts-frozen, 0), max(judged, 0)
}

func isPrompt(m plan.Message) bool { return m.Role == plan.RoleUser && m.Origin == "" }
