package scripted

import (
	"encoding/json"
	"fmt"

	"github.com/plan-engine/plan"
)

// The JSON of an answer, streamed or plain.
type (
	completion struct {
		ID      string          `json:"id"`
		Object  string          `json:"object"`
		Created int64           `json:"created"`
		Model   string          `json:"model"`
		Choices []choice        `json:"choices"`
		Usage   json.RawMessage `json:"usage,omitempty"`
	}
	choice struct {
		Index   int      `json:"index"`
		Delta   *content `json:"delta,omitempty"`
		Message *content `json:"message,omitempty"`
		Finish  *string  `json:"finish_reason"`
	}
	content struct {
		Role          string     `json:"role,omitempty"`
		Content       *string    `json:"content,omitempty"`
		Reasoning     *string    `json:"reasoning_content,omitempty"`
		ReasoningText *string    `json:"reasoning,omitempty"`
		Details       []detail   `json:"reasoning_details,omitempty"`
		Refusal       string     `json:"refusal,omitempty"`
		ToolCalls     []callPart `json:"tool_calls,omitempty"`
	}
	callPart struct {
		Index    *int          `json:"index,omitempty"`
		ID       string        `json:"id,omitempty"`
		Type     string        `json:"type,omitempty"`
		Function callText      `json:"function"`
		Extra    *extraContent `json:"extra_content,omitempty"`
	}
	callText struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
)

// chatUsage is the usage object of an answer.
func (g *Gateway) chatUsage(u Usage) json.RawMessage {
	written, cost := "", ""
	if n := u.Written + u.WrittenHour; n > 0 {
		written = fmt.Sprintf(`,"cache_write_tokens":%d`, n)
	}
	if g.Cost != nil {
		cost = fmt.Sprintf(`,"cost":%s`, encoded(*g.Cost))
	}
	completed := u.Output
	if g.UsageWithoutReasoning {
		completed -= u.Reasoning
	}
	return json.RawMessage(fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
		`"prompt_tokens_details":{"cached_tokens":%d%s},"completion_tokens_details":{"reasoning_tokens":%d}%s}`,
		u.Input, completed, u.Input+u.Output, u.Cached, written, u.Reasoning, cost))
}

// chatFinish is the finish reason in the words of this wire; nil for none.
func (g *Gateway) chatFinish(finish string) *string {
	switch {
	case g.NoFinish:
		return nil
	case finish == finishPause:
		finish = "stop"
	case finish == finishWindow:
		finish = "length"
	}
	return &finish
}

// plain implements question.
func (r *chatRequest) plain(a *answer) ([]byte, error) {
	g := r.gateway
	data, err := plan.MarshalCompact(completion{
		ID:      "chatcmpl-" + a.tag,
		Object:  "chat.completion",
		Created: created,
		Model:   a.model,
		Choices: []choice{{Message: g.chatMessage(a), Finish: g.chatFinish(a.finish)}},
		Usage:   g.chatUsage(a.usage),
	})
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return data, nil
}

// chatMessage is an answer as one message.
func (g *Gateway) chatMessage(a *answer) *content {
	msg := &content{Role: "assistant", Refusal: a.refusal}
	reasoning, text := a.visibleReasoning(), a.text
	if reasoning != "" || g.showsEmpty(a) {
		switch g.field() {
		case ReasoningContent:
			msg.Reasoning = &reasoning
		case ReasoningThink:
			text = thinkText(reasoning) + text
		default:
			msg.ReasoningText = &reasoning
		}
	}
	if g.field() == ReasoningDetails {
		msg.Details = g.details(a)
	}
	if text != "" || len(a.calls) == 0 {
		msg.Content = &text
	}
	for i, c := range a.calls {
		msg.ToolCalls = append(msg.ToolCalls, callPart{
			ID:       g.chatCallID(a, i),
			Type:     "function",
			Function: callText{Name: c.name, Arguments: c.args},
			Extra:    g.extra(a, i),
		})
	}
	return msg
}

// showsEmpty reports whether an answer has the field for its reasoning even
// when it has no reasoning.
func (g *Gateway) showsEmpty(a *answer) bool {
	return g.NeedsReasoning && len(a.calls) > 0 && (g.field() == ReasoningContent || g.field() == ReasoningText)
}

// streamed implements question. [DONE] is the last chunk, unless the answer
// fails.
func (r *chatRequest) streamed(a *answer) ([]chunk, error) {
	g := r.gateway
	deltas, lastArgs := g.chatDeltas(a)
	bodies := make([]completion, 0, len(deltas)+2)
	for i := range deltas {
		bodies = append(bodies, completion{Choices: []choice{{Delta: &deltas[i]}}})
	}
	if finish := g.chatFinish(a.finish); finish != nil && !a.failed {
		bodies = append(bodies, completion{Choices: []choice{{Delta: &content{}, Finish: finish}}})
	}
	if r.StreamOptions != nil && r.StreamOptions.IncludeUsage {
		for i := range bodies {
			bodies[i].Usage = json.RawMessage("null")
		}
		bodies = append(bodies, completion{Choices: []choice{}, Usage: g.chatUsage(a.usage)})
	}

	out := make([]chunk, 0, len(bodies)+1)
	for i, b := range bodies {
		b.ID = "chatcmpl-" + a.tag
		b.Object = "chat.completion.chunk"
		b.Created = created
		b.Model = a.model
		data, err := plan.MarshalCompact(b)
		if err != nil {
			return nil, fmt.Errorf("encode chunk: %w", err)
		}
		args := len(a.calls) > 0 && i >= lastArgs && i < len(deltas)
		out = append(out, chunk{data: sse("", string(data)), args: args})
	}
	if a.failed {
		return append(out, chunk{data: chatProtocol().errorEvent("", len(out))}), nil
	}
	return append(out, chunk{data: sse("", "[DONE]")}), nil
}

// chatDeltas are what the chunks of an answer add, and the index of the first
// that carries arguments of the last call.
func (g *Gateway) chatDeltas(a *answer) (deltas []content, lastArgs int) {
	empty := ""
	deltas = append([]content{{Role: "assistant", Content: &empty}}, g.reasoningDeltas(a)...)
	for _, p := range pieces(a.text, pieceSize) {
		deltas = append(deltas, content{Content: &p})
	}
	for _, p := range pieces(a.refusal, pieceSize) {
		deltas = append(deltas, content{Refusal: p})
	}
	for i, c := range a.calls {
		begin := callPart{
			Index:    &i,
			ID:       g.chatCallID(a, i),
			Type:     "function",
			Function: callText{Name: c.name},
			Extra:    g.extra(a, i),
		}
		if g.field() == ReasoningDetails {
			deltas = append(deltas, content{Details: []detail{g.callDetail(a, i)}})
		}
		deltas = append(deltas, content{ToolCalls: []callPart{begin}})
		lastArgs = len(deltas)
		for _, p := range argPieces(c.args) {
			deltas = append(deltas, content{ToolCalls: []callPart{{Index: &i, Function: callText{Arguments: p}}}})
		}
	}
	return deltas, lastArgs
}

// reasoningDeltas are the pieces of an answer's reasoning.
func (g *Gateway) reasoningDeltas(a *answer) []content {
	reasoning := a.visibleReasoning()
	if reasoning == "" {
		if g.showsEmpty(a) {
			return []content{g.reasoningDelta("")}
		}
		return nil
	}
	text := reasoning
	if g.field() == ReasoningThink {
		text = thinkText(reasoning)
	}
	var out []content
	for _, p := range pieces(text, pieceSize) {
		out = append(out, g.reasoningDelta(p))
	}
	if g.field() == ReasoningDetails {
		out = append(out, content{Details: []detail{textDetail("", seal("text", reasoning))}})
	}
	return out
}
