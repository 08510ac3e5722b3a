package engine

import (
	"slices"

	"github.com/plan-engine/plan"
)

// lostWords is the result of a tool call whose real one is not recorded any more.
const lostWords = "The run ended while this call was running, so its outcome is unknown: it may have done all, " +
	"part or none of its work."

// openConv is a conversation that has not ended. Between two of its turns a run can still
// be gone on with, so it is no part of what is open.
type openConv struct {
	start plan.Event
	end   plan.ConvEnd // so far
}

// openConv is the conversation of this name that has not ended, nil for none.
func (r *Run) openConv(conv string) *openConv {
	for _, c := range r.openConvs {
		if c.start.Conv == conv {
			return c
		}
	}
	return nil
}

// trackOpen remembers what was started inside a phase and has not ended.
func (r *Run) trackOpen(ev plan.Event) {
	switch b := ev.Body.(type) {
	case plan.ConvStart:
		r.openConvs = append(r.openConvs, &openConv{start: ev})
	case plan.ConvEnd:
		r.openConvs = slices.DeleteFunc(r.openConvs, func(c *openConv) bool { return c.start.Conv == ev.Conv })
	case plan.UsageReport:
		if c := r.openConv(ev.Conv); c != nil && !b.Inherited {
			c.end.Usage, c.end.CostUSD = c.end.Usage.Add(b.Usage), c.end.CostUSD+b.CostUSD
		}
	case plan.TurnStart, plan.MessageStart, plan.ToolStart, plan.CheckStart:
		r.open = append(r.open, ev)
	case plan.TurnEnd:
		r.close(ev.Conv, func(s plan.Body) bool { return s.Type() == plan.TypeTurnStart })
	case plan.MessageEnd:
		r.close(ev.Conv, func(s plan.Body) bool { return s == plan.MessageStart{Role: b.Role} })
		if c := r.openConv(ev.Conv); c != nil && b.Role == plan.RoleAssistant && !b.Discarded {
			c.end.Turns++
		}
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
	for _, c := range slices.Backward(r.openConvs) {
		ev := c.start
		if !wanted(ev.Body) {
			continue
		}
		end := c.end
		end.Reason = reason
		ev.Seq, ev.Body = 0, end
		out = append(out, ev)
	}
	return out
}
