package loop

import (
	"cmp"
	"context"
	"fmt"

	"github.com/plan-engine/plan"
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
// paid. While other calls have set money aside it waits for what they leave; it
// is an error if that is too little.
func (l *Loop) reserve(ctx context.Context, call Call, tokens int64) (Call, error) {
	l.giveBack()
	purse := l.account.purse
	for {
		purse.mu.Lock()
		b, limited := l.account.balance()
		next, usd, ok := l.bounded(call, tokens, b.left-b.held, limited)
		if ok && usd > 0 {
			l.account.hold(usd)
			l.setAside = usd
		}
		freed := purse.freed
		purse.mu.Unlock()
		if ok {
			return next, nil
		}
		if b.held <= 0 {
			return call, &overBudget{hit: b.hit}
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return call, context.Cause(ctx)
		}
	}
}

// giveBack ends what was set aside for the latest call.
func (l *Loop) giveBack() {
	if l.setAside <= 0 {
		return
	}
	l.account.purse.mu.Lock()
	defer l.account.purse.mu.Unlock()
	l.account.free(l.setAside)
	l.setAside = 0
}

// bounded is a call of this many tokens with no more output than what the window
// and the money that is left pay for, and what it is likely to cost at the most.
// It reports false if the money does not pay for a short answer.
func (l *Loop) bounded(call Call, tokens int64, left float64, limited bool) (_ Call, usd float64, ok bool) {
	asked := int64(call.Settings.MaxOutputTokens)
	in, out, known := 0.0, 0.0, false
	if limited {
		in, out, known = l.dearest(call.Model, tokens)
	}
	if known && left < in+out {
		return call, 0, false
	}
	if known {
		longest := l.possible(call, tokens)
		if fits := min((left-in)/out*leastOutput, 1<<40); out > 0 && int64(fits) < longest {
			asked, longest = int64(fits), int64(fits)
		}
		usd = in + out*float64(min(longest, likelyOutput))/leastOutput
	}
	if k := l.learnt; k.how == plan.WindowSaid && k.model == call.Model && asked > 0 {
		// A server that names its window counts the room for the answer into it.
		asked = min(asked, max(k.window-tokens, leastOutput))
	}
	call.Settings.MaxOutputTokens = int(asked)
	return call, usd, true
}

// possible is how long the answer to a call can become, in tokens.
func (l *Loop) possible(call Call, tokens int64) int64 {
	most := int64(mostOutput)
	if l.cfg.MaxOutput != nil {
		most = cmp.Or(int64(max(l.cfg.MaxOutput(call.Model), 0)), most)
	}
	if set := int64(call.Settings.MaxOutputTokens); set > 0 {
		most = min(most, set)
	}
	if room := l.compactor.room; room.Window > tokens && call.Model == l.cfg.Name {
		most = min(most, room.Window-tokens)
	}
	return most
}

// unaffordable is the limit on cost that the next request might break even with a
// short answer, if any. What others have set aside may be given back.
func (l *Loop) unaffordable() *plan.LimitHit {
	l.account.purse.mu.Lock()
	b, limited := l.account.balance()
	l.account.purse.mu.Unlock()
	if !limited {
		return nil
	}
	in, out, known := l.dearest(l.cfg.Name, l.size.tokens(l.counted))
	if !known || b.left >= in+out {
		return nil
	}
	return &b.hit
}

// dearest is the most that an input of this many tokens can cost, however much of
// it is put into a cache, and what a short answer to it costs, in USD.
func (l *Loop) dearest(model string, tokens int64) (in, out float64, known bool) {
	for _, u := range []plan.Usage{
		{Requests: 1, Input: tokens},
		{Requests: 1, Input: tokens, Written: tokens},
		{Requests: 1, Input: tokens, WrittenHour: tokens},
	} {
		bare, ok := l.cfg.Price(model, u)
		if !ok {
			return 0, 0, false
		}
		if in > 0 && bare <= in {
			continue
		}
		u.Output = leastOutput
		whole, _ := l.cfg.Price(model, u)
		in, out = bare, whole-bare
	}
	return in, out, true
}
