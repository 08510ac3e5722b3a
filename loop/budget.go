package loop

import (
	"cmp"
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
)

// overBudget is the failure of a call that was not made, because the limit on
// cost might not hold with it.
type overBudget struct{ hit plan.LimitHit }

// Error implements error.
func (e *overBudget) Error() string {
	return fmt.Sprintf("the limit on cost leaves too little for another call: %.4g of %.4g USD are spent", e.hit.Value, e.hit.Max)
}

// bounded is a call of this many tokens whose answer fits what is left of the
// window and of the money. It is an error if that is too little.
func (l *Loop) bounded(call Call, tokens int64) (Call, error) {
	if hit := l.unaffordable(call.Model, tokens); hit != nil {
		return call, &overBudget{hit: *hit}
	}
	asked := int64(call.Settings.MaxOutputTokens)
	if fits, limited := l.affordable(call.Model, tokens); limited && fits < l.possible(call, tokens) {
		asked = fits
	}
	if k := l.learnt; k.how == plan.WindowSaid && k.model == call.Model && asked > 0 {
		// A server that names its window counts the room for the answer into it.
		asked = min(asked, max(k.window-tokens, leastOutput))
	}
	call.Settings.MaxOutputTokens = int(asked)
	return call, nil
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

// unaffordable is the limit on cost that a call with an input of this many tokens
// might break even with a short answer, if any.
func (l *Loop) unaffordable(model string, tokens int64) *plan.LimitHit {
	left, hit, limited := l.account.left()
	if !limited {
		return nil
	}
	in, out, known := l.dearest(model, tokens)
	if !known || left >= in+out {
		return nil
	}
	return &hit
}

// affordable is how long an answer may become before a limit on cost breaks, in
// tokens.
func (l *Loop) affordable(model string, tokens int64) (output int64, limited bool) {
	left, _, limited := l.account.left()
	if !limited {
		return 0, false
	}
	in, out, known := l.dearest(model, tokens)
	if !known || out <= 0 {
		return 0, false
	}
	// So many answers fit that the length does not matter: no number that large.
	fits := min((left-in)/out*leastOutput, 1<<40)
	return int64(fits), true
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
