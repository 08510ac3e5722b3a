package chat

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// assembly puts an answer together from its chunks.
type assembly struct {
	provider   string
	asked      string // the model, as it was asked for
	endings    *endings
	formatTool string // the tool whose call is the answer
	live       func(loop.Delta)

	ids    wire.IDs
	chunks int // how many chunks were added
	calls  []*call

	text, reasoning, refused strings.Builder
	thinking                 thinking
	thoughts                 map[string]bool // the names that reasoning came under
	details                  details

	finish string // as the server says it, in lower case
	usage  plan.Usage
	cost   *float64
	model  string
}

// Complete implements [wire.Assembly].
func (a *assembly) Complete() bool { return a.finish != "" }

// marked takes the end mark. Where a server never says why it stopped, a whole
// answer before the mark has ended.
func (a *assembly) marked() {
	if a.finish != "" {
		return
	}
	whole := a.text.Len() > 0 || len(a.calls) > 0
	for _, c := range a.calls {
		whole = whole && c.name != "" && json.Valid([]byte(c.args.String()))
	}
	if whole && a.endings.none(a.asked) {
		a.finish = "stop"
	}
}

// add takes the next chunk.
func (a *assembly) add(chunk sdk.ChatCompletionChunk) {
	a.chunks++
	if a.model == "" {
		a.model = wire.Valid(chunk.Model)
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
			a.endings.reason(a.asked)
		}
		// Some servers report usage beside the reason for stopping.
		var usage sdk.CompletionUsage
		if raw := choice.JSON.ExtraFields["usage"].Raw(); strings.HasPrefix(raw, "{") &&
			json.Unmarshal([]byte(raw), &usage) == nil {
			a.count(usage)
		}
	}
}

func (a *assembly) delta(d sdk.ChatCompletionChunkChoiceDelta) {
	content, thought := d.Content, ""
	if raw := d.JSON.Content.Raw(); strings.HasPrefix(raw, "[") {
		content, thought = readParts(raw)
	}
	thought += a.thought(d.JSON.ExtraFields)
	visible, inside := a.thinking.split(content)
	a.say(plan.BlockReasoning, &a.reasoning, thought+inside)
	a.say(plan.BlockText, &a.text, visible)
	a.say(plan.BlockText, &a.refused, d.Refusal)
	for _, t := range d.ToolCalls {
		a.call(piece{
			chunk:   a.chunks,
			index:   t.Index,
			indexed: t.JSON.Index.Valid(),
			id:      t.ID,
			name:    t.Function.Name,
			args:    argumentText(t.Function.JSON.Arguments.Raw()),
			extras:  t.JSON.ExtraFields,
		})
	}
	//nolint:staticcheck // deprecated, but there are servers that still send it
	if f := d.FunctionCall; f.Name != "" || f.Arguments != "" { // the form before tool_calls
		a.call(piece{
			chunk:   a.chunks,
			indexed: true,
			name:    f.Name,
			args:    f.Arguments,
		})
	}
}

// thought reads the reasoning of a chunk, and notes the name that it is under.
// Servers that send several of these send the same words more than once.
func (a *assembly) thought(extra map[string]respjson.Field) string {
	reasoning := ""
	for _, name := range []string{partReasoning, partThought} {
		raw := extra[name].Raw()
		if !strings.HasPrefix(raw, `"`) {
			continue
		}
		a.thoughts[name] = true
		if reasoning == "" {
			reasoning = stringOf(raw)
		}
	}
	words := a.details.add(extra[partDetails].Raw())
	if reasoning == "" {
		reasoning = words
	}
	return reasoning
}

func (a *assembly) say(kind plan.BlockType, to *strings.Builder, text string) {
	if text == "" {
		return
	}
	to.WriteString(text)
	a.live(loop.Delta{Kind: kind, Text: wire.Valid(text)})
}

// call takes a piece of a tool call.
func (a *assembly) call(p piece) {
	c := slotOf(a.calls, p)
	if c == nil {
		c = &call{
			index: p.index,
			out:   a.ids.Next(p.id),
			chunk: p.chunk,
		}
		a.calls = append(a.calls, c)
	}
	c.add(p)
	switch {
	case a.formatTool != "" && c.name == a.formatTool:
		if p.args != "" {
			a.live(loop.Delta{Kind: plan.BlockText, Text: wire.Valid(p.args)})
		}
	case p.args != "" || p.name != "":
		a.live(loop.Delta{
			Kind: plan.BlockToolCall,
			Call: c.out,
			Name: wire.Valid(c.name),
			Text: wire.Valid(p.args),
		})
	}
}

// failed reports an answer that the server ended because it failed.
func (a *assembly) failed() error {
	switch a.finish {
	case "error", "network_error", "insufficient_system_resource":
		return wire.Served("the model server gave up on the answer: %s", a.finish)
	}
	return nil
}

// Answer implements [wire.Assembly]. Nothing said makes an answer without blocks.
func (a *assembly) Answer() loop.Answer {
	if rest := a.thinking.heldBack(); rest != "" {
		a.say(plan.BlockText, &a.text, rest)
	}
	var blocks []plan.Block
	if thought := a.thoughtBlock(); thought.Text != "" || thought.Opaque != nil {
		blocks = append(blocks, thought)
	}
	for _, text := range []*strings.Builder{&a.text, &a.refused} {
		if text.Len() > 0 {
			blocks = append(blocks, plan.Block{Type: plan.BlockText, Text: wire.Valid(text.String())})
		}
	}
	calls := 0
	for _, c := range a.calls {
		if a.formatTool != "" && c.name == a.formatTool {
			blocks = append(blocks, plan.Block{Type: plan.BlockText, Text: wire.Valid(c.args.String())})
			continue
		}
		calls++
		blocks = append(blocks, c.block(a.provider))
	}
	answer := loop.Answer{
		Message: plan.Message{Role: plan.RoleAssistant, Blocks: blocks},
		Stop:    a.stop(calls),
		Usage:   a.usage,
		CostUSD: a.cost,
		Model:   a.model,
	}
	answer.Usage.Requests = 1
	switch a.finish {
	case "stop", "tool_calls", "function_call", string(answer.Stop):
	default:
		answer.Finish = wire.Valid(a.finish)
	}
	return answer
}

// thoughtBlock is the reasoning, with the names that it goes back under. A field
// without a value stands for the block's text. An answer that made no calls and
// whose reasoning came without words has none.
func (a *assembly) thoughtBlock() plan.Block {
	fields := map[string]json.RawMessage{}
	if a.reasoning.Len() > 0 || len(a.calls) > 0 {
		for _, name := range slices.Sorted(maps.Keys(a.thoughts)) {
			fields[name] = json.RawMessage("null")
		}
	}
	if raw := a.details.raw(); raw != nil {
		fields[partDetails] = raw
		delete(fields, partThought) // the same words, for people
	}
	return plan.Block{
		Type:   plan.BlockReasoning,
		Text:   wire.Valid(a.reasoning.String()),
		Opaque: wire.Seal(Name, a.provider, fields),
	}
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
			inner, _ := readParts(string(p.Thinking))
			thought += inner
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
