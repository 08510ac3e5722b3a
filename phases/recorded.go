package phases

import (
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// recordedPrompts counts the prompts of this attempt that were recorded. The frozen
// conversation that Explore starts from is recorded in one commit with its
// prompt, and is no prompt.
//
// Judged is the last prompt, from 0, whose answer the phase parked over: a
// process that goes on after that asks again, whatever was asked before it.
func recordedPrompts(b plan.Brief) (prompts, judged int) {
	frozen := len(slices.DeleteFunc(slices.Clone(b.Context), func(m plan.Message) bool { return !isPrompt(m) }))
	answered := false
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

// recordedPromptIs reports whether the n-th prompt of this attempt was this text.
func (s *session) recordedPromptIs(n int, text string) bool {
	prompts := 0
	for _, ev := range s.brief.Past {
		m, ok := ev.Body.(plan.MessageEnd)
		if !ok || !isPrompt(m.Message) || ev.Attempt != s.brief.Attempt {
			continue
		}
		if prompts == n {
			return m.Text() == text
		}
		prompts++
	}
	return false
}

// answered is what the model said to the n-th prompt of this attempt, as the
// journal has it.
func answered(b plan.Brief, n int) loop.End {
	end := loop.End{Reason: loop.Completed}
	prompts := 0
	for _, ev := range b.Past {
		m, ok := ev.Body.(plan.MessageEnd)
		switch {
		case !ok || m.Discarded || ev.Attempt != b.Attempt:
		case isPrompt(m.Message):
			prompts++
		case m.Role == plan.RoleAssistant && prompts == n+1:
			end.Text, end.Cut = m.Text(), m.Stop == string(loop.StopLength)
		}
	}
	return end
}
