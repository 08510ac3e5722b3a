package loop

import (
	"context"

	"github.com/plan-engine/plan"
)

// stretch is a conversation from where it begins or goes on to where it ends or is laid
// down. It begins with the first thing that an entry point records, and ends in the
// commit of the last.
type stretch struct {
	open bool
	from int          // messages that it goes on from
	end  plan.ConvEnd // so far
}

// pay counts what a request of the stretch used.
func (s *stretch) pay(used plan.Usage, usd float64) {
	s.end.Usage, s.end.CostUSD = s.end.Usage.Add(used), s.end.CostUSD+usd
}

// beginConv puts the beginning before what is recorded next, if the conversation has
// not begun.
func (l *Loop) beginConv() {
	if l.conv.open {
		return
	}
	l.conv.open = true
	start := l.event(plan.ConvStart{Model: l.cfg.Name, Messages: l.conv.from})
	start.Turn = nil
	l.queue = append([]plan.Event{start}, l.queue...)
}

// endConv ends the conversation as an entry point hands it back, and commits what is
// left. Nothing ends that has not begun, or of which there is another turn to run.
func (l *Loop) endConv(ctx context.Context, end End, failed error) error {
	if l.dead != nil || !l.conv.open && len(l.queue) == 0 {
		return l.dead
	}
	reason := string(end.Reason)
	switch {
	case failed != nil && ctx.Err() != nil:
		reason = plan.EndCancelled
	case failed != nil:
		reason = plan.EndError
	case end.Reason == More:
		return l.flush(ctx)
	}
	l.conv.end.Reason = reason
	ev := l.event(l.conv.end)
	ev.Turn = nil
	l.queue = append(l.queue, ev)
	err := l.flush(ctx)
	l.conv = stretch{}
	return err
}
