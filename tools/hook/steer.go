package hook

import (
	"context"
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/sandbox"
)

// change is what a hook has changed about what it was told; nil for nothing. Each
// moment has one thing that can be changed.
func (r *Runner) change(rep Report, in Input) *plan.HookChange {
	var c plan.HookChange
	switch {
	case rep.Args != nil:
		c = plan.HookChange{What: "args", From: string(in.Args), To: string(rep.Args)}
	case rep.Context != "":
		c = plan.HookChange{What: "context", To: rep.Context}
	case rep.Result != nil && in.Event == ResultRead && in.Result != nil:
		c = plan.HookChange{What: "result", From: in.Result.Output, To: *rep.Result}
	default:
		return nil // a model is changed once it is known that it can be
	}
	c.From, c.To = r.shortened(c.From), r.shortened(c.To)
	return &c
}

// shortened is a text as the journal keeps it, without known secrets.
func (r *Runner) shortened(text string) string {
	short, _ := sandbox.Cut([]byte(r.cfg.Redact(text)), shownOutput)
	return strings.ToValidUTF8(short, "\uFFFD")
}

// result judges what the model is about to read. A hook that is against it, or could
// not decide, keeps it back: what is looked through for something is read by no one
// else when the one who looks is gone.
func (c *conversation) result(ctx context.Context, t loop.ToolCall, res loop.Result) loop.Result {
	in := c.call(ResultRead, t)
	in.Result = &Result{
		Output:   res.Output,
		Full:     string(res.Full),
		Error:    res.Error,
		ExitCode: res.ExitCode,
	}
	for _, rep := range c.r.Each(ctx, in, func(rep Report) bool { return !rep.OK() }) {
		res.Record = append(res.Record, rep.Event(in, true))
		switch {
		case !rep.OK():
			res.Output = "A hook keeps back what " + t.Info.Name + " came to: " + rep.Why()
			res.Error, res.Full = true, nil
		case rep.Result != nil:
			res.Output, res.Full = *rep.Result, nil
		}
	}
	return res
}

// prepareTurn lets hooks name the model of the turn. Where none does, or the name
// cannot be had, it is the conversation's own.
func (c *conversation) prepareTurn(ctx context.Context, turn int, n loop.Next) loop.Next {
	if c.own == "" {
		c.own = n.Model
	}
	in := c.input(TurnModel)
	in.Turn, in.Model = &turn, c.own
	chosen := c.own
	for _, rep := range c.r.Each(ctx, in, nil) {
		if rep.OK() && rep.Model != "" {
			name, err := c.modelNamed(rep.Model)
			switch {
			case err != nil:
				rep.Err = fmt.Errorf("the turn keeps its model: %w", err)
			case name != chosen:
				rep.Change = &plan.HookChange{What: "model", From: chosen, To: name}
			}
			if err == nil {
				chosen = name
			}
		}
		if !c.record(ctx, rep.Event(in, false)) {
			return n // the loop finds that nothing can be recorded
		}
	}
	n.Model = chosen
	return n
}

// modelNamed is the model that a hook wants, if this conversation can have it.
func (c *conversation) modelNamed(wanted string) (string, error) {
	if c.s.Model == nil {
		return "", fmt.Errorf("no other model than %s can be had here", c.own)
	}
	return c.s.Model(c.own, wanted)
}

// beforeRequest judges.
func (c *conversation) beforeRequest(ctx context.Context, o loop.Outgoing) (objection loop.Objection) {
	in := c.input(Request)
	in.Conv, in.Turn = o.Conv, &o.Turn
	in.Request = &Outgoing{
		For:      o.For,
		Parent:   o.Parent,
		Model:    o.Call.Model,
		Messages: len(o.Call.Messages),
		Tools:    len(o.Call.Tools),
		Tokens:   o.Tokens,
	}
	for _, rep := range c.r.Each(ctx, in, func(rep Report) bool { return !rep.OK() }) {
		objection.Record = append(objection.Record, rep.Event(in, true))
		if !rep.OK() {
			objection.Why = rep.Why()
		}
	}
	return objection
}

// turnEnd tells of a turn and what it used.
func (c *conversation) turnEnd(ctx context.Context, t loop.Turned) {
	in := c.input(TurnEnd)
	in.Turn, in.Ended, in.Usage, in.CostUSD = &t.Turn, t.Reason, &t.Usage, &t.CostUSD
	for _, rep := range c.r.Each(ctx, in, nil) {
		c.record(ctx, rep.Event(in, false))
	}
}

// reopenWords stand before what a hook says is left to do.
const reopenWords = "A hook of the settings looked at what you came to and finds it unfinished:\n\n%s\n\nDeal with " +
	"that. Then hand over anew, and in full, what this phase asks for."

// done judges what the model came to. The first hook that finds something left to do
// reopens the phase; where that is not done any more, it has failed.
func (c *conversation) done(ctx context.Context, d loop.Closing) (objection loop.Objection) {
	in := c.input(PhaseEnd)
	in.Text, in.Reopened = d.Text, &d.Reopened
	against := func(rep Report) bool { return !rep.OK() || rep.Reopen != "" }
	for _, rep := range c.r.Each(ctx, in, against) {
		ev := rep.Event(in, false)
		switch {
		case against(rep) && d.Last:
			ev.Action = "failed"
		case against(rep):
			ev.Action, objection.Why = "reopened", fmt.Sprintf(reopenWords, rep.Why())
		}
		objection.Record = append(objection.Record, ev)
	}
	return objection
}
