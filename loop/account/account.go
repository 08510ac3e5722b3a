// Package account counts what a conversation and its sub-agents consume, and
// sets money aside for calls that are on their way, so that limits hold also
// while several work at the same time.
//
// It must not know what a call is, or what prices are: both come as functions.
package account

import (
	"context"
	"sync"

	"github.com/plan-engine/plan"
)

// Account counts what a conversation consumes. A sub-agent's account stands
// under its parent's, so that what it consumes counts there too, while it does.
type Account struct {
	limits       plan.Limits
	of           string // the table of settings that the limits stand in, "" for the run's own
	above        *Account
	reservations *reservations // shared with the accounts above and below
	calls        int           // on their way, that have set money aside; under reservations.mu
	held         float64       // USD that they may still cost; under reservations.mu

	setAside float64 // USD, for this conversation's own call; of its goroutine

	mu    sync.Mutex
	usage plan.Usage
	cost  float64 // USD
}

// New makes the account of a conversation whose run has consumed this much so
// far.
func New(limits plan.Limits, used plan.Usage, usd float64) *Account {
	return &Account{
		limits:       limits,
		reservations: &reservations{freed: make(chan struct{})},
		usage:        used,
		cost:         usd,
	}
}

// NewPart makes the account of a part of the run that has limits of its own, which
// stand in the table of settings of this name, and has consumed this much so far.
func NewPart(run *Account, of string, limits plan.Limits, used plan.Usage, usd float64) *Account {
	a := New(limits, used, usd)
	a.of = of
	a.PutUnder(run)
	return a
}

// PutUnder makes this the account of a sub-agent.
func (a *Account) PutUnder(parent *Account) { a.above, a.reservations = parent, parent.reservations }

// Pay adds the usage of a model call.
func (a *Account) Pay(u plan.Usage, usd float64) {
	for ; a != nil; a = a.above {
		a.mu.Lock()
		a.usage = a.usage.Add(u)
		a.cost += usd
		a.mu.Unlock()
	}
}

// Run is the account of the whole run, where this one is that of a part.
func (a *Account) Run() *Account {
	for a.of != "" && a.above != nil {
		a = a.above
	}
	return a
}

// Total is what was consumed so far.
func (a *Account) Total() (plan.Usage, float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.usage, a.cost
}

// reservations lets sub-agents that work at the same time see what the others are about
// to spend.
type reservations struct {
	mu    sync.Mutex
	freed chan struct{} // closed when something is given back, and made anew
}

// hold sets money aside for a call here and above, under the lock of the reservations.
func (a *Account) hold(usd float64) {
	for ; a != nil; a = a.above {
		a.calls++
		a.held += usd
	}
}

// free gives back what a call has set aside, under the lock of the reservations.
func (a *Account) free(usd float64) {
	close(a.reservations.freed)
	a.reservations.freed = make(chan struct{})
	for ; a != nil; a = a.above {
		a.held -= usd
		if a.calls--; a.calls == 0 {
			a.held = 0 // and not what rounding has left of it
		}
	}
}

// balance is what the limits on cost leave.
type balance struct {
	left float64       // USD
	held float64       // USD of it that are set aside; 0 where no call is on its way
	hit  plan.LimitHit // the limit that leaves least
}

// balance is what is left here, or above where that is less, under the lock of
// the reservations. Without a limit on cost it reports false.
func (a *Account) balance() (b balance, limited bool) {
	for ; a != nil; a = a.above {
		most := a.limits.CostUSD
		if most <= 0 {
			continue
		}
		_, cost := a.Total()
		if rest := most - cost; !limited || rest-a.held < b.left-b.held {
			limited = true
			b = balance{
				left: rest,
				held: a.held,
				hit: plan.LimitHit{
					Kind:  "cost",
					Value: cost,
					Max:   most,
					Of:    a.of,
				},
			}
		}
	}
	return b, limited
}

// Reserve sets money aside for the next call, until [Account.GiveBack]. Likely
// is given what limits on cost leave, in USD, and says what the call is likely
// to cost at the most, or that the rest does not pay for it. While other calls
// have set money aside, it waits for what they leave. It returns the limit that
// the call might break, if even then there is too little.
func (a *Account) Reserve(
	ctx context.Context, likely func(left float64, limited bool) (usd float64, ok bool),
) (*plan.LimitHit, error) {
	a.GiveBack()
	for {
		a.reservations.mu.Lock()
		b, limited := a.balance()
		usd, ok := likely(b.left-b.held, limited)
		if ok && usd > 0 {
			a.hold(usd)
			a.setAside = usd
		}
		freed := a.reservations.freed
		a.reservations.mu.Unlock()
		if ok {
			return nil, nil
		}
		if b.held <= 0 {
			return &b.hit, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// GiveBack ends what was set aside for the latest call.
func (a *Account) GiveBack() {
	if a.setAside <= 0 {
		return
	}
	a.reservations.mu.Lock()
	defer a.reservations.mu.Unlock()
	a.free(a.setAside)
	a.setAside = 0
}

// Unaffordable is the limit on cost that a call might break which costs this
// much, in USD, if any. What other calls have set aside may be given back.
func (a *Account) Unaffordable(usd float64) *plan.LimitHit {
	a.reservations.mu.Lock()
	defer a.reservations.mu.Unlock()
	if b, limited := a.balance(); limited && b.left < usd {
		return &b.hit
	}
	return nil
}

// Served reports whether a model server has answered in this run.
func (a *Account) Served() bool {
	for ; a != nil; a = a.above {
		if usage, _ := a.Total(); usage.Requests > 0 {
			return true
		}
	}
	return false
}

// Spent is the bound that leaves nothing for another model call, if any: the
// account's own, or one above it.
func (a *Account) Spent() *plan.LimitHit {
	for ; a != nil; a = a.above {
		usage, cost := a.Total()
		switch lim := a.limits; {
		case lim.Tokens > 0 && usage.Tokens() >= lim.Tokens:
			return &plan.LimitHit{
				Kind:  "tokens",
				Value: float64(usage.Tokens()),
				Max:   float64(lim.Tokens),
				Of:    a.of,
			}
		case lim.CostUSD > 0 && cost >= lim.CostUSD:
			return &plan.LimitHit{
				Kind:  "cost",
				Value: cost,
				Max:   lim.CostUSD,
				Of:    a.of,
			}
		}
	}
	return nil
}

// Dearest is the most that an input of this many tokens can cost, however much of
// it is put into a cache, and what an answer of so many costs after it, in USD.
func Dearest(price func(plan.Usage) (usd float64, known bool), input, output int64) (in, out float64, known bool) {
	for _, u := range []plan.Usage{
		{Requests: 1, Input: input},
		{Requests: 1, Input: input, Written: input},
		{Requests: 1, Input: input, WrittenHour: input},
	} {
		bare, ok := price(u)
		if !ok {
			return 0, 0, false
		}
		if in > 0 && bare <= in {
			continue
		}
		u.Output = output
		whole, _ := price(u)
		in, out = bare, whole-bare
	}
	return in, out, true
}
