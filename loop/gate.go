package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
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
	// Rule is the rule that asks, Effect what the call would do in full, and
	// Grant what a yes for more than this call would allow.
	Rule   string     `json:"rule,omitempty"`
	Effect string     `json:"effect,omitempty"`
	Grant  plan.Grant `json:"grant,omitzero"`
	// Question is set when the tool asks the person something.
	Question string   `json:"question,omitempty"`
	Options  []string `json:"options,omitempty"`
	// Digest is the plan.CallDigest: a decision is about these arguments, and
	// about no others.
	Digest string `json:"digest"`
}

// Ruling is what a person, or a policy in their place, says about a call.
type Ruling struct {
	Approved bool
	Text     string // the reason, or the answer to a question
	By       string // "person" or "policy"; default "person"
	Scope    string // of a yes: plan.ScopeOnce, plan.ScopeRun or plan.ScopeAlways
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
		l.askQuestion(c)
		return
	}
	if l.cfg.Hooks.BeforeTool == nil {
		return
	}
	switch d := l.askHooks(ctx, c); d.Verb {
	case Pass:
	case Change:
		l.changeArgs(c, d.Args)
	case Confirm:
		if l.changeArgs(c, d.Args) {
			l.askApproval(ctx, c, d)
		}
	case Block:
		c.reject("refused", "Blocked: "+orElse(d.Reason, "a rule does not allow this call."))
	default:
		c.reject("refused", fmt.Sprintf("Blocked: a hook answered %q, which is no decision.", d.Verb))
	}
}

// askHooks asks the hooks about a call, and records what they want recorded.
func (l *Loop) askHooks(ctx context.Context, c *call) Decision {
	d := l.askBeforeTool(ctx, c)
	l.record(d.Record...)
	return d
}

// changeArgs gives a call other arguments, if there are any and they fit.
func (l *Loop) changeArgs(c *call, args json.RawMessage) bool {
	if len(args) == 0 {
		return true
	}
	if problem := c.offer.args.Validate(args); problem != "" {
		c.reject("refused", "A hook changed the arguments so that they no longer fit: "+problem)
		return false
	}
	c.args = args
	return true
}

// askApproval asks a person about a call, as it would be run now. A decision that
// is there already is about an earlier call of this id: servers use them again.
func (l *Loop) askApproval(ctx context.Context, c *call, d Decision) {
	_ = l.refuseDecisions(ctx, func(x Letter) bool { return x.Call == c.id }) // resolvePending meets the same error
	c.pending = &Pending{
		Call:   c.id,
		Name:   c.name,
		Args:   c.args,
		Why:    d.Reason,
		Rule:   d.Rule,
		Effect: l.cfg.Redact(d.Effect),
		Grant:  d.Grant,
		Digest: plan.CallDigest(c.name, c.args),
	}
	l.record(plan.ApprovalRequired{
		Call:   c.id,
		Name:   c.name,
		Args:   c.args,
		Why:    d.Reason,
		Shown:  plan.ShownCall(c.pending.Effect, c.args),
		Digest: c.pending.Digest,
		Rule:   d.Rule,
		Effect: c.pending.Effect,
		Grant:  d.Grant,
	})
}

func orElse(text, other string) string {
	if strings.TrimSpace(text) == "" {
		return other
	}
	return text
}

// askQuestion marks a question as waiting for a person, and records what is asked.
func (l *Loop) askQuestion(c *call) {
	if c.pending != nil {
		return
	}
	c.pending = &Pending{
		Call:   c.id,
		Name:   c.name,
		Args:   c.args,
		Digest: plan.CallDigest(c.name, c.args),
	}
	q, err := questionOf(c.args)
	if err != nil {
		c.pending = nil
		c.reject("invalid", "The question cannot be read: "+err.Error())
		return
	}
	c.pending.Question, c.pending.Options = q.Question, q.Options
	l.record(plan.Question{
		Call:     c.id,
		Question: q.Question,
		Options:  q.Options,
	})
}

// question is what a person is asked by a call.
type question struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
}

func questionOf(args json.RawMessage) (q question, err error) {
	err = json.Unmarshal(args, &q)
	return q, err //nolint:wrapcheck // the caller says what it is about
}

// maxAsks is how often a call is asked about that its hooks keep changing.
const maxAsks = 3

// resolvePending looks for rulings on the calls that wait, and returns those that
// still do. Nothing but a clear yes lets a call run. A decision about anything else
// than what waits now is taken out of the way, so that it never meets a later call.
func (l *Loop) resolvePending(ctx context.Context, calls []*call) ([]Pending, error) {
	var still []Pending
	looked := false
	for _, c := range calls {
		if c.pending == nil || c.end != nil {
			continue
		}
		looked = true
		for attempts := 0; c.pending != nil && c.end == nil; attempts++ {
			ruling, ok, err := l.findRuling(ctx, *c.pending)
			if err != nil {
				return nil, err
			}
			if !ok {
				still = append(still, *c.pending)
				break
			}
			if attempts == maxAsks {
				ruling = Ruling{By: "policy", Text: "the hooks change this call each time that it is approved."}
			}
			l.recordRuling(ctx, c, ruling)
		}
	}
	if !looked {
		return still, nil
	}
	return still, l.refuseDecisions(ctx, func(x Letter) bool {
		return !slices.ContainsFunc(still, func(p Pending) bool { return p.isAnsweredBy(x) })
	})
}

// refuseDecisions records of letters that they decide nothing.
func (l *Loop) refuseDecisions(ctx context.Context, stray func(Letter) bool) error {
	letters, err := l.waiting(ctx, Approve, Deny, Reply)
	if err != nil {
		return err
	}
	for _, x := range letters {
		if !stray(x) {
			continue
		}
		l.taking = append(l.taking, x.ID)
		l.record(plan.Filtered{
			Action: "reject",
			Why:    fmt.Sprintf("This %s is not about what waits now as it was shown, so it decides nothing.", x.Kind),
			Text:   l.cfg.Redact(x.Text),
			Letter: x.ID,
		})
	}
	return nil
}

// isAnsweredBy reports whether a letter is about this call as it was shown. An answer need
// not name what it answers where the mailbox hands over none but such.
func (p Pending) isAnsweredBy(x Letter) bool {
	if p.Question != "" {
		return x.Kind == Reply && (x.Call == "" || x.Call == p.Call) && (x.Digest == "" || x.Digest == p.Digest)
	}
	return x.Kind != Reply && x.Call == p.Call && x.Digest == p.Digest
}

// findRuling looks at what was handed in, asks the mailbox, then the gate. Of two
// letters the first counts.
func (l *Loop) findRuling(ctx context.Context, p Pending) (Ruling, bool, error) {
	if r, ok := l.rulings[p.Call]; ok {
		delete(l.rulings, p.Call) // it is about the call as it was shown then
		return r, true, nil
	}
	letters, err := l.waiting(ctx, Approve, Deny, Reply)
	if err != nil {
		return Ruling{}, false, err
	}
	if i := slices.IndexFunc(letters, p.isAnsweredBy); i >= 0 {
		x := letters[i]
		l.taking = append(l.taking, x.ID)
		return Ruling{
			Approved: x.Kind == Approve,
			Text:     l.cfg.RedactRead(x.Text),
			Scope:    x.Scope,
			letter:   x.ID,
		}, true, nil
	}
	if l.cfg.Gate == nil {
		return Ruling{}, false, nil
	}
	r, ok := l.cfg.Gate(ctx, p)
	return r, ok && ctx.Err() == nil, nil
}

// recordRuling carries a ruling out. An approved call is put to the hooks once more: a
// rule that has come into force since may still block it, and a call that they
// change now is another one, which is asked about again.
func (l *Loop) recordRuling(ctx context.Context, c *call, r Ruling) {
	by := orElse(r.By, "person")
	if c.pending.Question != "" {
		l.record(plan.Answered{
			Call:   c.id,
			Text:   r.Text,
			By:     by,
			Letter: r.letter,
		})
		l.answerQuestion(c, r.Text)
		return
	}
	resolved := plan.ApprovalResolved{
		Call:     c.id,
		Approved: r.Approved,
		Reason:   r.Text,
		By:       by,
		Rule:     c.pending.Rule,
		Letter:   r.letter,
	}
	if r.Approved && r.Scope != plan.ScopeOnce {
		resolved.Scope, resolved.Grant = r.Scope, c.pending.Grant
	}
	l.record(resolved)
	l.applyRuling(ctx, c, r.Approved, r.Text)
}

// answerQuestion gives a question its answer as the result of the call.
func (l *Loop) answerQuestion(c *call, text string) {
	c.pending = nil
	l.recordIntent(c)
	c.finish(plan.ToolEnd{Output: text})
	l.record(*c.end)
}

// applyRuling lets a call run, or gives it the refusal as its result.
func (l *Loop) applyRuling(ctx context.Context, c *call, approved bool, reason string) {
	c.pending = nil
	if approved {
		if l.cfg.Hooks.BeforeTool == nil {
			return
		}
		d := l.askHooks(ctx, c)
		changed := len(d.Args) > 0 && !equalArgs(d.Args, c.args)
		switch {
		case severity(d.Verb) >= severity(Block):
			reason = d.Reason
		case !changed:
			return
		case l.changeArgs(c, d.Args):
			if d.Verb != Confirm {
				d.Reason = "the hooks have changed it since it was approved"
			}
			l.askApproval(ctx, c, d)
			return
		default: // the change does not fit, and is the result
			l.recordIntent(c)
			l.record(*c.end)
			return
		}
	}
	c.reject(
		"refused",
		"Not allowed: "+orElse(
			reason,
			"the person said no.",
		)+" Do not try the same again; find another way or say what is needed.",
	)
	l.recordIntent(c)
	l.record(*c.end)
}

// equalArgs reports whether two arguments mean the same.
func equalArgs(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
