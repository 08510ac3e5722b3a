package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/arguments"
	"github.com/plan-engine/plan/loop/textcalls"
)

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
	l.conv.end.Turns++
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
	l.closeTurn(ctx, plan.EndRefused)
	l.used-- // it was not answered, so it does not count
	end := End{
		Reason: Refused,
		Text:   ans.Message.Text(),
		Stop:   ans.Stop,
		Finish: ans.Finish,
	}
	return end, nil
}

// withTextCalls is what an answer says, with the calls that the model wrote as text
// instead of making them.
func (l *Loop) withTextCalls(ans Answer) []plan.Block {
	if len(ans.Message.Calls()) > 0 {
		return ans.Message.Blocks
	}
	calls := l.callsInText(ans.Message)
	for i := range calls {
		calls[i].Call = fmt.Sprintf("text_%s_%d_%d", l.cfg.Conv, l.turn, i)
	}
	return append(slices.Clip(ans.Message.Blocks), calls...)
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

// cleanAnswer is what an answer holds, as it enters the conversation: with known
// secrets replaced and an id of its own for every call. Masked are the calls
// whose arguments held a secret.
func (l *Loop) cleanAnswer(blocks []plan.Block) (_ []plan.Block, masked map[string]bool) {
	blocks = slices.Clone(blocks)
	masked = map[string]bool{}
	used := map[string]bool{}
	for i := range blocks {
		b := &blocks[i]
		b.Text = l.cfg.Redact(b.Text)
		if opaque := string(b.Opaque); opaque != "" && l.cfg.Redact(opaque) != opaque {
			b.Opaque = nil // it goes back whole or not at all
		}
		if b.Type != plan.BlockToolCall {
			continue
		}
		wanted := b.Call
		for n := 2; b.Call == "" || used[b.Call]; n++ {
			b.Call = fmt.Sprintf("%s_%d_%d", orElse(wanted, "call"), l.turn, n)
		}
		used[b.Call] = true
		if args := l.cfg.Redact(b.Args); args != b.Args {
			b.Args = args
			masked[b.Call] = true
		}
	}
	return blocks, masked
}

// endUnanswered ends a turn whose model call did not come to an answer. The loop
// ends with it where a bound or a hook did not let the call be made.
func (l *Loop) endUnanswered(ctx context.Context, cause error) (End, error) {
	err := l.abandonTurn(ctx, cause)
	if over := new(overBudget); errors.As(err, &over) {
		return l.stopAtLimit(ctx, over.hit)
	}
	if no := new(vetoed); errors.As(err, &no) {
		return l.endVetoed(ctx, no.why)
	}
	return End{}, err
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
	if no := new(vetoed); reason == plan.EndError && errors.As(cause, &no) {
		reason = plan.EndRefused
	}
	l.closeTurn(ctx, reason)
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
