package loop

import (
	"context"
	"fmt"

	"github.com/plan-engine/plan"
)

// appendMessage puts a message from outside into the conversation.
func (l *Loop) appendMessage(m plan.Message) {
	if m.Origin != plan.OriginNotice {
		l.storm.Reset() // a person has spoken: what was no progress may be some now
		l.stuck = ""
	}
	l.messages = append(l.messages, m)
	l.record(plan.MessageStart{Role: m.Role}, plan.MessageEnd{Message: m})
}

// notice says something to the model, once.
func (l *Loop) notice(text string) {
	if n := len(l.messages); n > 0 && l.messages[n-1].Origin == plan.OriginNotice && l.messages[n-1].Text() == text {
		return
	}
	l.appendMessage(messageFrom(text, plan.OriginNotice))
}

// record queues events for the next commit.
func (l *Loop) record(bodies ...plan.Body) {
	for _, b := range bodies {
		l.queue = append(l.queue, l.event(b))
	}
}

// event puts an envelope around a body. Outside a turn it has no turn number.
func (l *Loop) event(b plan.Body) plan.Event {
	ev := plan.Event{
		Run:    l.cfg.Run,
		Conv:   l.cfg.Conv,
		Parent: l.cfg.Parent,
		Body:   b,
	}
	if l.open.started {
		ev.Turn = new(l.turn)
	}
	return ev
}

// flush commits what is queued. Once that failed, nothing is recorded any more:
// what the failed commit left behind is not known.
func (l *Loop) flush(ctx context.Context) error {
	if l.dead != nil || len(l.queue) == 0 {
		return l.dead
	}
	l.beginConv()
	// What has happened is recorded even when the run is being stopped.
	err := l.cfg.Emit(context.WithoutCancel(ctx), l.queue...)
	l.queue = l.queue[:0]
	if err != nil {
		l.dead = fmt.Errorf("record the conversation: %w", err)
		return l.dead
	}
	l.lettersTaken()
	return nil
}

// emitLive emits a live event.
func (l *Loop) emitLive(ctx context.Context, b plan.Body) error {
	return l.cfg.Emit(ctx, l.event(b))
}
