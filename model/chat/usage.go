package chat

import (
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"

	"github.com/plan-engine/plan"
)

// count takes the usage so far; servers that repeat it count up.
//
// Some leave reasoning out of what they call completion tokens, so the output is
// what the total has beyond the prompt, where that is more. What was written to a
// cache, and what the call cost, stand beside it under names of several gateways.
func (a *assembly) count(u sdk.CompletionUsage) {
	extra := u.JSON.ExtraFields
	details := u.PromptTokensDetails.JSON.ExtraFields
	cached := u.PromptTokensDetails.CachedTokens
	if cached == 0 { // DeepSeek's name for it
		cached = numberOf(extra["prompt_cache_hit_tokens"].Raw())
	}
	written := max(
		numberOf(extra["cache_creation_input_tokens"].Raw()),
		numberOf(details["cache_write_tokens"].Raw()),
		numberOf(details["cache_creation_tokens"].Raw()),
	)
	input := max(0, u.PromptTokens)
	output := max(0, u.CompletionTokens, u.TotalTokens-input)
	cached = min(max(0, cached), input)
	a.usage = plan.Usage{
		Requests:  1,
		Input:     input,
		Cached:    cached,
		Written:   min(max(0, written), input-cached),
		Output:    output,
		Reasoning: min(max(0, u.CompletionTokensDetails.ReasoningTokens), output),
	}
	var cost float64
	if raw := extra["cost"].Raw(); raw != "" && raw != "null" && json.Unmarshal([]byte(raw), &cost) == nil &&
		cost >= 0 {
		a.cost = &cost
	}
}

// numberOf reads a count; anything else is 0.
func numberOf(raw string) int64 {
	var n int64
	if raw == "" || json.Unmarshal([]byte(raw), &n) != nil {
		return 0
	}
	return n
}
