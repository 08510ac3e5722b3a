package responses

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3/responses"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// ticks are how many units of xAI's cost are a dollar.
const ticks = 1e10

// meta takes what a response says beside its items.
func (a *assembly) meta(r *sdk.Response) {
	a.model = cmp.Or(a.model, wire.Valid(r.Model))
	if r.JSON.Usage.Valid() {
		a.count(&r.Usage)
	}
}

// count takes the usage. The output of servers that leave reasoning out of it is
// what the total says.
func (a *assembly) count(u *sdk.ResponseUsage) {
	input := max(0, u.InputTokens)
	cached := min(max(0, u.InputTokensDetails.CachedTokens), input)
	output := max(0, u.OutputTokens, u.TotalTokens-input)
	a.usage = plan.Usage{
		Input:     input,
		Cached:    cached,
		Written:   min(max(0, u.InputTokensDetails.CacheWriteTokens), input-cached),
		Output:    output,
		Reasoning: min(max(0, u.OutputTokensDetails.ReasoningTokens), output),
	}
	a.charge(u.JSON.ExtraFields["cost_in_usd_ticks"].Raw(), ticks)
	a.charge(u.JSON.ExtraFields["cost"].Raw(), 1)
}

// charge takes what the server says that the call cost, in units of which so many
// are a dollar.
func (a *assembly) charge(raw string, units float64) {
	var cost float64
	if raw == "" || raw == "null" || json.Unmarshal([]byte(raw), &cost) != nil || cost < 0 {
		return
	}
	cost /= units
	a.cost = &cost
}

// Answer implements [wire.Assembly].
func (a *assembly) Answer() loop.Answer {
	items := slices.Clone(a.items)
	slices.SortStableFunc(items, func(x, y *item) int { return cmp.Compare(x.index, y.index) })
	paired := slices.ContainsFunc(items, (*item).carries)
	refused, calls := false, 0
	var blocks []plan.Block
	for _, it := range items {
		b, ok := it.block(a.provider, paired)
		switch {
		case !ok:
			continue
		case b.Type == plan.BlockToolCall && a.tool != "" && it.name == a.tool:
			b = plan.Block{Type: plan.BlockText, Text: b.Args}
		case b.Type == plan.BlockToolCall:
			calls++
		}
		refused = refused || it.refused()
		blocks = append(blocks, b)
	}
	usage := a.usage
	usage.Requests = 1
	answer := loop.Answer{
		Message: plan.Message{Role: plan.RoleAssistant, Blocks: blocks},
		Stop:    a.stop(refused, calls),
		Usage:   usage,
		Model:   a.model,
		CostUSD: a.cost,
	}
	if word := a.word(); word != string(answer.Stop) {
		answer.Finish = word
	}
	return answer
}

// word is the server's own word for why the answer is not complete; "" if it is.
func (a *assembly) word() string {
	if a.status != string(sdk.ResponseStatusIncomplete) {
		return ""
	}
	return cmp.Or(a.reason, a.status)
}

// stop says why the model stopped. A refusal counts beside calls. Words that are
// not known say nothing against an answer, unless an item of it is cut off.
func (a *assembly) stop(refused bool, calls int) loop.StopReason {
	word := strings.ReplaceAll(a.word(), "-", "_")
	switch word {
	case "content_filter",
		"content_filtered",
		"safety",
		"moderation",
		"sensitive",
		"recitation",
		"blocklist",
		"prohibited_content":
		return loop.StopFiltered
	case "refusal", "refused":
		return loop.StopRefused
	}
	if refused {
		return loop.StopRefused
	}
	switch word {
	case "max_output_tokens", "max_tokens", "length", "max_length", "model_length", "model_context_window_exceeded":
		return loop.StopLength
	}
	if word != "" && a.cut() {
		return loop.StopLength
	}
	if calls > 0 {
		return loop.StopTools
	}
	return loop.StopEnd
}

// cut reports whether the server says that an item is not all there.
func (a *assembly) cut() bool {
	return slices.ContainsFunc(
		a.items,
		func(it *item) bool { return it.status == "incomplete" || it.status == "in_progress" },
	)
}
