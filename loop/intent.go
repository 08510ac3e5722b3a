package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/plan-engine/plan"
)

// recordIntent queues the intent to run a call.
func (l *Loop) recordIntent(c *call) {
	if c.started {
		return
	}
	c.started = true
	start := plan.ToolStart{
		Call: c.id,
		Name: c.name,
		Args: c.args,
		Conv: l.taskConv(c),
	}
	if c.offer != nil {
		start.Effect, start.Intent = c.offer.info.Effect, c.intent
		if start.Effect == plan.EffectVerifiable && start.Intent == nil {
			start.Effect = plan.EffectUnknown
		}
	}
	l.record(start)
}

// workOutIntent works out what a call is going to do, for its intent. It is asked
// when nothing else stands between the call and its run, because the calls
// before it may change the same files. A call whose arguments are not those
// that the model wrote, because they held a secret, has no intent; nor has one
// that the tool cannot work out.
func (l *Loop) workOutIntent(ctx context.Context, c *call) {
	c.key = l.key(c) // here and not where the tool runs: it may outlive the turn
	if c.started || c.offer == nil || c.masked || ctx.Err() != nil {
		return
	}
	v := verifiable(c.offer.tool)
	if v == nil {
		return
	}
	within, cancel := context.WithTimeoutCause(ctx, l.timeout(c.offer.info), errOverdue)
	defer cancel()
	intent := make(chan *plan.Intent, 1)
	in := c.input(func(string) {})
	go func() { intent <- prepared(within, v, in) }()
	select {
	case c.intent = <-intent:
	case <-within.Done():
	}
	if c.intent != nil {
		c.intent.Output = l.cfg.RedactRead(c.intent.Output)
	}
}

// prepared asks a tool for an intent. Without one, running the call says what
// is wrong.
func prepared(ctx context.Context, v Verifiable, in Input) (result *plan.Intent) {
	defer func() {
		if recover() != nil {
			result = nil
		}
	}()
	intent, err := v.Prepare(ctx, in)
	if err != nil {
		return nil
	}
	return &intent
}

// input is a call as its tool gets it.
func (c *call) input(update func(string)) Input {
	return Input{
		Call:   c.id,
		Key:    c.key,
		Args:   c.args,
		Update: update,
	}
}

// runTool carries a call's intent out, or runs it if it has none. A sub-agent
// runs in a conversation of its own.
func (l *Loop) runTool(ctx context.Context, c *call, update func(string)) (Result, error) {
	if c.offer.info.Delegate != nil {
		return l.runSubAgent(ctx, c)
	}
	in := c.input(update)
	if v := verifiable(c.offer.tool); v != nil && c.intent != nil {
		return v.Apply(ctx, in, *c.intent)
	}
	return c.offer.tool.Run(ctx, in)
}

// key names a call among all calls of all runs. Servers use the ids of calls
// again, so the turn and the arguments belong to it.
func (l *Loop) key(c *call) string {
	hash := sha256.New()
	for _, part := range []string{string(l.cfg.Run), l.cfg.Conv, fmt.Sprint(l.turn), c.id, c.name, string(c.args)} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// restoreStarted takes up a call that the journal says was begun. How it ended may
// still follow; until then it is lost.
func (l *Loop) restoreStarted(c *call, b plan.ToolStart) {
	c.started, c.lost, c.asked = true, true, true
	c.name, c.args, c.pending = b.Name, b.Args, nil
	c.effect, c.intent = b.Effect, b.Intent
	if c.intent != nil && c.intent.Key != l.key(c) {
		c.intent = nil // it is another call's
	}
}

// recoverable says whether a lost call can be brought to its end: by running
// it again, or by comparing the files with its intent. What was promised when
// it was begun counts, and what its tool says today.
func (c *call) recoverable() bool {
	if c.offer == nil || c.offer.info.Effect != c.effect {
		return false
	}
	switch c.effect {
	case plan.EffectReplay:
		return true
	case plan.EffectVerifiable:
		return c.intent != nil && verifiable(c.offer.tool) != nil
	}
	return false
}

// unknownOutcome is the result of a call in which a process died.
func unknownOutcome() *plan.ToolEnd {
	return &plan.ToolEnd{
		Error:  true,
		Status: "unknown",
		Output: "The process was stopped while this call was running, so its outcome is unknown: it may have " +
			"done all, part or none of its work. It was not run again, and something that it started may still " +
			"be running. Check what it left behind before you go on.",
	}
}
