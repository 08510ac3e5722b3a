package loop

import (
	"cmp"
	"context"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/account"
)

const (
	// leastOutput is the shortest answer that a call is made for, in tokens,
	// where a limit on cost decides.
	leastOutput = 1_024
	// mostOutput stands for the longest answer of a model where that is not
	// known, in tokens.
	mostOutput = 128_000
	// likelyOutput is how long an answer is likely to become at the most, in
	// tokens: so much is set aside while sub-agents work at the same time.
	likelyOutput = 8_192
)

// overBudget is the failure of a call that was not made, because the limit on
// cost might not hold with it.
type overBudget struct{ hit plan.LimitHit }

// Error implements error.
func (e *overBudget) Error() string {
	return fmt.Sprintf(
		"the limit on cost leaves too little for another call: %.4g of %.4g USD are spent",
		e.hit.Value,
		e.hit.Max,
	)
}

// reserve is a call of this many tokens whose answer fits what is left of the
// window and of the money. What it is likely to cost is set aside until it is
// paid; it is an error if too little is left.
func (l *Loop) reserve(ctx context.Context, call Call, tokens int64) (Call, error) {
	next := call
	hit, err := l.account.Reserve(ctx, func(left float64, limited bool) (usd float64, ok bool) {
		next, usd, ok = l.bounded(call, tokens, left, limited)
		return usd, ok
	})
	switch {
	case err != nil:
		return call, err
	case hit != nil:
		return call, &overBudget{hit: *hit}
	}
	return next, nil
}

// bounded is a call of this many tokens with no more output than what the window
// and the money that is left pay for, and what it is likely to cost at the most.
// It reports false if the money does not pay for a short answer.
func (l *Loop) bounded(call Call, tokens int64, left float64, limited bool) (_ Call, usd float64, ok bool) {
	limit := int64(call.Settings.MaxOutputTokens)
	in, out, known := 0.0, 0.0, false
	if limited {
		in, out, known = l.worstCost(call.Model, tokens)
	}
	if known && left < in+out {
		return call, 0, false
	}
	if known {
		longest := l.longestAnswer(call, tokens)
		if fits := min((left-in)/out*leastOutput, 1<<40); out > 0 && int64(fits) < longest {
			limit, longest = int64(fits), int64(fits)
		}
		usd = in + out*float64(min(longest, likelyOutput))/leastOutput
	}
	if k := l.learnedWindow; k.how == plan.WindowSaid && k.model == call.Model && limit > 0 {
		// A server that names its window counts the room for the answer into it.
		limit = min(limit, max(k.window-tokens, leastOutput))
	}
	call.Settings.MaxOutputTokens = int(limit)
	return call, usd, true
}

// longestAnswer is how long the answer to a call can become, in tokens.
func (l *Loop) longestAnswer(call Call, tokens int64) int64 {
	most := int64(mostOutput)
	if l.cfg.MaxOutput != nil {
		most = cmp.Or(int64(max(l.cfg.MaxOutput(call.Model), 0)), most)
	}
	if set := int64(call.Settings.MaxOutputTokens); set > 0 {
		most = min(most, set)
	}
	if room := l.compactor.Room; room.Window > tokens && call.Model == l.cfg.Name {
		most = min(most, room.Window-tokens)
	}
	return most
}

// unaffordable is the limit on cost that the next request might break even with a
// short answer, if any.
func (l *Loop) unaffordable() *plan.LimitHit {
	in, out, known := l.worstCost(l.cfg.Name, l.size.Tokens(l.counted))
	if !known {
		return nil
	}
	return l.account.Unaffordable(in + out)
}

// worstCost is the most that an input of this many tokens can cost, and what a
// short answer to it costs, in USD.
func (l *Loop) worstCost(model string, tokens int64) (in, out float64, known bool) {
	price := func(u plan.Usage) (float64, bool) { return l.cfg.Price(model, u) }
	return account.Dearest(price, tokens, leastOutput)
}
