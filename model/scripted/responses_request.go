package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// responsesRequest is a Responses request. Decoding refuses any field that is
// not here, as a strict provider does.
type responsesRequest struct {
	Model              string            `json:"model"`
	Input              json.RawMessage   `json:"input"`
	Instructions       *string           `json:"instructions"`
	Tools              []responsesTool   `json:"tools"`
	ToolChoice         json.RawMessage   `json:"tool_choice"`
	ParallelCalls      *bool             `json:"parallel_tool_calls"`
	MaxToolCalls       *int64            `json:"max_tool_calls"`
	Stream             bool              `json:"stream"`
	StreamOptions      *obfuscation      `json:"stream_options"`
	Store              *bool             `json:"store"`
	Include            []string          `json:"include"`
	PreviousResponseID string            `json:"previous_response_id"`
	Temperature        *float64          `json:"temperature"`
	TopP               *float64          `json:"top_p"`
	MaxOutputTokens    *int64            `json:"max_output_tokens"`
	Reasoning          *reasoningOptions `json:"reasoning"`
	Text               *textOptions      `json:"text"`
	Truncation         string            `json:"truncation"`
	ServiceTier        string            `json:"service_tier"`
	PromptCacheKey     string            `json:"prompt_cache_key"`
	CacheRetention     string            `json:"prompt_cache_retention"`
	SafetyIdentifier   string            `json:"safety_identifier"`
	User               string            `json:"user"`
	Metadata           map[string]string `json:"metadata"`

	// items is Input, decoded and checked.
	items   []inputItem
	size    int // bytes of the body
	gateway *Gateway
}

type obfuscation struct {
	Include *bool `json:"include_obfuscation"`
}

type reasoningOptions struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type textOptions struct {
	Verbosity string `json:"verbosity"`
	Format    *struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"schema"`
		Strict      *bool           `json:"strict"`
	} `json:"format"`
}

type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
	Execution   string          `json:"execution"`     // of a search for tools
	Deferred    *bool           `json:"defer_loading"` // of a tool that was found
}

// toolSearch is the type of the tool that finds tools, findTools the name by which scripts call it.
const (
	toolSearch = "tool_search"
	findTools  = "find_tools"
)

// searches reports whether the request has a tool that finds tools.
func (r *responsesRequest) searches() bool {
	return slices.ContainsFunc(r.Tools, func(t responsesTool) bool { return t.Type == toolSearch })
}

// includeEncrypted asks for reasoning that can be sent back.
const includeEncrypted = "reasoning.encrypted_content"

// includes are what a request may ask to be included.
var includes = []string{includeEncrypted, "message.output_text.logprobs", "message.input_image.image_url"}

// minOutput is the least output that can be asked for, in tokens.
const minOutput = 16

// readResponses decodes and checks a request to a gateway.
func readResponses(body []byte, g *Gateway) (*responsesRequest, error) {
	req := responsesRequest{size: len(body), gateway: g}
	if err := decodeStrict(body, &req); err != nil {
		return nil, err
	}
	if err := req.check(); err != nil {
		return nil, err
	}
	if err := req.checkTools(); err != nil {
		return nil, err
	}
	items, err := readItems(req.Input)
	if err != nil {
		return nil, err
	}
	req.items = items
	if err := checkItems(items, req.stored()); err != nil {
		return nil, err
	}
	return &req, nil
}

// stored reports whether the server is to keep what is said, which is what a
// request asks for that does not say.
func (r *responsesRequest) stored() bool { return r.Store == nil || *r.Store }

// check looks at all but the tools and the input.
func (r *responsesRequest) check() error {
	switch {
	case r.Model == "":
		return wrong("Missing required parameter: 'model'.")
	case r.PreviousResponseID != "":
		return wrong("Previous response with id '%s' not found.", r.PreviousResponseID)
	case r.StreamOptions != nil && !r.Stream:
		return wrong("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case r.MaxOutputTokens != nil && *r.MaxOutputTokens < minOutput:
		return wrong(
			"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= %d, but got %d instead.",
			minOutput,
			*r.MaxOutputTokens,
		)
	case r.Truncation != "" && r.Truncation != "auto" && r.Truncation != "disabled":
		return wrong("Invalid value: '%s'. Supported values are: 'auto' and 'disabled'.", r.Truncation)
	}
	for i, name := range r.Include {
		if !slices.Contains(includes, name) {
			return wrong("Invalid value: '%s' (include[%d]). Supported values are: %q.", name, i, includes)
		}
	}
	return r.Text.check()
}

// checkTools looks at the tools.
func (r *responsesRequest) checkTools() error {
	switch {
	case r.Tools != nil && len(r.Tools) == 0:
		return errors.New("tools is an empty list; leave it out")
	case len(r.Tools) == 0 && (r.ToolChoice != nil || r.ParallelCalls != nil):
		return errors.New("tool_choice and parallel_tool_calls are only allowed with tools")
	}
	seen := map[string]bool{}
	for i, t := range r.Tools {
		switch {
		case t.Type == toolSearch && t.Execution == "client" && t.Name == "" && isObject(t.Parameters):
			continue
		case t.Type != "function":
			return wrong("Invalid value: '%s' (tools[%d].type). This server knows 'function'.", t.Type, i)
		case t.Name == "":
			return wrong("Missing required parameter: 'tools[%d].name'.", i)
		case !validName(t.Name):
			return wrong("Invalid 'tools[%d].name': string does not match pattern. "+
				"Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", i)
		case seen[t.Name]:
			return fmt.Errorf("tools[%d]: there are two tools named %q", i, t.Name)
		case t.Parameters != nil && !isObject(t.Parameters):
			return wrong("Invalid schema for function '%s': it is not a JSON schema object.", t.Name)
		}
		if t.Strict != nil && *t.Strict {
			if err := checkStrictSchema(t.Parameters); err != nil {
				return wrong("Invalid schema for function '%s': %s", t.Name, err)
			}
		}
		seen[t.Name] = true
	}
	return nil
}

func (o *textOptions) check() error {
	if o == nil || o.Format == nil {
		return nil
	}
	f := o.Format
	switch f.Type {
	case "text", "json_object":
		return nil
	case "json_schema":
		if !validName(f.Name) || !isObject(f.Schema) {
			return errors.New("text.format: json_schema needs a name of letters, digits, _ or - and a schema object")
		}
		if f.Strict == nil || !*f.Strict {
			return nil
		}
		if err := checkStrictSchema(f.Schema); err != nil {
			return wrong("Invalid schema for response_format '%s': %s", f.Name, err)
		}
		return nil
	}
	return wrong(
		"Invalid value: '%s' (text.format.type). Supported values are: 'json_object', 'json_schema', and 'text'.",
		f.Type,
	)
}

// asks implements question.
func (r *responsesRequest) asks() *commonRequest {
	return &commonRequest{
		model:  r.Model,
		stream: r.Stream,
		turns:  turnsOf(r.items),
		size:   r.size,
		cached: r.sentBefore(),
	}
}

// turnsOf finds who spoke. What one answer held, its reasoning, text and calls,
// is one turn.
func turnsOf(items []inputItem) []turn {
	var out []turn
	answering := false
	for i := range items {
		it := &items[i]
		switch {
		case it.Role == "user":
			out = append(out, turn{text: it.text})
		case it.output() && !answering:
			out = append(out, turn{assistant: true})
		}
		answering = it.output()
	}
	return out
}

// sentBefore is how many of the request's bytes the request before it held:
// all but what the last answer held and what follows.
func (r *responsesRequest) sentBefore() int {
	fresh, within := 0, false
	for i := len(r.items) - 1; i >= 0; i-- {
		output := r.items[i].output()
		if within && !output {
			return r.size - fresh
		}
		within = within || output
		fresh += r.items[i].size
	}
	if within {
		return r.size - fresh
	}
	return 0
}
