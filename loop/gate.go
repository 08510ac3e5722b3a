package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// Pending is a call that waits for a person: for a yes or a no, or for an
// answer.
type Pending struct {
	Call string          `json:"call"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	Why  string          `json:"why,omitempty"`
	// Question is set when the tool asks the person something.
	Question string   `json:"question,omitempty"`
	Options  []string `json:"options,omitempty"`
}

// Ruling is what a person, or a policy in their place, says about a call.
type Ruling struct {
	Approved bool
	Text     string // the reason, or the answer to a question
	By       string // "person" or "policy"; default "person"
	letter   int64
}

// decide asks the hooks about a call that could run. A call that must not run
// gets its result; one that needs a person is marked.
func (l *Loop) decide(ctx context.Context, c *call) {
	c.asked = true
	if c.end != nil || c.offer == nil || c.pending != nil {
		return
	}
	if c.offer.info.Asks {
		l.await(c, "")
		return
	}
	if l.cfg.Hooks.BeforeTool == nil {
		return
	}
	switch d := l.judge(ctx, c); d.Verb {
	case Pass:
	case Change:
		if problem := c.offer.validate(d.Args); problem != "" {
			c.reject("refused", "A hook changed the arguments so that they no longer fit: "+problem)
			return
		}
		c.args = d.Args
	case Confirm:
		l.await(c, d.Reason)
	case Block:
		c.reject("refused", "Blocked: "+orWord(d.Reason, "a rule does not allow this call."))
	default:
		c.reject("refused", fmt.Sprintf("Blocked: a hook answered %q, which is no decision.", d.Verb))
	}
}

func orWord(text, other string) string {
	if strings.TrimSpace(text) == "" {
		return other
	}
	return text
}

// await marks a call as waiting for a person, and records what is asked.
func (l *Loop) await(c *call, why string) {
	if c.pending != nil {
		return
	}
	c.pending = &Pending{Call: c.id, Name: c.name, Args: c.args, Why: why}
	if !c.offer.info.Asks {
		l.record(plan.ApprovalRequired{Call: c.id, Name: c.name, Args: c.args, Why: why})
		return
	}
	var q struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}
	if err := json.Unmarshal(c.args, &q); err != nil {
		c.pending = nil
		c.reject("invalid", "The question cannot be read: "+err.Error())
		return
	}
	c.pending.Question, c.pending.Options = q.Question, q.Options
	l.record(plan.Question{Call: c.id, Question: q.Question, Options: q.Options})
}

// resolve looks for rulings on the calls that wait, and returns those that
// still do. Nothing but a clear yes lets a call run.
func (l *Loop) resolve(ctx context.Context, calls []*call) ([]Pending, error) {
	var still []Pending
	for _, c := range calls {
		if c.pending == nil || c.end != nil {
			continue
		}
		ruling, ok, err := l.ruling(ctx, *c.pending)
		if err != nil {
			return nil, err
		}
		if !ok {
			still = append(still, *c.pending)
			continue
		}
		l.rule(ctx, c, ruling)
	}
	return still, nil
}

// ruling asks the mailbox, then the gate.
func (l *Loop) ruling(ctx context.Context, p Pending) (Ruling, bool, error) {
	if r, ok := l.rulings[p.Call]; ok {
		return r, true, nil
	}
	kinds := []LetterKind{Approve, Deny}
	if p.Question != "" {
		kinds = []LetterKind{Reply}
	}
	for _, kind := range kinds {
		letters, err := l.waiting(ctx, kind)
		if err != nil {
			return Ruling{}, false, err
		}
		i := slices.IndexFunc(letters, func(x Letter) bool { return x.Call == "" || x.Call == p.Call })
		if i < 0 {
			continue
		}
		x := letters[i]
		l.taking = append(l.taking, x.ID)
		return Ruling{Approved: kind == Approve, Text: l.cfg.Redact(x.Text), letter: x.ID}, true, nil
	}
	if l.cfg.Gate == nil {
		return Ruling{}, false, nil
	}
	r, ok := l.cfg.Gate(ctx, p)
	return r, ok && ctx.Err() == nil, nil
}

// rule carries a ruling out. An approved call is put to the hooks once more: a
// rule that has come into force since may still block it.
func (l *Loop) rule(ctx context.Context, c *call, r Ruling) {
	by := orWord(r.By, "person")
	if c.pending.Question != "" {
		l.record(plan.Answered{Call: c.id, Text: r.Text, By: by, Letter: r.letter})
		l.answered(c, r.Text)
		return
	}
	l.record(plan.ApprovalResolved{Call: c.id, Approved: r.Approved, Reason: r.Text, By: by, Letter: r.letter})
	l.ruled(ctx, c, r.Approved, r.Text)
}

// answered gives a question its answer as the result of the call.
func (l *Loop) answered(c *call, text string) {
	c.pending = nil
	l.intend(c)
	c.finish(plan.ToolEnd{Output: text})
	l.record(*c.end)
}

// ruled lets a call run, or gives it the refusal as its result.
func (l *Loop) ruled(ctx context.Context, c *call, approved bool, reason string) {
	c.pending = nil
	if approved {
		if l.cfg.Hooks.BeforeTool == nil {
			return
		}
		d := l.judge(ctx, c)
		if severity(d.Verb) < severity(Block) {
			return
		}
		reason = d.Reason
	}
	c.reject("refused", "Not allowed: "+orWord(reason, "the person said no.")+" Do not try the same again; find another way or say what is needed.")
	l.intend(c)
	l.record(*c.end)
}
