package anthropic

import (
	"cmp"
	"strconv"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/plan-engine/plan/model/wire"
)

// Bounds on what a model may think, in tokens.
const (
	leastBudget = 1024 // the wire takes no smaller one
	// leastAnswer is what a budget leaves for the answer.
	leastAnswer = 8192
)

// The efforts that have a meaning here. Others are sent as they are.
const (
	effortNone    = "none"
	effortOff     = "off"
	effortMinimal = "minimal"
	effortLow     = "low"
	effortHigh    = "high"
	effortXHigh   = "xhigh"
	effortMax     = "max"
)

// budgetOf is what an effort is in tokens of thinking.
func budgetOf(effort string) int64 {
	switch effort {
	case effortMinimal:
		return leastBudget
	case effortLow:
		return 4096
	case effortHigh:
		return 16384
	case effortXHigh, effortMax:
		return 32768
	}
	return 8192
}

// firstAdaptive is the first version of Claude that decides itself how much to
// think. Later ones refuse a budget, and earlier ones refuse to decide.
var firstAdaptive = [2]int{4, 6}

// thinkingOf guesses from a model's name how it is told to think. Models of other
// houses behind this wire know budgets.
func thinkingOf(model string) string {
	_, name, ok := strings.Cut(strings.ToLower(model), "claude")
	if !ok {
		return ThinkingBudget
	}
	v := versionIn(name)
	if v == [2]int{} || v[0] > firstAdaptive[0] || v[0] == firstAdaptive[0] && v[1] >= firstAdaptive[1] {
		return ThinkingAdaptive
	}
	return ThinkingBudget
}

// versionIn reads the version out of the rest of a name such as -opus-4-5-20251101
// or -3-7-sonnet; it is zero where there is none.
func versionIn(name string) (v [2]int) {
	parts := strings.FieldsFunc(
		name,
		func(r rune) bool { return r != 'v' && (r < 'a' || r > 'z') && (r < '0' || r > '9') },
	)
	found := 0
	for _, part := range parts {
		n, err := strconv.Atoi(part)
		switch {
		case err != nil && found > 0, err == nil && len(part) > 2: // what follows is a date, or a form of the model
			return v
		case err == nil:
			v[found] = n
			found++
		}
		if found == len(v) {
			break
		}
	}
	return v
}

// think writes how much the model is to think, and how long its answer may be.
// Without an effort nothing is said about thinking: what models do then is their
// own habit.
func (p *protocol) think(r *request) {
	effort := strings.ToLower(strings.TrimSpace(r.call.Settings.Effort))
	budget := int64(0)
	switch {
	case r.mends.Has(partTurn):
	case effort == effortNone, effort == effortOff:
		if r.may(wire.Optional{
			Part:  partOff,
			From:  "disabled",
			Words: []string{"disabled", "thinking"},
		}) {
			r.params.Thinking.OfDisabled = &sdk.ThinkingConfigDisabledParam{}
		}
	case effort != "":
		budget = r.effort(effort)
	}
	room := int64(0)
	if r.params.Thinking.OfAdaptive != nil {
		room = budgetOf(effort)
	}
	p.limit(r, budget, room)
	r.bind()
	if r.params.Thinking.OfEnabled != nil || r.params.Thinking.OfAdaptive != nil {
		r.optional = append(r.optional, wire.Optional{
			Part:  partTurn,
			Words: []string{"expected `thinking`", "must start with a thinking block"},
			Once:  true,
		})
	}
}

// effort says how much the model is to think, in the way that it knows. What it
// returns is the budget, where that is the way.
func (r *request) effort(effort string) (budget int64) {
	mode := r.caps.Thinking
	mended, again := r.mends[partThinking]
	if again {
		mode = cmp.Or(mended, ThinkingNone)
	}
	part := wire.Optional{
		Part: partThinking,
		From: mode,
		Words: []string{
			"thinking.type", "thinking:", "adaptive thinking", "extended thinking", "'adaptive'", "`adaptive`",
			"budget_tokens", "thinking is not", "support thinking", "thinking parameter", "parameter thinking",
			"'thinking'", "`thinking` param", `\"thinking\"`, "field thinking",
			"field `thinking`", "argument supplied: thinking",
		},
	}
	switch mode {
	case ThinkingAdaptive:
		if !again {
			part.To = ThinkingBudget
		}
		r.optional = append(r.optional, part)
		r.adaptive(effort)
	case ThinkingBudget:
		if !again {
			part.To = ThinkingAdaptive
		}
		r.optional = append(r.optional, part)
		return budgetOf(effort)
	}
	return 0
}

// adaptive lets the model decide, with an effort to go by. What it thinks is
// asked for in words: newer models keep it to themselves otherwise.
func (r *request) adaptive(effort string) {
	thinking := &sdk.ThinkingConfigAdaptiveParam{}
	if r.may(wire.Optional{
		Part:  partDisplay,
		From:  "summarized",
		Words: []string{"display"},
	}) {
		thinking.Display = sdk.ThinkingConfigAdaptiveDisplaySummarized
	}
	r.params.Thinking.OfAdaptive = thinking
	if effort == effortMinimal {
		effort = effortLow
	}
	most, again := r.mends[partEffort]
	part := wire.Optional{
		Part:  partEffort,
		From:  effort,
		Words: []string{"effort", "output_config:", "output_config'", "`output_config`", `output_config\"`},
	}
	switch {
	case again && most == "":
		return
	case effort != effortXHigh && effort != effortMax:
	case again:
		effort, part.From = most, most
	default:
		part.To = effortHigh // which all know that know efforts
	}
	r.optional = append(r.optional, part)
	r.params.OutputConfig.Effort = sdk.OutputConfigEffort(effort)
}

// bind says what becomes of earlier thinking that the server does not take any
// more. Newer models look at whether all that was said before it is as it was, and
// can be asked to leave it out themselves; else none is sent.
func (r *request) bind() {
	how, again := r.mends[partBlocks]
	if again && how == "" {
		return
	}
	part := wire.Optional{
		Part: partBlocks,
		Words: []string{
			"signature", "block_binding", "bound to a different", "in `thinking` block", "cannot be modified",
			"final block in an assistant",
		},
		Once: true,
	}
	thinking := &r.params.Thinking
	able := r.caps.Thinking == ThinkingAdaptive && !r.mends.Has(partTurn) && thinking.OfEnabled == nil &&
		thinking.OfDisabled == nil
	switch {
	case able && again:
		part.Words = append(part.Words, "adaptive", "beta")
		r.drop()
	case able:
		part.To, part.Once = dropBlock, false
	}
	r.optional = append(r.optional, part)
}

// drop asks the server to leave out what it would refuse.
func (r *request) drop() {
	thinking := &r.params.Thinking
	if thinking.OfAdaptive == nil {
		thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{} // what such models do by themselves
	}
	thinking.OfAdaptive.SetExtraFields(map[string]any{
		"block_binding": sdk.BetaThinkingBlockBindingParam{PrefixMismatchBehavior: dropBlock},
	})
	r.beta = string(sdk.AnthropicBetaThinkingBindingControls2026_08_01)
}

// dropBlock is what a server is asked to do with thinking that it would refuse.
const dropBlock = "drop_block"

// limit says how long the answer may be. What is thought counts as part of it, so
// a limit that was set for the answer has the budget added to it, and the default
// has room for what a model that decides itself may think. A budget that leaves
// too little for the answer is cut, and one that is too small to be taken is none.
func (p *protocol) limit(r *request, budget, room int64) {
	limit := int64(max(0, r.call.Settings.MaxOutputTokens))
	most := int64(0)
	if p.cfg.MaxOutput != nil {
		most = max(0, p.cfg.MaxOutput(r.call.Model))
	}
	tokens := cmp.Or(limit, most, DefaultMaxOutput+room)
	switch {
	case budget > 0 && limit > 0:
		tokens += budget
	case budget > 0:
		tokens = max(tokens, budget+leastAnswer)
	}
	if most > 0 {
		tokens = min(tokens, max(most, limit)) // what a person sets may be more than is known
	}
	if n, err := strconv.ParseInt(r.mends[wire.PartOutput], 10, 64); err == nil && n > 0 {
		tokens = min(tokens, n)
	}
	budget = min(budget, tokens-max(leastBudget, tokens/4))
	if budget >= leastBudget {
		r.params.Thinking.OfEnabled = &sdk.ThinkingConfigEnabledParam{BudgetTokens: budget}
	}
	r.params.MaxTokens = tokens
	r.optional = append(r.optional, wire.Optional{Part: wire.PartOutput, From: strconv.FormatInt(tokens, 10)})
}
