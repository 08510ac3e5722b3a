package scripted

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// chatRequest is a Chat Completions request. Decoding refuses any field that is not
// here, as a strict provider does.
type chatRequest struct {
	Model           string            `json:"model"`
	Messages        []json.RawMessage `json:"messages"`
	Tools           []requestTool     `json:"tools"`
	ToolChoice      json.RawMessage   `json:"tool_choice"`
	ParallelCalls   *bool             `json:"parallel_tool_calls"`
	Stream          bool              `json:"stream"`
	StreamOptions   *streamOptions    `json:"stream_options"`
	Temperature     *float64          `json:"temperature"`
	TopP            *float64          `json:"top_p"`
	MaxTokens       *int64            `json:"max_tokens"`
	MaxCompletion   *int64            `json:"max_completion_tokens"`
	ReasoningEffort string            `json:"reasoning_effort"`
	ResponseFormat  *responseFormat   `json:"response_format"`
	Stop            json.RawMessage   `json:"stop"`
	Seed            *int64            `json:"seed"`
	PromptCacheKey  string            `json:"prompt_cache_key"`
	User            string            `json:"user"`
	Metadata        map[string]string `json:"metadata"`

	// decoded is Messages, decoded and checked.
	decoded []message
	size    int // bytes of the body
	gateway *Gateway
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type requestTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	} `json:"function"`
}

type responseFormat struct {
	Type   string `json:"type"`
	Schema *struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"schema"`
		Strict      *bool           `json:"strict"`
	} `json:"json_schema"`
}

// readChat decodes and checks a request to a gateway.
func readChat(body []byte, g *Gateway) (*chatRequest, error) {
	req := chatRequest{size: len(body), gateway: g}
	if err := decodeStrict(body, &req); err != nil {
		return nil, err
	}
	if err := req.check(); err != nil {
		return nil, err
	}
	for i, raw := range req.Messages {
		var m message
		if err := decodeStrict(raw, &m); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		if err := cmp.Or(g.checkFields(&m), m.check()); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		if err := g.checkReturned(&m, i); err != nil {
			return nil, err
		}
		req.decoded = append(req.decoded, m)
	}
	if err := checkOrder(req.decoded); err != nil {
		return nil, err
	}
	return &req, nil
}

// asks implements question.
func (r *chatRequest) asks() *commonRequest {
	q := &commonRequest{
		model:  r.Model,
		stream: r.Stream,
		size:   r.size,
		cached: r.sentBefore(),
	}
	for i := range r.decoded {
		switch m := &r.decoded[i]; m.Role {
		case "user":
			q.turns = append(q.turns, turn{text: m.text()})
		case "assistant":
			q.turns = append(q.turns, turn{assistant: true})
		}
	}
	return q
}

// sentBefore is how many of the request's bytes the request before it held:
// all but the last assistant message and what follows.
func (r *chatRequest) sentBefore() int {
	fresh := 0
	for i := len(r.decoded) - 1; i >= 0; i-- {
		fresh += len(r.Messages[i])
		if r.decoded[i].Role == "assistant" {
			return r.size - fresh
		}
	}
	return 0
}

// decodeStrict decodes one JSON value into v and refuses unknown fields.
func decodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one JSON value")
	}
	return nil
}

// check looks at all but the messages.
func (r *chatRequest) check() error {
	switch {
	case r.Model == "":
		return errors.New("model is missing")
	case len(r.Messages) == 0:
		return errors.New("messages is empty")
	case r.StreamOptions != nil && !r.Stream:
		return errors.New("stream_options is only allowed when stream is true")
	case r.MaxTokens != nil && r.MaxCompletion != nil:
		return errors.New("max_tokens and max_completion_tokens cannot both be set")
	case r.Tools != nil && len(r.Tools) == 0:
		return errors.New("tools is an empty list; leave it out")
	case len(r.Tools) == 0 && (r.ToolChoice != nil || r.ParallelCalls != nil):
		return errors.New("tool_choice and parallel_tool_calls are only allowed with tools")
	}
	seen := map[string]bool{}
	for i, t := range r.Tools {
		name := t.Function.Name
		switch {
		case t.Type != "function":
			return fmt.Errorf("tools[%d]: type is %q, not \"function\"", i, t.Type)
		case !validName(name):
			return fmt.Errorf("tools[%d]: name %q is not 1 to 64 letters, digits, _ or -", i, name)
		case seen[name]:
			return fmt.Errorf("tools[%d]: there are two tools named %q", i, name)
		case t.Function.Parameters != nil && !isObject(t.Function.Parameters):
			return fmt.Errorf("tools[%d]: parameters of %q is not a JSON schema object", i, name)
		}
		seen[name] = true
	}
	return r.ResponseFormat.check()
}

func (f *responseFormat) check() error {
	if f == nil {
		return nil
	}
	switch f.Type {
	case "text", "json_object":
		return nil
	case "json_schema":
		if f.Schema == nil || !validName(f.Schema.Name) || !isObject(f.Schema.Schema) {
			return errors.New(
				"response_format: json_schema needs a name of letters, digits, _ or - and a schema object",
			)
		}
		return nil
	}
	return fmt.Errorf("response_format: type is %q, not text, json_object or json_schema", f.Type)
}

// validName reports whether s may name a tool or a schema.
func validName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}
