package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/plan-engine/plan"
)

// pieceSize is how many bytes of text a streamed chunk carries at most, give
// or take a character; the chunks of a plain answer are plainSize bytes.
const (
	pieceSize = 24
	plainSize = 64
)

// created is the creation time of every answer, in Unix seconds: answers
// depend on nothing but the request and the scenario.
const created = 1_700_000_000

// answer is what the server is about to say.
type answer struct {
	id, model       string
	text, reasoning string
	refusal         string
	calls           []answerCall
	finish          string
	usage           Usage
}

type answerCall struct{ id, name, args string }

// makeAnswer turns a reply into the answer to req, which was size bytes of
// request of which the first cached bytes were sent before. Its ids are made
// of the place, so that the same request gets the same bytes.
func makeAnswer(r *Reply, at place, req *request, size, cached int) (answer, error) {
	tag := fmt.Sprintf("%s_%d_%d_%d", at.phase, at.attempt, at.user, at.turn)
	a := answer{
		id: "chatcmpl-" + tag, model: req.Model,
		text: r.Text, reasoning: r.Reasoning, refusal: r.Refusal, finish: r.Finish,
	}
	spoken := len(a.text) + len(a.reasoning) + len(a.refusal)
	for i := range r.Calls {
		args, err := r.Calls[i].arguments()
		if err != nil {
			return answer{}, err
		}
		a.calls = append(a.calls, answerCall{id: fmt.Sprintf("call_%s_%d", tag, i), name: r.Calls[i].Name, args: args})
		spoken += len(args) + len(r.Calls[i].Name)
	}
	if a.finish == "" {
		a.finish = "stop"
		if len(a.calls) > 0 {
			a.finish = "tool_calls"
		}
	}
	if r.Usage != nil {
		a.usage = *r.Usage
	} else {
		a.usage = Usage{
			Input: tokens(size), Cached: tokens(cached),
			Output: tokens(spoken), Reasoning: tokens(len(a.reasoning)),
		}
	}
	return a, nil
}

// tokens guesses how many tokens so many bytes are.
func tokens(size int) int64 { return int64(size+3) / 4 }

// chunk is one piece of a response on its way out.
type chunk struct {
	data []byte
	args bool // it carries arguments of the last call
}

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

// usageJSON is the usage object of an answer.
func (a *answer) usageJSON() json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,`+
		`"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}`,
		a.usage.Input, a.usage.Output, a.usage.Input+a.usage.Output, a.usage.Cached, a.usage.Reasoning))
}

// plain is the answer as one JSON document, in chunks.
func (a *answer) plain() ([]chunk, error) {
	said := &content{Role: "assistant", Reasoning: a.reasoning, Refusal: a.refusal}
	if a.text != "" || len(a.calls) == 0 {
		said.Content = &a.text
	}
	for _, c := range a.calls {
		said.ToolCalls = append(said.ToolCalls, callPart{ID: c.id, Type: "function", Function: callText{Name: c.name, Arguments: c.args}})
	}
	data, err := plan.MarshalCompact(completion{
		ID: a.id, Object: "chat.completion", Created: created, Model: a.model,
		Choices: []choice{{Message: said, Finish: &a.finish}}, Usage: a.usageJSON(),
	})
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	var out []chunk
	for _, part := range pieces(string(data), plainSize) {
		out = append(out, chunk{data: []byte(part)})
	}
	return out, nil
}

// streamed is the answer as server-sent events, [DONE] included.
func (a *answer) streamed(withUsage bool) ([]chunk, error) {
	empty := ""
	deltas := []content{{Role: "assistant", Content: &empty}}
	for _, p := range pieces(a.reasoning, pieceSize) {
		deltas = append(deltas, content{Reasoning: p})
	}
	for _, p := range pieces(a.text, pieceSize) {
		deltas = append(deltas, content{Content: &p})
	}
	for _, p := range pieces(a.refusal, pieceSize) {
		deltas = append(deltas, content{Refusal: p})
	}
	lastArgs := 0
	for i, c := range a.calls {
		deltas = append(deltas, content{ToolCalls: []callPart{{Index: &i, ID: c.id, Type: "function", Function: callText{Name: c.name}}}})
		lastArgs = len(deltas)
		// Two pieces at least, so that arguments can be cut in the middle.
		for _, p := range pieces(c.args, max(1, min(pieceSize, len(c.args)/2))) {
			deltas = append(deltas, content{ToolCalls: []callPart{{Index: &i, Function: callText{Arguments: p}}}})
		}
	}

	bodies := make([]completion, 0, len(deltas)+2)
	for i := range deltas {
		bodies = append(bodies, completion{Choices: []choice{{Delta: &deltas[i]}}})
	}
	bodies = append(bodies, completion{Choices: []choice{{Delta: &content{}, Finish: &a.finish}}})
	if withUsage {
		for i := range bodies {
			bodies[i].Usage = json.RawMessage("null")
		}
		bodies = append(bodies, completion{Choices: []choice{}, Usage: a.usageJSON()})
	}

	out := make([]chunk, 0, len(bodies)+1)
	for i, b := range bodies {
		b.ID, b.Object, b.Created, b.Model = a.id, "chat.completion.chunk", created, a.model
		data, err := plan.MarshalCompact(b)
		if err != nil {
			return nil, fmt.Errorf("encode chunk: %w", err)
		}
		out = append(out, chunk{data: sse(string(data)), args: len(a.calls) > 0 && i >= lastArgs && i < len(deltas)})
	}
	return append(out, chunk{data: sse("[DONE]")}), nil
}

// sse is data as one server-sent event.
func sse(data string) []byte {
	return []byte("data: " + strings.ReplaceAll(data, "\n", "\ndata: ") + "\n\n")
}

// pieces cuts text into parts of about size bytes, never inside a character.
func pieces(text string, size int) []string {
	var out []string
	for len(text) > size {
		n := boundary(text, size)
		out = append(out, text[:n])
		text = text[n:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}

// boundary is the first character boundary of text at or after n.
func boundary(text string, n int) int {
	for n < len(text) && !utf8.RuneStart(text[n]) {
		n++
	}
	return n
}
