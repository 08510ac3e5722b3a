package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/arguments"
	"github.com/plan-engine/plan/loop/compact"
	"github.com/plan-engine/plan/loop/storm"
)

// cutOff is what a model reads as the result of each call of an answer that was
// cut off.
const cutOff = "The answer that makes this call was cut off by the output limit, so none of its calls was run. " +
	"Send them again in smaller answers: fewer calls at a time, and long content split over several calls."

// mostCalls is how many calls of one answer are run. Models that work in parallel
// make some twenty at most: an answer with more than this has lost its thread, and
// what its calls return would take the window.
const mostCalls = 64

// What a model reads as the results of the calls over that number: one says it,
// and there may be thousands.
const (
	tooManyCalls = "The answer that makes this call makes more than 64 calls. The first 64 were taken; this one and " +
		"those after it were not run. Look at the results, then send what is still needed."
	alsoTooMany = "Not run: over 64 calls in one answer."
)

// call is one tool call of the open turn.
type call struct {
	id, name string
	index    int // among the calls of its answer
	args     json.RawMessage
	text     string // the arguments as the model wrote them
	offer    *offer // nil for a call that will not run
	started  bool   // the intent is recorded
	masked   bool   // its arguments held a secret, which was replaced
	intent   *plan.Intent
	lost     bool     // it was started by a process that died
	effect   string   // of a lost call: the class it was started with
	notes    string   // what was repaired in the arguments, for the model
	asked    bool     // the hooks have decided about it
	pending  *Pending // what a person has to decide first
	key      string   // names it among all calls; known once it is to run
	child    *Config  // of the sub-agent that does it, if one does
	end      *plan.ToolEnd
}

// prepare looks at the calls of an answer. Calls that will not run are
// answered at once; for the others the intents that can be known now are
// queued, so that they are committed with the message.
func (l *Loop) prepare(ctx context.Context, m plan.Message, stop StopReason, masked map[string]bool) []*call {
	blocks := m.Calls()
	calls := make([]*call, len(blocks))
	for i, b := range blocks {
		calls[i] = l.examine(b, stop == StopLength)
		calls[i].masked = masked[b.Call]
		calls[i].index = i
	}
	accepted := calls[:min(len(calls), mostCalls)]
	for i, c := range calls[len(accepted):] {
		text := alsoTooMany
		if i == 0 {
			text = tooManyCalls
		}
		c.reject("refused", text)
	}
	broken := l.judgeRepetition(accepted)
	if l.stuck = broken.Notice; len(broken.Calls) > 0 {
		l.record(broken)
	}
	for _, c := range calls {
		l.decide(ctx, c)
		l.recordRejected(c)
	}
	todo := unfinished(calls)
	if serial(todo) {
		todo = todo[:1] // the later ones are only intended once the earlier ones are done
	}
	for _, c := range todo {
		if c.pending == nil {
			l.workOutIntent(ctx, c)
			l.recordIntent(c)
		}
	}
	return calls
}

// examine checks one call against what was offered, and repairs arguments that
// can be meant in one way only. A call that must not run comes back with its
// result; none runs of an answer that was cut off, because the rest of it might
// have said otherwise.
func (l *Loop) examine(b plan.Block, cut bool) *call {
	c := &call{
		id:   b.Call,
		name: b.Name,
		text: b.Args,
	}
	c.args, _ = arguments.Parse(b.Args)
	if o := l.findDeferred(b.Name); o != nil && !cut {
		l.lead(c, o, json.RawMessage(b.Args))
		return c
	}
	name, suggestion := arguments.ResolveName(b.Name, l.names)
	o, ok := l.offered[name]
	switch {
	case !ok:
		c.reject("refused", l.notOffered(b.Name, suggestion))
		return c
	case cut:
		c.reject("invalid", cutOff)
		return c
	}
	c.offer, c.name = o, name
	args, notes, problem := o.args.Mend(b.Args)
	if problem != "" {
		c.reject("invalid", problem)
		return c
	}
	if o.info.Writes && compact.CopiesStub(args) {
		c.reject(
			"invalid",
			"These arguments copy a mark that stands for something left out of the history, so running the call "+
				"would write the mark itself. Read what you need again and send the call with the real content.",
		)
		return c
	}
	c.args, c.notes = args, arguments.Tell(notes)
	if d := dispatcher(o.tool); d != nil {
		l.redirect(c, d)
	}
	return c
}

// redirect makes a call of a dispatcher one of the tool that it means: under that name it
// is judged, recorded and shown.
func (l *Loop) redirect(c *call, d Dispatcher) {
	tool, inner, problem := d.Dispatch(c.args)
	if tool == nil {
		c.reject("refused", orElse(problem, "There is no such tool."))
		return
	}
	l.lead(c, newOffer(tool), inner)
}

// findDeferred is a tool that is not offered by name and can be called all the same; nil if there
// is none of this name.
func (l *Loop) findDeferred(name string) *offer {
	if l.offered[name] != nil {
		return nil
	}
	for _, o := range l.offered {
		if d := dispatcher(o.tool); d != nil {
			if tool := d.Named(name); tool != nil {
				return newOffer(tool)
			}
		}
	}
	return nil
}

// lead makes a call one of a tool that is not offered by name.
func (l *Loop) lead(c *call, o *offer, inner json.RawMessage) {
	l.inner[o.info.Name] = o
	c.offer, c.name = o, o.info.Name
	args, notes, problem := o.args.Mend(string(inner))
	if problem != "" {
		c.args = inner
		c.reject("invalid", problem)
		return
	}
	c.args, c.notes = args, c.notes+arguments.Tell(notes)
}

// judgeRepetition asks the storm breaker about the calls of an answer. What makes no
// progress is answered instead of run, and so are calls that could not run the
// times before either.
func (l *Loop) judgeRepetition(calls []*call) plan.StormBroken {
	var judged []*call
	var requested []storm.Call
	for _, c := range calls {
		var v storm.Verdict
		if c.end == nil {
			v = l.storm.Judge(c.name, c.args)
		} else if v = l.storm.JudgeRejected(c.name, json.RawMessage(c.text)); v == storm.Pass {
			continue // it has its answer
		}
		judged = append(judged, c)
		requested = append(requested, storm.Call{
			Name:    c.name,
			Args:    c.args,
			Verdict: v,
		})
	}
	ruling := l.storm.Rule(requested)
	broken := plan.StormBroken{Action: ruling.Action, Notice: ruling.Notice}
	for i, c := range judged {
		if text := ruling.Results[i]; text != "" {
			if c.end != nil { // why it cannot run stays said
				text = c.end.Output + "\n\n" + text
			}
			c.reject("storm", text)
			broken.Calls = append(broken.Calls, c.id)
		}
	}
	return broken
}

// recordRejected records the intent and the result of a call that will not run.
func (l *Loop) recordRejected(c *call) {
	if c.end != nil && !c.started {
		l.recordIntent(c)
		l.record(*c.end)
	}
}

// notOffered is what a model reads when it calls a tool it does not have.
func (l *Loop) notOffered(name, suggestion string) string {
	if why := l.cfg.Refuse(name); why != "" {
		return why
	}
	text := fmt.Sprintf("There is no tool named %q here.", name)
	if suggestion != "" {
		text += fmt.Sprintf(" Did you mean %s?", suggestion)
	}
	return text + fmt.Sprintf(" The tools are: %s.", strings.Join(l.names, ", "))
}

func (c *call) reject(status, text string) {
	c.offer = nil
	c.finish(plan.ToolEnd{
		Error:  true,
		Output: text,
		Status: status,
	})
}

func (c *call) finish(end plan.ToolEnd) {
	end.Call, end.Name = c.id, c.name
	c.end = &end
}

func unfinished(calls []*call) []*call {
	var out []*call
	for _, c := range calls {
		if c.end == nil {
			out = append(out, c)
		}
	}
	return out
}

func serial(calls []*call) bool {
	return slices.ContainsFunc(calls, func(c *call) bool { return c.offer != nil && c.offer.info.Serial })
}
