package engine

import (
	"slices"

	"github.com/plan-engine/plan"
)

// lostWords is the result of a tool call whose real one is not recorded any more.
const lostWords = "The run ended while this call was running, so its outcome is unknown: it may have done all, " +
	"part or none of its work."

// trackOpen remembers what was started inside a phase and has not ended.
func (r *Run) trackOpen(ev plan.Event) {
	switch b := ev.Body.(type) {
	case plan.TurnStart, plan.MessageStart, plan.ToolStart, plan.CheckStart:
		r.open = append(r.open, ev)
	case plan.TurnEnd:
		r.close(ev.Conv, func(s plan.Body) bool { return s.Type() == plan.TypeTurnStart })
	case plan.MessageEnd:
		r.close(ev.Conv, func(s plan.Body) bool { return s == plan.MessageStart{Role: b.Role} })
	case plan.ToolEnd:
		r.close(ev.Conv, func(s plan.Body) bool { t, ok := s.(plan.ToolStart); return ok && t.Call == b.Call })
	case plan.CheckEnd:
		r.close("", func(s plan.Body) bool { c, ok := s.(plan.CheckStart); return ok && c.Command == b.Command })
	}
}

// close forgets the oldest start of a conversation that fits; "" is any.
func (r *Run) close(conv string, fits func(plan.Body) bool) {
	matches := func(ev plan.Event) bool { return (conv == "" || ev.Conv == conv) && fits(ev.Body) }
	if i := slices.IndexFunc(r.open, matches); i >= 0 {
		r.open = slices.Delete(r.open, i, i+1)
	}
}

// checking reports whether the check was begun and has not ended.
func (r *Run) checking(command string) bool {
	return slices.ContainsFunc(r.open, func(ev plan.Event) bool {
		c, ok := ev.Body.(plan.CheckStart)
		return ok && c.Command == command
	})
}

// endOpen closes the starts that wanted chooses, the latest first, where the
// run goes no further: a process was killed between start and end.
func (r *Run) endOpen(reason string, wanted func(plan.Body) bool) []plan.Event {
	var out []plan.Event
	for _, ev := range slices.Backward(r.open) {
		if !wanted(ev.Body) {
			continue
		}
		switch b := ev.Body.(type) {
		case plan.TurnStart:
			ev.Body = plan.TurnEnd{Reason: reason}
		case plan.MessageStart:
			ev.Body = plan.MessageEnd{Message: plan.Message{Role: b.Role, Blocks: []plan.Block{}}, Discarded: true}
		case plan.ToolStart:
			ev.Body = plan.ToolEnd{
				Call:   b.Call,
				Name:   b.Name,
				Error:  true,
				Output: lostWords,
				Status: "unknown",
			}
		case plan.CheckStart:
			ev.Body = plan.CheckEnd{CheckResult: plan.CheckResult{
				Check:     b.Check,
				Baseline:  b.Baseline,
				ExitCode:  -1,
				Cancelled: true,
			}}
		}
		ev.Seq, ev.Blobs = 0, nil
		out = append(out, ev)
	}
	return out
}
