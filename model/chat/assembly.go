package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// assembly puts an answer together from its chunks.
type assembly struct {
	formatTool string // the tool whose call is the answer
	live       func(loop.Delta)

	ids    ids
	chunks int // how many chunks were added
	calls  []*call

	text, reasoning, refused strings.Builder
	finish                   string // as the server says it, in lower case
	usage                    plan.Usage
	model                    string
}

func newAssembly(req loop.Call, formatTool string, live func(loop.Delta)) *assembly {
	if live == nil {
		live = func(loop.Delta) {}
	}
	return &assembly{formatTool: formatTool, live: live, ids: ids{said: req.Messages}, usage: plan.Usage{Requests: 1}}
}

// add takes the next chunk.
func (a *assembly) add(chunk sdk.ChatCompletionChunk) {
	a.chunks++
	if a.model == "" {
		a.model = valid(chunk.Model)
	}
	if chunk.JSON.Usage.Valid() {
		a.count(chunk.Usage)
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // only one answer was asked for
		}
		a.delta(choice.Delta)
		if choice.FinishReason != "" {
			a.finish = strings.ToLower(choice.FinishReason)
		}
		// Some servers report usage beside the reason for stopping.
		var usage sdk.CompletionUsage
		if raw := choice.JSON.ExtraFields["usage"].Raw(); strings.HasPrefix(raw, "{") && json.Unmarshal([]byte(raw), &usage) == nil {
			a.count(usage)
		}
	}
}

func (a *assembly) delta(d sdk.ChatCompletionChunkChoiceDelta) {
	content, thought := d.Content, ""
	if raw := d.JSON.Content.Raw(); strings.HasPrefix(raw, "[") {
		content, thought = readParts(raw)
	}
	// Servers that send both of these send the same words twice.
	extra := d.JSON.ExtraFields
	if said := stringOf(extra["reasoning_content"].Raw()); said != "" {
		thought += said
	} else {
		thought += stringOf(extra["reasoning"].Raw())
	}
	a.say(plan.BlockReasoning, &a.reasoning, thought)
	a.say(plan.BlockText, &a.text, content)
	a.say(plan.BlockText, &a.refused, d.Refusal)
	for _, t := range d.ToolCalls {
		p := piece{
			chunk: a.chunks, index: t.Index, indexed: t.JSON.Index.Valid(), id: t.ID,
			name: t.Function.Name, args: argumentText(t.Function.JSON.Arguments.Raw()), extras: t.JSON.ExtraFields,
		}
		a.call(p)
	}
	//nolint:staticcheck // deprecated, but there are servers that still send it
	if f := d.FunctionCall; f.Name != "" || f.Arguments != "" { // the form before tool_calls
		a.call(piece{chunk: a.chunks, indexed: true, name: f.Name, args: f.Arguments})
	}
}

func (a *assembly) say(kind plan.BlockType, to *strings.Builder, text string) {
	if text == "" {
		return
	}
	to.WriteString(text)
	a.live(loop.Delta{Kind: kind, Text: valid(text)})
}

// call takes a piece of a tool call.
func (a *assembly) call(p piece) {
	c := slotOf(a.calls, p)
	if c == nil {
		c = &call{index: p.index, out: a.ids.next(p.id), chunk: p.chunk}
		a.calls = append(a.calls, c)
	}
	c.add(p)
	switch {
	case a.formatTool != "" && c.name == a.formatTool:
		if p.args != "" {
			a.live(loop.Delta{Kind: plan.BlockText, Text: valid(p.args)})
		}
	case p.args != "" || p.name != "":
		a.live(loop.Delta{Kind: plan.BlockToolCall, Call: c.out, Name: valid(c.name), Text: valid(p.args)})
	}
}

// count takes the usage so far; servers that repeat it count up.
func (a *assembly) count(u sdk.CompletionUsage) {
	cached := u.PromptTokensDetails.CachedTokens
	if cached == 0 { // DeepSeek's name for it
		_ = json.Unmarshal([]byte(u.JSON.ExtraFields["prompt_cache_hit_tokens"].Raw()), &cached)
	}
	input, output := max(0, u.PromptTokens), max(0, u.CompletionTokens)
	a.usage = plan.Usage{
		Requests: 1, Input: input, Cached: min(max(0, cached), input),
		Output: output, Reasoning: max(0, u.CompletionTokensDetails.ReasoningTokens),
	}
}

// failed reports an answer that the server ended because it failed.
func (a *assembly) failed() error {
	switch a.finish {
	case "error", "network_error", "insufficient_system_resource":
		return servedFailure("the model server gave up on the answer: %s", a.finish)
	}
	return nil
}

// finished returns the answer. Nothing said makes an answer without blocks.
func (a *assembly) finished() loop.Answer {
	var blocks []plan.Block
	if a.reasoning.Len() > 0 {
		blocks = append(blocks, plan.Block{Type: plan.BlockReasoning, Text: valid(a.reasoning.String())})
	}
	for _, text := range []*strings.Builder{&a.text, &a.refused} {
		if text.Len() > 0 {
			blocks = append(blocks, plan.Block{Type: plan.BlockText, Text: valid(text.String())})
		}
	}
	calls := 0
	for _, c := range a.calls {
		if a.formatTool != "" && c.name == a.formatTool {
			blocks = append(blocks, plan.Block{Type: plan.BlockText, Text: valid(c.args.String())})
			continue
		}
		calls++
		blocks = append(blocks, c.block())
	}
	answer := loop.Answer{
		Message: plan.Message{Role: plan.RoleAssistant, Blocks: blocks},
		Stop:    a.stop(calls), Usage: a.usage, Model: a.model,
	}
	switch a.finish {
	case "stop", "tool_calls", "function_call", string(answer.Stop):
	default:
		answer.Finish = valid(a.finish)
	}
	return answer
}

// stop says why the model stopped. A refusal counts beside calls and under any
// finish reason. Servers disagree on whether a model that calls tools stops for
// that, and have words of their own, so beyond what ends an answer early the
// calls decide.
func (a *assembly) stop(calls int) loop.StopReason {
	switch strings.ReplaceAll(a.finish, "-", "_") {
	case "content_filter", "content_filtered", "safety", "image_safety", "sensitive", "recitation", "blocklist",
		"prohibited_content", "spii", "guardrail_intervened", "error_toxic":
		return loop.StopFiltered
	case "refusal", "refused":
		return loop.StopRefused
	}
	if a.refused.Len() > 0 {
		return loop.StopRefused
	}
	switch a.finish {
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded":
		return loop.StopLength
	}
	if calls > 0 {
		return loop.StopTools
	}
	return loop.StopEnd
}

// readParts reads content that is a list of parts, as servers with reasoning
// models send it; a thinking part is a list of text parts.
func readParts(raw string) (text, thought string) {
	var parts []struct {
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal([]byte(raw), &parts) != nil {
		return "", ""
	}
	for _, p := range parts {
		if len(p.Thinking) > 0 {
			said, _ := readParts(string(p.Thinking))
			thought += said
			continue
		}
		text += p.Text
	}
	return text, thought
}

// argumentText reads arguments, which some servers send as an object.
func argumentText(raw string) string {
	if strings.HasPrefix(raw, "{") {
		return raw
	}
	return stringOf(raw)
}

// stringOf decodes a JSON string; anything else is "".
func stringOf(raw string) string {
	if !strings.HasPrefix(raw, `"`) {
		return ""
	}
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return ""
	}
	return s
}

// valid keeps what cannot be stored as text out of the journal.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
