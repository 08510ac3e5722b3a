package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/arguments"
	"github.com/plan-engine/plan/loop/pairing"
	"github.com/plan-engine/plan/loop/textcalls"
)

// openTurn is what is known of a turn that has begun and not ended.
type openTurn struct {
	started bool // turn_start is recorded
	asked   bool // the model is being called: request and message_start are recorded
	// answered is set once the assistant message is recorded; calls are then
	// the calls that have no result yet.
	answered bool
	calls    []*call
	// resting says that the turn was ended as parked while calls wait.
	resting bool
}

// callModel makes one model call and records the answer with the intents that can be
// known at once. A call that was in flight when the process died is made again.
// The end's reason is More, or Refused for an answer that is none.
func (l *Loop) callModel(ctx context.Context) (End, error) {
	if l.open.asked {
		if err := l.prepareNext(ctx, true); err != nil {
			return End{}, err
		}
		l.record(plan.Retry{Attempt: 1, Reason: "the run was resumed while the model was answering"})
	} else {
		l.openTurn()
	}
	ans, err := l.answer(ctx)
	if err != nil {
		return l.endUnanswered(ctx, err)
	}
	if ans.Stop.Declined() {
		return l.declineAnswer(ctx, ans)
	}
	l.acceptAnswer(ctx, ans)
	if len(l.open.calls) == 0 {
		l.closeTurn(plan.EndCompleted)
	}
	return End{Reason: More}, nil
}

// answer makes the request of the open turn. One that the server finds too long
// is made again with less history, a few times.
func (l *Loop) answer(ctx context.Context) (Answer, error) {
	for {
		if err := l.request(ctx); err != nil {
			return Answer{}, err
		}
		ans, err := l.generate(ctx)
		if err == nil {
			return ans, nil
		}
		again, failed := l.retrySmaller(ctx, err)
		if failed != nil {
			return Answer{}, failed
		}
		if !again {
			return Answer{}, err
		}
	}
}

// request records that the model is being called, unless it is so already.
func (l *Loop) request(ctx context.Context) error {
	if !l.open.asked {
		req, err := l.prefix.Extend(l.messages)
		if err != nil {
			return err
		}
		req.Wire = l.cfg.Wire
		l.record(req, plan.MessageStart{Role: plan.RoleAssistant})
		l.open.asked = true
		l.sentTo = req.Model
	}
	l.measure() // as a process does that finds the request in the journal
	return l.flush(ctx)
}

// openTurn begins a turn, unless one is open.
func (l *Loop) openTurn() {
	if l.open.started {
		return
	}
	l.open = openTurn{started: true}
	l.used++
	l.record(l.trigger())
}

// acceptAnswer takes an answer into the conversation.
func (l *Loop) acceptAnswer(ctx context.Context, ans Answer) {
	if ans.Message.Blocks == nil {
		ans.Message.Blocks = []plan.Block{} // readers find a list, an empty one too
	}
	blocks, masked := l.cleanAnswer(l.withTextCalls(ans))
	ans.Message.Blocks = blocks
	l.last, l.spokeAt = ans.Stop, l.cfg.Now()
	l.messages = append(l.messages, ans.Message)
	l.record(plan.MessageEnd{
		Message: ans.Message,
		Stop:    string(ans.Stop),
		Finish:  ans.Finish,
		Model:   ans.Model,
	})
	l.pay(l.cfg.Name, ans.Usage, ans.CostUSD)
	if sent := l.size.Tokens(l.counted); l.size.Reported(l.counted, ans.Usage.Input, l.messages) {
		l.recordCutInput(sent, ans.Usage.Input)
	}
	l.compactor.Breaker.TurnSucceeded()
	l.reliefs = 0
	l.open.asked, l.open.answered = false, true
	l.open.calls = l.prepare(ctx, ans.Message, ans.Stop, masked)
}

// declineAnswer records an answer that was refused or filtered. None of its calls
// runs, and it is no part of the conversation: what is asked next, perhaps of
// another model, is what was asked before it.
func (l *Loop) declineAnswer(ctx context.Context, ans Answer) (End, error) {
	blocks, _ := l.cleanAnswer(ans.Message.Blocks)
	ans.Message.Blocks = append([]plan.Block{}, blocks...)
	l.record(plan.MessageEnd{
		Message:   ans.Message,
		Stop:      string(ans.Stop),
		Finish:    ans.Finish,
		Model:     ans.Model,
		Discarded: true,
	})
	l.pay(l.cfg.Name, ans.Usage, ans.CostUSD)
	for _, b := range ans.Message.Calls() {
		c := &call{
			id:   b.Call,
			name: b.Name,
			text: b.Args,
		}
		c.args, _ = arguments.Parse(b.Args)
		c.reject("refused", fmt.Sprintf("Not run: the answer that makes this call ended as %s.", ans.Stop))
		l.recordRejected(c)
	}
	l.open.asked = false
	l.closeTurn(plan.EndRefused)
	l.used-- // it was not answered, so it does not count
	end := End{
		Reason: Refused,
		Text:   ans.Message.Text(),
		Stop:   ans.Stop,
		Finish: ans.Finish,
	}
	return end, l.flush(ctx)
}

// endUnanswered ends a turn whose model call did not come to an answer. The loop
// ends with it where a bound did not let the call be made.
func (l *Loop) endUnanswered(ctx context.Context, cause error) (End, error) {
	var over *overBudget
	if err := l.abandonTurn(ctx, cause); !errors.As(err, &over) {
		return End{}, err
	}
	return l.stopAtLimit(ctx, over.hit)
}

// discardAnswer ends an answer that did not come.
func (l *Loop) discardAnswer() {
	if l.open.asked {
		l.record(plan.MessageEnd{
			Message:   plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{}},
			Discarded: true,
		})
		l.open.asked = false
	}
}

// abandonTurn balances the events of a turn whose model call did not come to an
// answer, and returns why.
func (l *Loop) abandonTurn(ctx context.Context, cause error) error {
	l.discardAnswer()
	reason := endReason(ctx)
	if over := new(overBudget); reason == plan.EndError && errors.As(cause, &over) {
		reason = plan.EndLimit
	}
	l.closeTurn(reason)
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
	var up *plan.TimeUp
	switch {
	case errors.As(context.Cause(ctx), &up):
		return plan.EndLimit
	case ctx.Err() != nil:
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

// finishTurn brings an answered turn to its end: it runs the calls that have no
// result yet, and puts the results into the conversation in call order. While
// calls wait for a person, or for their results from elsewhere, the turn rests:
// it ends as parked, and is opened again when its results are asked for anew.
func (l *Loop) finishTurn(ctx context.Context) (*Continuation, error) {
	if !l.open.answered {
		return nil, nil
	}
	l.reopenTurn()
	waiting, failed := l.runCalls(ctx, l.open.calls)
	if l.dead != nil {
		return nil, l.dead
	}
	if failed == nil {
		if c := l.handOver(waiting); c != nil {
			return c, l.parkTurn(ctx)
		}
	}
	for _, c := range unfinished(l.open.calls) { // a tool failed while others waited
		c.pending = nil
		l.skip([]*call{c}, pairing.NeverStarted)
	}
	if failed == nil && ctx.Err() == nil {
		l.prune()
	}
	l.messages = append(l.messages, resultsOf(l.open.calls))
	if failed == nil && ctx.Err() == nil {
		l.stopped = l.terminated()
		l.closeTurn(plan.EndCompleted)
		return nil, nil
	}
	l.closeTurn(endReason(ctx))
	if err := l.flush(ctx); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	return nil, context.Cause(ctx)
}

// reopenTurn takes up a turn that rested.
func (l *Loop) reopenTurn() {
	if l.open.resting {
		l.open.resting = false
		l.record(plan.TurnStart{Trigger: plan.TriggerContinuation})
	}
}

// parkTurn lays a turn down whose calls wait.
func (l *Loop) parkTurn(ctx context.Context) error {
	l.open.resting = true
	if n := len(l.queue); n > 0 && l.queue[n-1].Type() == plan.TypeTurnStart {
		l.queue = l.queue[:n-1] // it was only looked whether there is an answer
	} else {
		l.record(plan.TurnEnd{Reason: plan.EndParked})
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// terminated reports whether every result of the turn ends the loop.
func (l *Loop) terminated() bool {
	for _, c := range l.open.calls {
		if !c.end.Terminate {
			return false
		}
	}
	return len(l.open.calls) > 0
}

// resultsOf makes the message that answers a turn's calls, in their order.
func resultsOf(calls []*call) plan.Message {
	m := plan.Message{Role: plan.RoleTool}
	for _, c := range calls {
		m.Blocks = append(m.Blocks, plan.Block{
			Type:  plan.BlockToolResult,
			Call:  c.id,
			Name:  c.name,
			Text:  c.end.Output,
			Error: c.end.Error,
			Blob:  c.end.Blob,
		})
	}
	return m
}

// withTextCalls is what an answer says, with the calls that the model wrote as text
// instead of making them.
func (l *Loop) withTextCalls(ans Answer) []plan.Block {
	if len(ans.Message.Calls()) > 0 {
		return ans.Message.Blocks
	}
	found := l.callsInText(ans.Message)
	for i := range found {
		found[i].Call = fmt.Sprintf("text_%s_%d_%d", l.cfg.Conv, l.turn, i)
	}
	return append(slices.Clip(ans.Message.Blocks), found...)
}

// callsInText are the calls in the words of an answer.
func (l *Loop) callsInText(m plan.Message) []plan.Block {
	return textcalls.InMessage(m, l.textTools, l.looksOnly)
}

// saysNothing reports whether an answer says nothing and calls nothing, which
// may be asked again.
func (l *Loop) saysNothing(ans Answer) bool {
	if !ans.Stop.Whole() || strings.TrimSpace(ans.Message.Text()) != "" {
		return false
	}
	for _, b := range ans.Message.Blocks {
		if b.Type != plan.BlockText && b.Type != plan.BlockReasoning {
			return false
		}
	}
	return len(l.callsInText(ans.Message)) == 0
}
