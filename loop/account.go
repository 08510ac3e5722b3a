package loop

import (
	"sync"

	"github.com/plan-engine/plan"
)

// account counts what a conversation consumes. A sub-agent's account stands
// under its parent's, so that what it consumes counts there too, while it does.
type account struct {
	limits plan.Limits
	above  *account
	purse  *purse  // shared with the accounts above and below
	calls  int     // on their way, that have set money aside; under purse.mu
	held   float64 // USD that they may still cost; under purse.mu

	mu    sync.Mutex
	usage plan.Usage
	cost  float64 // USD
}

// pay adds the usage of a model call.
func (a *account) pay(u plan.Usage, usd float64) {
	for ; a != nil; a = a.above {
		a.mu.Lock()
		a.usage = a.usage.Add(u)
		a.cost += usd
		a.mu.Unlock()
	}
}

// total is what was consumed so far.
func (a *account) total() (plan.Usage, float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.usage, a.cost
}

// purse lets sub-agents that work at the same time see what the others are about
// to spend.
type purse struct {
	mu    sync.Mutex
	freed chan struct{} // closed when something is given back, and made anew
}

func newPurse() *purse { return &purse{freed: make(chan struct{})} }

// hold sets money aside for a call here and above, under the lock of the purse.
func (a *account) hold(usd float64) {
	for ; a != nil; a = a.above {
		a.calls++
		a.held += usd
	}
}

// free gives back what a call has set aside, under the lock of the purse.
func (a *account) free(usd float64) {
	close(a.purse.freed)
	a.purse.freed = make(chan struct{})
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
// the purse. Without a limit on cost it reports false.
func (a *account) balance() (b balance, limited bool) {
	for ; a != nil; a = a.above {
		most := a.limits.CostUSD
		if most <= 0 {
			continue
		}
		_, cost := a.total()
		if rest := most - cost; !limited || rest-a.held < b.left-b.held {
			limited = true
			b = balance{
				left: rest,
				held: a.held,
				hit: plan.LimitHit{
					Kind:  "cost",
					Value: cost,
					Max:   most,
				},
			}
		}
	}
	return b, limited
}

// served reports whether a model server has answered in this run.
func (a *account) served() bool {
	for ; a != nil; a = a.above {
		if usage, _ := a.total(); usage.Requests > 0 {
			return true
		}
	}
	return false
}

// spent is the bound that leaves nothing for another model call, if any: the
// account's own, or one above it.
func (a *account) spent() *plan.LimitHit {
	for ; a != nil; a = a.above {
		usage, cost := a.total()
		switch lim := a.limits; {
		case lim.Tokens > 0 && usage.Tokens() >= lim.Tokens:
			return &plan.LimitHit{
				Kind:  "tokens",
				Value: float64(usage.Tokens()),
				Max:   float64(lim.Tokens),
			}
		case lim.CostUSD > 0 && cost >= lim.CostUSD:
			return &plan.LimitHit{
				Kind:  "cost",
				Value: cost,
				Max:   lim.CostUSD,
			}
		}
	}
	return nil
}
