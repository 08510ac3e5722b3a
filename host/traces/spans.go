// Package traces tells runs as spans, from the events of their journals alone, and sends
// them over HTTP as the OpenTelemetry protocol has it, in JSON. Spans of a run have the same
// ids however often they are made. What was said to and by a model is in none of them,
// unless that is asked for.
//
// The encoder is a small one of our own: the SDK and its exporter would cost every start of
// the program, whatever it was started for.
package traces

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/plan-engine/plan"
)

// Kind says what a span is of, as the protocol numbers it.
type Kind int

// The kinds that there are here.
const (
	Internal Kind = 1
	Client   Kind = 3
)

// Span is something that took a while.
type Span struct {
	Trace  [16]byte
	ID     [8]byte
	Parent [8]byte // all zero for the run's own
	Name   string
	Kind   Kind
	Start  time.Time
	End    time.Time
	Seq    int64 // of the event that ended it; 0 for one that was still open
	Failed bool
	Attrs  []Attr
}

// Attr is an attribute: a string, an int64, a float64 or a bool.
type Attr struct {
	Key   string
	Value any
}

func (s *Span) set(key string, value any) {
	switch v := value.(type) {
	case string:
		if v == "" {
			return
		}
	case int:
		value = int64(v)
	}
	for i := range s.Attrs {
		if s.Attrs[i].Key == key {
			s.Attrs[i].Value = value
			return
		}
	}
	s.Attrs = append(s.Attrs, Attr{
		Key:   key,
		Value: value,
	})
}

// Tracer makes spans of the events of one run, in order. The zero value is ready; it makes
// a span once the event that ends it comes.
type Tracer struct {
	// Content adds what was said to and by models, and what tools were called with and
	// returned.
	Content bool

	done  []Span
	trace [16]byte
	run   *Span
	last  time.Time
	phase *Span
	turns map[string]*Span // by conversation
	calls map[string]*call // by conversation
	tools map[string]*Span // by call
	under map[string]*Span // the call that a conversation is a helper's for
	check []*checked
}

// call is a call of a model whose usage is still to come.
type call struct {
	*Span
	answered bool
}

type checked struct {
	*Span
	command string
}

// TraceID is the id of the trace of a run: the run's own.
func TraceID(run plan.RunID) [16]byte {
	id, err := ulid.ParseStrict(string(run))
	if err != nil { // of a version whose ids are others
		sum := sha256.Sum256([]byte(run))
		return [16]byte(sum[:16])
	}
	return [16]byte(id)
}

// spanID is the id of the span that an event of a run began.
func spanID(trace [16]byte, kind string, seq int64) [8]byte {
	sum := sha256.New()
	sum.Write(trace[:])
	sum.Write([]byte(kind))
	_ = binary.Write(sum, binary.BigEndian, seq) // a hash takes everything
	return [8]byte(sum.Sum(nil)[:8])
}

// begin opens a span below another one.
func (t *Tracer) begin(kind, name string, ev plan.Event, parent *Span) *Span {
	s := &Span{
		Trace: t.trace,
		ID:    spanID(t.trace, kind, ev.Seq),
		Name:  name,
		Kind:  Internal,
		Start: ev.Time,
	}
	if parent != nil {
		s.Parent = parent.ID
	}
	return s
}

// end closes a span, which is nil where its beginning is not known.
func (t *Tracer) end(s *Span, ev plan.Event) {
	if s == nil {
		return
	}
	s.End = ev.Time
	s.Seq = ev.Seq
	t.done = append(t.done, *s)
}

// Take returns the spans that have ended since it was called last.
func (t *Tracer) Take() []Span {
	out := t.done
	t.done = nil
	return out
}

// Open returns the run's own span, and that of its phase, where they have not ended: as if
// they had with the last event.
func (t *Tracer) Open() []Span {
	var out []Span
	for _, s := range []*Span{t.phase, t.run} {
		if s != nil {
			open := *s
			open.End = t.last
			out = append(out, open)
		}
	}
	return out
}

// above is what a span of a conversation stands below: its turn, the call that it helps
// with, its phase or the run.
func (t *Tracer) above(conv string) *Span {
	for _, s := range []*Span{t.turns[conv], t.under[conv], t.phase} {
		if s != nil {
			return s
		}
	}
	return t.run
}

// Add takes the next event.
func (t *Tracer) Add(ev plan.Event) {
	if ev.Live() {
		return
	}
	if t.trace == ([16]byte{}) {
		t.trace = TraceID(ev.Run)
		t.turns = map[string]*Span{}
		t.calls = map[string]*call{}
		t.tools = map[string]*Span{}
		t.under = map[string]*Span{}
	}
	t.last = ev.Time
	t.frame(ev)
	t.turn(ev)
	t.talk(ev)
	t.act(ev)
}

// frame tells the run and its phases.
func (t *Tracer) frame(ev plan.Event) {
	switch b := ev.Body.(type) {
	case plan.RunStart:
		t.run = t.begin("run", "plan run", ev, nil)
		t.run.set("plan.run", string(ev.Run))
		t.run.set("plan.job", ev.Job)
		t.run.set("plan.aim", string(b.Aim))
		t.run.set("plan.version", b.Version)
		t.run.set("vcs.ref.head.revision", b.Base)
		if t.Content {
			t.run.set("plan.request", b.Request)
		}
	case plan.RunEnd:
		if t.run == nil {
			return
		}
		t.run.set("plan.outcome", string(b.Outcome))
		t.run.set("plan.evidence", b.Evidence)
		t.run.set("plan.cost_usd", b.CostUSD)
		t.run.set("gen_ai.usage.input_tokens", b.Usage.Input)
		t.run.set("gen_ai.usage.output_tokens", b.Usage.Output)
		t.run.Failed = b.ExitCode != plan.ExitOK
		t.end(t.run, ev)
		t.run = nil
	case plan.PhaseStart:
		if b.Resumed && t.phase != nil { // its process died: it goes on
			return
		}
		t.phase = t.begin("phase", "phase "+string(ev.Phase), ev, t.run)
		t.phase.set("plan.phase", string(ev.Phase))
		t.phase.set("plan.attempt", ev.Attempt)
		t.phase.set("gen_ai.request.model", b.Model)
	case plan.PhaseEnd:
		if t.phase != nil {
			t.phase.set("plan.reason", b.Reason)
			t.phase.Failed = b.Reason == plan.EndError
			t.end(t.phase, ev)
			t.phase = nil
		}
	}
}

// turn tells turns.
func (t *Tracer) turn(ev plan.Event) {
	switch b := ev.Body.(type) {
	case plan.TurnStart:
		delete(t.turns, ev.Conv)
		s := t.begin("turn", "turn", ev, t.above(ev.Conv))
		s.set("gen_ai.conversation.id", string(ev.Run)+"/"+ev.Conv)
		if ev.Turn != nil {
			s.set("plan.turn", *ev.Turn)
		}
		t.turns[ev.Conv] = s
	case plan.TurnEnd:
		if s := t.turns[ev.Conv]; s != nil {
			s.set("plan.reason", b.Reason)
			t.finish(ev.Conv, ev)
			t.end(s, ev)
			delete(t.turns, ev.Conv)
		}
	}
}

// talk tells the calls of models.
func (t *Tracer) talk(ev plan.Event) {
	switch b := ev.Body.(type) {
	case plan.Request:
		t.finish(ev.Conv, ev)
		s := t.begin("call", "chat "+b.Model, ev, t.above(ev.Conv))
		s.Kind = Client
		s.set("gen_ai.operation.name", "chat")
		s.set("gen_ai.request.model", b.Model)
		s.set("plan.wire", b.Wire)
		s.set("plan.phase", string(ev.Phase))
		s.set("plan.attempt", ev.Attempt)
		t.calls[ev.Conv] = &call{Span: s}
	case plan.Retry:
		if c := t.calls[ev.Conv]; c != nil { // the call goes on; what failed is an attempt of it
			c.set("plan.retries", b.Attempt)
			c.set("error.type", b.Reason)
		}
	case plan.MessageEnd:
		if c := t.calls[ev.Conv]; c != nil && b.Role == plan.RoleAssistant {
			c.answered = true
			c.End, c.Seq = ev.Time, ev.Seq
			c.set("gen_ai.response.model", b.Model)
			c.set("gen_ai.response.finish_reason", b.Stop)
			if t.Content {
				c.set("gen_ai.output.text", b.Text())
			}
		}
	case plan.UsageReport:
		if c := t.calls[ev.Conv]; c != nil && !b.Inherited {
			c.set("gen_ai.usage.input_tokens", b.Usage.Input)
			c.set("gen_ai.usage.output_tokens", b.Usage.Output)
			c.set("gen_ai.usage.cache_read.input_tokens", b.Usage.Cached)
			if b.Priced {
				c.set("plan.cost_usd", b.CostUSD)
			}
			if c.answered {
				t.finish(ev.Conv, ev)
			}
		}
	}
}

// finish closes the call of a model that a conversation has made. One without an answer
// failed, or its process died.
func (t *Tracer) finish(conv string, ev plan.Event) {
	c := t.calls[conv]
	if c == nil {
		return
	}
	delete(t.calls, conv)
	if !c.answered {
		c.Failed = true
		c.End = ev.Time
	}
	c.Seq = ev.Seq
	t.done = append(t.done, *c.Span)
}

// act tells tools and checks.
func (t *Tracer) act(ev plan.Event) {
	switch b := ev.Body.(type) {
	case plan.ToolStart:
		s := t.begin("tool", "execute_tool "+b.Name, ev, t.above(ev.Conv))
		s.set("gen_ai.operation.name", "execute_tool")
		s.set("gen_ai.tool.name", b.Name)
		s.set("gen_ai.tool.call.id", b.Call)
		if t.Content {
			s.set("gen_ai.tool.call.arguments", string(b.Args))
		}
		t.tools[b.Call] = s
		if b.Conv != "" {
			t.under[b.Conv] = s
		}
	case plan.ToolEnd:
		if s := t.tools[b.Call]; s != nil {
			s.Failed = b.Error
			if b.ExitCode != nil {
				s.set("process.exit.code", *b.ExitCode)
			}
			if t.Content {
				s.set("gen_ai.tool.call.result", b.Output)
			}
			t.end(s, ev)
			delete(t.tools, b.Call)
		}
	case plan.CheckStart:
		s := t.begin("check", "check", ev, t.above(""))
		s.set("plan.check.command", b.Command)
		s.set("plan.check.required", b.Required)
		s.set("plan.check.baseline", b.Baseline)
		s.set("plan.check.evidence", b.Evidence)
		t.check = append(t.check, &checked{
			Span:    s,
			command: b.Command,
		})
	case plan.CheckEnd:
		t.checkEnd(ev, b)
	}
}

// checkEnd closes the latest check of a command.
func (t *Tracer) checkEnd(ev plan.Event, b plan.CheckEnd) {
	for i := len(t.check) - 1; i >= 0; i-- {
		c := t.check[i]
		if c.command != b.Command {
			continue
		}
		c.set("process.exit.code", b.ExitCode)
		c.set("plan.check.cached", b.Cached)
		c.Failed = b.Fails() && !b.Baseline && b.Evidence == ""
		t.end(c.Span, ev)
		t.check = append(t.check[:i], t.check[i+1:]...)
		return
	}
}
