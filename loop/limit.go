package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
)

// stopAtLimit ends the loop because of a bound, and says so in the conversation.
func (l *Loop) stopAtLimit(ctx context.Context, hit plan.LimitHit) (End, error) {
	l.record(hit)
	l.notice(fmt.Sprintf("[stopped: the limit on %s was reached]", hit.Kind))
	end := l.ending(Limited)
	end.Limit = &hit
	return end, nil
}

// brokenLimit says which bound the next turn would break, if any.
func (l *Loop) brokenLimit() *plan.LimitHit {
	most, of := l.cfg.Limits.Turns, ""
	if own := l.cfg.Part.Limits.Turns; own > 0 {
		most, of = own, l.cfg.Part.Name
	}
	if most > 0 && l.used >= most {
		return &plan.LimitHit{
			Kind:  "turns",
			Value: float64(l.used),
			Max:   float64(most),
			Of:    of,
		}
	}
	if hit := l.account.Spent(); hit != nil {
		return hit
	}
	if hit := l.windowLimit(); hit != nil {
		return hit
	}
	return l.unaffordable()
}

// ending is the end of a loop as the conversation stands.
func (l *Loop) ending(reason EndReason) End {
	end := End{Reason: reason, Cut: l.last == StopLength}
	for i := len(l.messages) - 1; i >= 0; i-- {
		if m := l.messages[i]; m.Role == plan.RoleAssistant {
			end.Text = m.Text()
			break
		}
	}
	return end
}

// isDone reports whether the model has nothing left to do: it has called nothing, or has
// closed beside calls that all ended well.
func (l *Loop) isDone() bool {
	last := len(l.messages) - 1
	m := l.messages[last]
	if m.Role == plan.RoleAssistant {
		return len(m.Calls()) == 0
	}
	if m.Role != plan.RoleTool || last == 0 || l.cfg.Closes == nil || l.last == StopLength {
		return false
	}
	failed := slices.ContainsFunc(m.Blocks, func(b plan.Block) bool { return b.Error })
	said := l.messages[last-1]
	return !failed && said.Role == plan.RoleAssistant && l.cfg.Closes(said.Text())
}
