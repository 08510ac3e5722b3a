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
		Role      string     `json:"role,omitempty"`
		Content   *string    `json:"content,omitempty"`
		Reasoning string     `json:"reasoning_content,omitempty"`
		Refusal   string     `json:"refusal,omitempty"`
		ToolCalls []callPart `json:"tool_calls,omitempty"`
	}
	callPart struct {
		Index    *int     `json:"index,omitempty"`
		ID       string   `json:"id,omitempty"`
		Type     string   `json:"type,omitempty"`
		Function callText `json:"function"`
	}
	callText struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
)

// chatUsage is the usage object of an answer.
func chatUsage(u Usage) json.RawMessage {
	written := ""
	if n := u.Written + u.WrittenHour; n > 0 {
		written = fmt.Sprintf(`,"cache_write_tokens":%d`, n)
	}
	return json.RawMessage(fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
		`"prompt_tokens_details":{"cached_tokens":%d%s},"completion_tokens_details":{"reasoning_tokens":%d}}`,
		u.Input, u.Output, u.Input+u.Output, u.Cached, written, u.Reasoning))
}

// chatFinish is the finish reason in the words of this wire.
func chatFinish(finish string) string {
	switch finish {
	case finishPause:
		return "stop"
	case finishWindow:
		return "length"
	}
	return finish
}

// chatCallID is the id of the i-th call of an answer.
func chatCallID(a *answer, i int) string { return fmt.Sprintf("call_%s_%d", a.tag, i) }

// plain implements question.
func (r *chatRequest) plain(a *answer) ([]byte, error) {
	said := &content{Role: "assistant", Refusal: a.refusal}
	if !a.redacted {
		said.Reasoning = a.reasoning
	}
	if a.text != "" || len(a.calls) == 0 {
		said.Content = &a.text
	}
	for i, c := range a.calls {
		part := callPart{ID: chatCallID(a, i), Type: "function", Function: callText{Name: c.name, Arguments: c.args}}
		said.ToolCalls = append(said.ToolCalls, part)
	}
	finish := chatFinish(a.finish)
	data, err := plan.MarshalCompact(completion{
		ID:      "chatcmpl-" + a.tag,
		Object:  "chat.completion",
		Created: created,
		Model:   a.model,
		Choices: []choice{{Message: said, Finish: &finish}},
		Usage:   chatUsage(a.usage),
	})
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return data, nil
}

// streamed implements question. [DONE] is the last chunk, unless the answer
// fails.
func (r *chatRequest) streamed(a *answer) ([]chunk, error) {
	deltas, lastArgs := chatDeltas(a)
	bodies := make([]completion, 0, len(deltas)+2)
	for i := range deltas {
		bodies = append(bodies, completion{Choices: []choice{{Delta: &deltas[i]}}})
	}
	if !a.failed {
		finish := chatFinish(a.finish)
		bodies = append(bodies, completion{Choices: []choice{{Delta: &content{}, Finish: &finish}}})
	}
	if r.StreamOptions != nil && r.StreamOptions.IncludeUsage {
		for i := range bodies {
			bodies[i].Usage = json.RawMessage("null")
		}
		bodies = append(bodies, completion{Choices: []choice{}, Usage: chatUsage(a.usage)})
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
		return append(out, chunk{data: WireChat.errorEvent("", len(out))}), nil
	}
	return append(out, chunk{data: sse("", "[DONE]")}), nil
}

// chatDeltas are what the chunks of an answer add, and the index of the first
// that carries arguments of the last call.
func chatDeltas(a *answer) (deltas []content, lastArgs int) {
	empty := ""
	deltas = []content{{Role: "assistant", Content: &empty}}
	if !a.redacted {
		for _, p := range pieces(a.reasoning, pieceSize) {
			deltas = append(deltas, content{Reasoning: p})
		}
	}
	for _, p := range pieces(a.text, pieceSize) {
		deltas = append(deltas, content{Content: &p})
	}
	for _, p := range pieces(a.refusal, pieceSize) {
		deltas = append(deltas, content{Refusal: p})
	}
	for i, c := range a.calls {
		begin := callPart{Index: &i, ID: chatCallID(a, i), Type: "function", Function: callText{Name: c.name}}
		deltas = append(deltas, content{ToolCalls: []callPart{begin}})
		lastArgs = len(deltas)
		for _, p := range argPieces(c.args) {
			deltas = append(deltas, content{ToolCalls: []callPart{{Index: &i, Function: callText{Arguments: p}}}})
		}
	}
	return deltas, lastArgs
}
