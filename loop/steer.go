package loop

import (
	"context"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
)

// Outgoing is a request as [Hooks.BeforeRequest] sees it. Call must not be modified.
type Outgoing struct {
	Conv   string
	Parent string // of a sub-agent's conversation
	For    string // "turn", or "compact" for a summary
	Turn   int
	Tokens int64 // about so many are sent
	Call   Call
}

// Turned is a turn that has ended.
type Turned struct {
	Turn   int
	Reason string // as in [plan.TurnEnd]
	// Usage and CostUSD are what its calls of models used up, failed ones, summaries made
	// for it and what an earlier process paid included, and sub-agents not.
	Usage   plan.Usage
	CostUSD float64
}

// Closing is the end that a conversation comes to.
type Closing struct {
	Text string // what the model said last
	// Reopened is how often hooks have reopened the conversation in this attempt; Last
	// says that it is not reopened again.
	Reopened int
	Last     bool
}

// Objection is what a hook has against what comes next. The zero value lets it come.
type Objection struct {
	Why    string      // "" for nothing
	Record []plan.Body // put into the journal in any case
}

// mostReopened is how often hooks reopen a conversation in one attempt.
const mostReopened = 2

// What an [Outgoing] is for; a summary has the word of its [plan.Route].
const outgoingTurn = "turn"

// vetoed is the failure of a call that a hook did not let through.
type vetoed struct{ why string }

// Error implements error.
func (v *vetoed) Error() string { return "a hook does not let the request through: " + v.why }

// letThrough asks the hook about a request before it is made.
func (l *Loop) letThrough(ctx context.Context, purpose string, call Call, tokens int64) error {
	ask := l.cfg.Hooks.BeforeRequest
	if ask == nil {
		return nil
	}
	o := ask(ctx, Outgoing{
		Conv:   l.cfg.Conv,
		Parent: l.cfg.Parent,
		For:    purpose,
		Turn:   l.turn,
		Tokens: tokens,
		Call:   call,
	})
	l.record(o.Record...)
	if err := l.flush(ctx); err != nil {
		return err
	}
	if o.Why != "" {
		return &vetoed{why: o.Why}
	}
	return nil
}

// endVetoed ends the loop because a hook did not let something through, and says so in
// the conversation.
func (l *Loop) endVetoed(ctx context.Context, why string) (End, error) {
	l.notice(fmt.Sprintf("[stopped: %s]", why))
	end := l.ending(Vetoed)
	end.Rejection = why
	return end, nil
}

// reopen asks the hook whether the model is done, and reports whether it has to go on.
// A process that is stopped leaves the question to the next one.
func (l *Loop) reopen(ctx context.Context) (bool, error) {
	ask := l.cfg.Hooks.Done
	if ask == nil {
		return false, nil
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	last := l.reopened >= mostReopened
	o := ask(ctx, Closing{
		Text:     l.ending(Completed).Text,
		Reopened: l.reopened,
		Last:     last,
	})
	l.record(o.Record...)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if o.Why == "" || last {
		return false, nil
	}
	l.reopened++
	l.appendMessage(messageFrom(o.Why, plan.OriginHook))
	return true, nil
}

// tellTurn tells the hook of a turn whose end is recorded.
func (l *Loop) tellTurn(ctx context.Context, t Turned) {
	if tell := l.cfg.Hooks.TurnEnd; tell != nil && l.flush(ctx) == nil {
		tell(context.WithoutCancel(ctx), t)
	}
}

func both[T any](a, b func(context.Context, T)) func(context.Context, T) {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(ctx context.Context, v T) {
		a(ctx, v)
		b(ctx, v)
	}
}

func firstObjection[T any](a, b func(context.Context, T) Objection) func(context.Context, T) Objection {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(ctx context.Context, v T) Objection {
		first := a(ctx, v)
		if first.Why != "" {
			return first
		}
		second := b(ctx, v)
		second.Record = slices.Concat(first.Record, second.Record)
		return second
	}
}
