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

// left is what the limits on cost leave, in USD, and the limit that leaves
// least. Without such a limit here or above it reports false.
func (a *account) left() (usd float64, hit plan.LimitHit, limited bool) {
	for ; a != nil; a = a.above {
		most := a.limits.CostUSD
		if most <= 0 {
			continue
		}
		_, cost := a.total()
		if rest := most - cost; !limited || rest < usd {
			usd, limited = rest, true
			hit = plan.LimitHit{Kind: "cost", Value: cost, Max: most}
		}
	}
	return usd, hit, limited
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
			return &plan.LimitHit{Kind: "tokens", Value: float64(usage.Tokens()), Max: float64(lim.Tokens)}
		case lim.CostUSD > 0 && cost >= lim.CostUSD:
			return &plan.LimitHit{Kind: "cost", Value: cost, Max: lim.CostUSD}
		}
	}
	return nil
}
