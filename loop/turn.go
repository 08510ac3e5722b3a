package loop

import (
	"context"

	"github.com/plan-engine/plan"
)

// openTurn is what is known of a turn that has begun and not ended.
type openTurn struct {
	started bool // turn_start is recorded
	asked   bool // the model is being called: request and message_start are recorded
	// answered is set once the assistant message is recorded; calls are then
	// the calls that have no result yet.
	answered bool
	calls    []*call
}

// ask makes one model call and records the answer with the intents that can be
// known at once. A call that was in flight when the process died is made again.
func (l *Loop) ask(ctx context.Context) error {
	if l.open.asked {
		l.record(plan.Retry{Attempt: 1, Reason: "the run was resumed while the model was answering"})
	} else {
		l.openTurn()
		req, err := l.prefix.extend(l.messages)
		if err != nil {
			return err
		}
		l.record(req, plan.MessageStart{Role: plan.RoleAssistant})
		l.open.asked = true
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	ans, err := l.generate(ctx)
	if err != nil {
		return l.abandon(ctx, err)
	}
	l.accept(ans)
	if len(l.open.calls) == 0 {
		l.closeTurn(plan.EndCompleted)
	}
	return nil
}

// openTurn begins a turn, unless one is open.
func (l *Loop) openTurn() {
	if l.open.started {
		return
	}
	l.open = openTurn{started: true}
	l.used++
	trigger := "continuation"
	if n := len(l.messages); n > 0 && l.messages[n-1].Role == plan.RoleUser {
		trigger = "user"
	}
	l.record(plan.TurnStart{Trigger: trigger})
}

// accept takes an answer into the conversation.
func (l *Loop) accept(ans Answer) {
	if ans.Message.Blocks == nil {
		ans.Message.Blocks = []plan.Block{} // readers find a list, an empty one too
	}
	l.last = ans.Stop
	if ans.Message.Blocks == nil {
		ans.Message.Blocks = []plan.Block{} // a list in the journal, also when it is empty
	}
	l.usage = l.usage.Add(ans.Usage)
	usd, known := l.cfg.Price(ans.Usage)
	l.cost += usd
	l.messages = append(l.messages, ans.Message)
	l.record(
		plan.MessageEnd{Message: ans.Message, Stop: string(ans.Stop), Model: ans.Model},
		plan.UsageReport{Model: l.cfg.Name, Usage: ans.Usage, CostUSD: usd, Priced: known},
	)
	l.open.asked, l.open.answered = false, true
	l.open.calls = l.prepare(ans.Message, ans.Stop)
}

// abandon balances the events of a turn whose model call did not come to an
// answer, and returns why.
func (l *Loop) abandon(ctx context.Context, cause error) error {
	l.record(plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{}}, Discarded: true})
	l.open.asked = false
	l.closeTurn(endReason(ctx))
	l.used-- // it was not answered, so it does not count
	if err := l.flush(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return cause
}

func endReason(ctx context.Context) string {
	if ctx.Err() != nil {
		return plan.EndCancelled
	}
	return plan.EndError
}

// closeTurn ends the open turn. A turn that got no answer keeps its number:
// the next one is the same turn, made again.
func (l *Loop) closeTurn(reason string) {
	l.record(plan.TurnEnd{Reason: reason})
	if l.open.answered {
		l.turn++
	}
	l.open = openTurn{}
}

// settle brings an answered turn to its end: it runs the calls that have no
// result yet, and puts the results into the conversation in call order.
func (l *Loop) settle(ctx context.Context) error {
	if !l.open.answered {
		return nil
	}
	failed := l.runCalls(ctx, l.open.calls)
	if l.dead != nil {
		return l.dead
	}
	l.messages = append(l.messages, resultsOf(l.open.calls))
	if failed == nil && ctx.Err() == nil {
		l.closeTurn(plan.EndCompleted)
		return nil
	}
	l.closeTurn(endReason(ctx))
	if err := l.flush(ctx); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return context.Cause(ctx)
}

// resultsOf makes the message that answers a turn's calls, in their order.
func resultsOf(calls []*call) plan.Message {
	m := plan.Message{Role: plan.RoleTool}
	for _, c := range calls {
		m.Blocks = append(m.Blocks, plan.Block{
			Type: plan.BlockToolResult, Call: c.id, Name: c.name,
			Text: c.end.Output, Error: c.end.Error, Blob: c.end.Blob,
		})
	}
	return m
}
