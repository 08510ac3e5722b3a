package hook

import (
	"context"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// Scope is the conversation that loop hooks are for.
type Scope struct {
	Run     plan.RunID
	Phase   plan.Phase
	Attempt int
	Conv    string
	// Emit records what has come of hooks outside of tool calls.
	Emit plan.Emit
	// Paths are the paths that a call names.
	Paths func(tool string, args []byte) []string
	// Model is the name of a model that a hook wants in the place of the
	// conversation's own, or why it cannot be had. Nil: none can.
	Model func(own, wanted string) (string, error)
}

// Loop makes loop hooks of the hooks at moments of a conversation.
func (r *Runner) Loop(s Scope) loop.Hooks {
	c := &conversation{r: r, s: s}
	var h loop.Hooks
	if r.Has(PreToolUse) {
		h.BeforeTool = c.beforeTool
	}
	if r.Has(PostToolUse) || r.Has(ResultRead) {
		h.AfterTool = c.afterTool
	}
	if r.Has(TurnModel) {
		h.PrepareTurn = c.prepareTurn
	}
	if r.Has(Request) {
		h.BeforeRequest = c.beforeRequest
	}
	if r.Has(TurnEnd) {
		h.TurnEnd = c.turnEnd
	}
	if r.Has(PhaseEnd) {
		h.Done = c.done
	}
	if r.Has(TurnStart) {
		h.TurnStart = c.turnStart
	}
	if r.Has(PreCompact) {
		h.BeforeCompaction = c.beforeCompaction
	}
	return h
}

// Filters are the hooks that look at prompts.
func (r *Runner) Filters(s Scope) []loop.Filter {
	if !r.Has(PrePrompt) {
		return nil
	}
	c := &conversation{r: r, s: s}
	return []loop.Filter{c.filter}
}

// conversation runs hooks for one conversation.
type conversation struct {
	r   *Runner
	s   Scope
	own string // the conversation's model, once it is known
}

func (c *conversation) input(event string) Input {
	return Input{
		Event:   event,
		Run:     c.s.Run,
		Phase:   c.s.Phase,
		Attempt: c.s.Attempt,
		Conv:    c.s.Conv,
	}
}

func (c *conversation) call(event string, t loop.ToolCall) Input {
	in := c.input(event)
	in.Tool, in.Call, in.Args = t.Info.Name, t.ID, t.Args
	if c.s.Paths != nil {
		in.Paths = c.s.Paths(t.Info.Name, t.Args)
	}
	return in
}

// beforeTool judges: a hook that is against a call blocks it, and so does one
// that could not decide.
func (c *conversation) beforeTool(ctx context.Context, t loop.ToolCall) loop.Decision {
	d := loop.Decision{Verb: loop.Pass}
	in := c.call(PreToolUse, t)
	for _, rep := range c.r.Each(ctx, in, func(rep Report) bool { return !rep.OK() }) {
		d.Record = append(d.Record, rep.Event(in, true))
		switch {
		case !rep.OK():
			d.Verb, d.Reason, d.Args = loop.Block, rep.Why(), nil
		case rep.Args != nil:
			d.Verb, d.Args = loop.Change, rep.Args
		}
	}
	return d
}

// afterTool advises, and what a hook has to say is added to the result; then it is
// judged what the model is to read.
func (c *conversation) afterTool(ctx context.Context, t loop.ToolCall, res loop.Result) loop.Result {
	in := c.call(PostToolUse, t)
	in.Result = &Result{
		Output:   res.Output,
		Error:    res.Error,
		ExitCode: res.ExitCode,
	}
	for _, rep := range c.r.Each(ctx, in, nil) {
		res.Record = append(res.Record, rep.Event(in, false))
		if rep.Context != "" {
			res.Output = strings.TrimRight(res.Output, "\n") + "\n[a hook says: " + rep.Context + "]"
		}
	}
	return c.result(ctx, t, res)
}

// turnStart judges.
func (c *conversation) turnStart(ctx context.Context, turn int) string {
	in := c.input(TurnStart)
	in.Turn = &turn
	return c.judge(ctx, in, func(rep Report) bool { return rep.OK() })
}

// beforeCompaction lets a hook refuse; one that could not decide does not.
func (c *conversation) beforeCompaction(ctx context.Context, tokens int64) bool {
	in := c.input(PreCompact)
	in.Tokens = tokens
	return c.judge(ctx, in, func(rep Report) bool { return rep.Err != nil || rep.OK() }) == ""
}

// judge runs hooks until one is against it, records them, and says why it is.
func (c *conversation) judge(ctx context.Context, in Input, fine func(Report) bool) (why string) {
	for _, rep := range c.r.Each(ctx, in, func(rep Report) bool { return !fine(rep) }) {
		ok := fine(rep)
		if !c.record(ctx, rep.Event(in, !ok)) {
			return "what a hook said could not be recorded"
		}
		if !ok {
			why = rep.Why()
		}
	}
	return why
}

// filter judges what is said to the model. What a hook adds comes after it.
func (c *conversation) filter(ctx context.Context, text string) loop.Screening {
	in := c.input(PrePrompt)
	in.Prompt = text
	var s loop.Screening
	var notes []string
	for _, rep := range c.r.Each(ctx, in, func(rep Report) bool { return !rep.OK() }) {
		if !c.record(ctx, rep.Event(in, true)) {
			return loop.Screening{Reject: "what a hook said about it could not be recorded"}
		}
		if !rep.OK() {
			return loop.Screening{Reject: rep.Why()}
		}
		if rep.Context != "" {
			notes = append(notes, rep.Context)
		}
	}
	s.Warn = strings.Join(notes, "\n")
	return s
}

// record puts a hook into the journal. What cannot be recorded did not pass.
func (c *conversation) record(ctx context.Context, ev plan.HookRan) bool {
	if c.s.Emit == nil {
		return true
	}
	return c.s.Emit(ctx, plan.Event{Conv: c.s.Conv, Body: ev}) == nil
}
