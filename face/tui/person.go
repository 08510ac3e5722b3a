package tui

import (
	"cmp"
	"context"
	"errors"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config/trust"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
)

// ask is what a run that this process drives waits for a person with.
type ask struct {
	waiting []plan.WaitingCall
	doc     *plan.PlanDoc
	drift   *plan.Drift
	replan  bool        // another plan can be made, of a drift
	trust   *trust.Item // what a repository wants
	reply   chan answer // has room for one
}

// answer is what a person says to an ask. Later leaves it for another time.
type answer struct {
	letters []host.Letter
	later   bool
	drift   engine.OnDrift
	reason  string
}

// person puts what a run asks before the one who sits at the terminal.
type person struct{ feed *feed }

var (
	_ host.Person  = person{}
	_ host.Truster = person{}
)

// Decide implements host.Person.
func (p person) Decide(ctx context.Context, end engine.End, doc *plan.PlanDoc) ([]host.Letter, bool) {
	reply := p.ask(ctx, &ask{waiting: end.Parked.Waiting, doc: doc})
	return reply.letters, !reply.later
}

// Drift implements host.Person.
func (p person) Drift(ctx context.Context, end engine.End) (engine.OnDrift, string, bool) {
	reply := p.ask(ctx, &ask{
		drift:  end.Parked.Drift,
		replan: end.State == plan.Implementing || end.State == plan.Reviewing,
	})
	return reply.drift, cmp.Or(reply.reason, host.DefaultReplanReason), !reply.later
}

// Trust implements host.Truster.
func (p person) Trust(ctx context.Context, it trust.Item) bool {
	return !p.ask(ctx, &ask{trust: &it}).later
}

// ask waits for the answer, or until there is no need for one.
func (p person) ask(ctx context.Context, a *ask) answer {
	a.reply = make(chan answer, 1)
	p.feed.put(asked{a})
	select {
	case reply := <-a.reply:
		return reply
	case <-ctx.Done():
		p.feed.put(withdrawn{ask: a, elsewhere: errors.Is(context.Cause(ctx), host.ErrDecidedElsewhere)})
		return answer{later: true}
	}
}
