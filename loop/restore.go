package loop

import (
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/arguments"
)

// restore folds what the conversation has journalled into the loop. Whatever
// was begun and not ended is left open, so that it ends exactly once.
func (l *Loop) restore(past []plan.Event) error {
	last := lastAnswer(past)
	for i, ev := range past {
		if err := l.apply(ev, i < last); err != nil {
			return fmt.Errorf("restore conversation %s at event %d: %w", l.cfg.Conv, ev.Seq, err)
		}
	}
	return nil
}

// lastAnswer is where the latest answer stands. The calls of those before it
// have come to their end, one way or another.
func lastAnswer(past []plan.Event) int {
	for i, ev := range slices.Backward(past) {
		if m, ok := ev.Body.(plan.MessageEnd); ok && m.Role == plan.RoleAssistant && !m.Discarded {
			return i
		}
	}
	return -1
}

// apply takes one event. After an answer that has ended, other answers follow.
func (l *Loop) apply(ev plan.Event, ended bool) error {
	switch b := ev.Body.(type) {
	case plan.ConvStart:
		l.conv = stretch{open: true, from: b.Messages}
	case plan.ConvEnd:
		l.conv = stretch{}
	case plan.TurnStart:
		if ev.Turn == nil {
			return fmt.Errorf("a turn without a number")
		}
		if l.open.resting && l.turn == *ev.Turn {
			l.open.resting = false
			return nil
		}
		l.open, l.turn = openTurn{started: true}, *ev.Turn
		if ev.Attempt == l.cfg.Attempt {
			l.used++
		}
	case plan.Request:
		l.sentTo = b.Model
		l.prefix.Recall(b)
		l.makeup.Told = l.makeup.Told || len(b.Parts) > 0
		l.measure()
	case plan.MessageStart:
		l.open.asked = b.Role == plan.RoleAssistant
	case plan.MessageEnd:
		l.applyMessage(b, ended)
		if b.Origin == plan.OriginHook && ev.Attempt == l.cfg.Attempt {
			l.reopened++
		}
		if b.Role == plan.RoleAssistant && !b.Discarded {
			l.conv.end.Turns++
			l.spokeAt = ev.Time
		}
	case plan.StormBroken:
		l.stuck = b.Notice
	case plan.UsageReport:
		if !b.Inherited {
			l.turnUsage, l.turnCost = l.turnUsage.Add(b.Usage), l.turnCost+b.CostUSD
			l.conv.pay(b.Usage, b.CostUSD)
		}
		if l.open.answered { // else it was for a summary, or for a call that failed
			l.size.Reported(l.counted, b.Usage.Input, l.messages)
		}
	case plan.TurnEnd:
		l.applyTurnEnd(ev)
	default:
		l.applyRoom(b)
		l.applyCall(b)
	}
	return nil
}

// applyRoom takes the events that say how large the conversation may be, and
// what became of it.
func (l *Loop) applyRoom(body plan.Body) {
	switch b := body.(type) {
	case plan.CompactionStart:
		l.restoreWindow(b)
	case plan.CompactionEnd:
		l.compactor.Breaker.Record(b)
		if b.Messages != nil {
			l.replaceHistory(b.Messages)
		}
	case plan.Pruned:
		if b.Messages != nil {
			l.replaceHistory(b.Messages)
		}
	case plan.Adjusted:
		l.complained = l.complained || b.Part == plan.PartContext
	}
}

// applyCall takes the events that say how far a call of the open turn got.
func (l *Loop) applyCall(body plan.Body) {
	switch b := body.(type) {
	case plan.ToolStart:
		if c := l.openCall(b.Call); c != nil {
			l.restoreStarted(c, b)
		}
	case plan.ToolEnd:
		if c := l.openCall(b.Call); c != nil {
			c.finish(b)
			l.replayResult(c)
		}
	case plan.ApprovalRequired:
		// Under another name it was not asked about, and is.
		if c := l.openCall(b.Call); c != nil && c.name == b.Name {
			c.asked, c.args = true, b.Args // hooks may have changed them
			c.pending = &Pending{
				Call:   b.Call,
				Name:   b.Name,
				Args:   b.Args,
				Why:    b.Why,
				Rule:   b.Rule,
				Effect: b.Effect,
				Grant:  b.Grant,
				Digest: plan.CallDigest(b.Name, b.Args),
			}
		}
	case plan.Question:
		c := l.openCall(b.Call)
		if c == nil {
			return
		}
		// An answer to other words would be none to what the call asks.
		if q, err := questionOf(c.args); err == nil && q.Question == b.Question {
			c.asked, c.pending = true, &Pending{
				Call:     b.Call,
				Name:     c.name,
				Args:     c.args,
				Question: b.Question,
				Options:  b.Options,
				Digest:   plan.CallDigest(c.name, c.args),
			}
		}
	case plan.ApprovalResolved:
		if c := l.openCall(b.Call); c != nil {
			c.pending = nil
		}
	}
}

func (l *Loop) applyMessage(b plan.MessageEnd, ended bool) {
	l.open.asked = false
	if b.Discarded {
		return
	}
	l.messages = append(l.messages, b.Message)
	if b.Role != plan.RoleAssistant {
		if b.Origin != plan.OriginNotice {
			l.storm.Reset()
			l.stuck = ""
		}
		return
	}
	l.last, l.stuck = StopReason(b.Stop), ""
	l.open.answered = true
	look := l.examine
	if ended {
		look = l.restoreName
	}
	l.open.calls = lookAtCalls(b, look, false)
	for _, c := range l.open.calls {
		c.end = nil // the journal has it
	}
	l.storm.Replay(func() { l.judgeRepetition(lookAtCalls(b, l.examine, StopReason(b.Stop) == StopLength)) })
}

// lookAtCalls looks at the calls of an answer. Whether a cut-off one may have run
// is for the journal to say: earlier versions ran the calls before the last.
func lookAtCalls(b plan.MessageEnd, look func(plan.Block, bool) *call, cut bool) []*call {
	blocks := b.Calls()
	calls := make([]*call, len(blocks))
	for i, block := range blocks {
		calls[i] = look(block, cut)
		calls[i].index = i
	}
	return calls
}

// restoreName is what has to be known of a call whose end follows in the journal.
func (l *Loop) restoreName(b plan.Block, cut bool) *call {
	c := &call{
		id:   b.Call,
		name: b.Name,
		text: b.Args,
	}
	if name, _ := arguments.ResolveName(b.Name, l.names); !cut && l.offered[name] != nil {
		c.name = name
	}
	return c
}

func (l *Loop) applyTurnEnd(ev plan.Event) {
	if l.open.answered && len(unfinished(l.open.calls)) > 0 {
		l.open.resting = true
		return
	}
	l.turnUsage, l.turnCost = plan.Usage{}, 0
	if !l.open.answered {
		if ev.Attempt == l.cfg.Attempt {
			l.used--
		}
		l.open = openTurn{}
		return
	}
	if len(l.open.calls) > 0 {
		l.messages = append(l.messages, resultsOf(l.open.calls))
	}
	l.turn++
	l.open = openTurn{}
}

// openCall returns the open turn's call with this id.
func (l *Loop) openCall(id string) *call {
	for _, c := range l.open.calls {
		if c.id == id && c.end == nil {
			return c
		}
	}
	return nil
}

// replayResult shows the storm breaker how a call of an earlier process ended, if it
// ran.
func (l *Loop) replayResult(c *call) {
	switch c.end.Status {
	case "refused", "invalid", "storm":
	default:
		name, args, end := c.name, c.args, c.end // the call goes
		l.storm.Replay(func() { l.observe(name, args, end) })
	}
}
