package loop

import (
	"context"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/makeup"
	"github.com/plan-engine/plan/loop/pairing"
)

// A turn is one answer of the model and the calls that it makes:
//
//   - makeTurn finishes the turn before, and begins another unless beforeTurn
//     finds that the loop has come to an end. There letters are taken in, history
//     is made to fit, and limits and hooks are asked.
//   - callModel records turn_start and the request, makes the call, and records
//     the answer together with the intents of its calls (calls.go).
//   - finishTurn runs the calls (batch.go), puts their results into the
//     conversation and records turn_end. While calls wait for a person or for
//     results from elsewhere, the turn is parked instead.
//
// What a process has recorded and not ended, the next one takes up (restore.go).

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

// makeTurn ends what is open and makes one model call, unless the loop has come
// to an end.
func (l *Loop) makeTurn(ctx context.Context) (End, error) {
	c, err := l.finishTurn(ctx)
	if err != nil || c != nil {
		return endFor(c), err
	}
	switch {
	case l.stuck != "":
		end := l.ending(Stuck)
		end.Text = l.stuck
		return end, nil
	case l.stopped:
		l.stopped = false
		return l.ending(Completed), nil
	}
	if !l.open.started {
		if end, over, err := l.beforeTurn(ctx); err != nil || over {
			return end, err
		}
	}
	return l.callModel(ctx)
}

// beforeTurn is what happens before a turn: letters are taken in, and the loop
// may come to its end.
func (l *Loop) beforeTurn(ctx context.Context) (End, bool, error) {
	if len(l.messages) == 0 {
		return End{}, true, ErrEmpty
	}
	if l.cfg.Notice != "" {
		l.appendMessage(messageFrom(l.cfg.Notice, plan.OriginDrift))
		l.cfg.Notice = ""
	}
	if _, err := l.deliver(ctx, Steer); err != nil {
		return End{}, true, err
	}
	if l.isDone() {
		more, err := l.deliver(ctx, FollowUp)
		if err == nil && !more {
			more, err = l.reopen(ctx)
		}
		if err != nil || !more {
			return l.ending(Completed), true, err
		}
	}
	if ctx.Err() != nil {
		return End{}, true, context.Cause(ctx)
	}
	if err := l.prepareNext(ctx, false); err != nil {
		return End{}, true, err
	}
	if err := l.makeRoom(ctx); err != nil {
		return End{}, true, err
	}
	if hit := l.brokenLimit(); hit != nil {
		end, err := l.stopAtLimit(ctx, *hit)
		return end, true, err
	}
	if left := l.cfg.Limits.Turns - l.used; l.cfg.Limits.Turns >= wrapUpFrom && left == wrapUpAt {
		l.notice(
			fmt.Sprintf(
				"[%d turns are left. Bring the work to a good end and hand over what this phase asks for; say "+
					"what is left undone.]",
				left,
			),
		)
	}
	return l.blockedByHook(ctx)
}

const (
	// wrapUpAt is how many turns are left when the model is told to come to an
	// end; limits below wrapUpFrom are too small for that.
	wrapUpAt   = 2
	wrapUpFrom = 6
)

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
		l.closeTurn(ctx, plan.EndCompleted)
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
		sent := l.prefix.Sent()
		req, err := l.prefix.Extend(l.messages)
		if err != nil {
			return err
		}
		req.Wire = l.cfg.Wire
		l.tellParts(&req, sent)
		l.record(req, plan.MessageStart{Role: plan.RoleAssistant})
		l.open.asked = true
		l.sentTo = req.Model
	}
	l.measure() // as a process does that finds the request in the journal
	return l.flush(ctx)
}

// tellParts says what a request adds to the one before it, which had so many
// messages, or what it holds where it does not extend that one.
func (l *Loop) tellParts(req *plan.Request, sent int) {
	if req.Whole = sent == 0 || req.Moved != "" || !l.makeup.Told; req.Whole {
		sent = 0
		var schemas, foreign int
		for _, s := range l.specs {
			size := len(s.Name) + len(s.Description) + len(s.Schema)
			if l.offered[s.Name].info.Category == CategoryMCP {
				foreign += size
				continue
			}
			schemas += size
		}
		req.Parts = makeup.Add(req.Parts, plan.Part{Kind: plan.PartSchemas, Bytes: int64(schemas)})
		req.Parts = makeup.Add(req.Parts, plan.Part{
			Kind:  plan.PartSchemas,
			Tool:  plan.OutsideTools,
			Bytes: int64(foreign),
		})
		req.Parts = makeup.Add(req.Parts, plan.Part{Kind: plan.PartSystem, Bytes: int64(len(l.cfg.System))})
	}
	req.Parts = append(req.Parts, l.makeup.Of(l.messages, sent)...)
	l.makeup.Told = true
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

// closeTurn ends the open turn. A turn that got no answer keeps its number:
// the next one is the same turn, made again.
func (l *Loop) closeTurn(ctx context.Context, reason string) {
	l.record(plan.TurnEnd{Reason: reason})
	turned := Turned{
		Turn:    l.turn,
		Reason:  reason,
		Usage:   l.turnUsage,
		CostUSD: l.turnCost,
	}
	if l.open.answered {
		l.turn++
	}
	l.open = openTurn{}
	l.turnUsage, l.turnCost = plan.Usage{}, 0
	l.tellTurn(ctx, turned)
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
		l.closeTurn(ctx, plan.EndCompleted)
		return nil, nil
	}
	l.closeTurn(ctx, endReason(ctx))
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
			Found: c.end.Found,
		})
	}
	return m
}
