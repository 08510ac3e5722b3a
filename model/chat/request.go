package openai

import (
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/plan-engine/plan/loop"
)

// The parameters that a request can do without, or say in another way.
const (
	paramUsage       = "stream_options"
	paramFormat      = "response_format"
	paramEffort      = "reasoning_effort"
	paramTemperature = "temperature"
	paramMaxNew      = "max_completion_tokens"
	paramMaxOld      = "max_tokens"
	paramReasoning   = "reasoning_content"
	paramMetadata    = "metadata"
)

// body is an encoded request. Nothing but the call, the configuration and what
// the server refused decides its bytes.
type body struct {
	params   sdk.ChatCompletionNewParams // without messages and tools
	messages [][]byte                    // the inside of a JSON array, to be joined by commas
	tools    [][]byte                    // the same; nothing is sent for none
	// optional names what is in params and need not be.
	optional []string
	// formatTool is the tool whose call is the answer, if there is one.
	formatTool string
}

// named returns the optional parameters that the text of a refusal speaks of.
func (b body) named(text string) []string {
	var out []string
	for _, name := range b.optional {
		if slices.ContainsFunc(words(name), func(w string) bool { return strings.Contains(text, strings.ToLower(w)) }) {
			out = append(out, name)
		}
	}
	return out
}

// words are the names under which servers complain about a parameter.
func words(name string) []string {
	switch name {
	case paramFormat:
		return []string{name, "json_schema", "json mode"}
	case paramMaxNew, paramMaxOld:
		return []string{paramMaxNew, paramMaxOld}
	}
	return []string{name}
}

// encode makes the body of a call, without what the server refused. What a
// strict server could refuse is in it only when the call asks for it.
func (c *Client) encode(req loop.Call, refused nameSet) (body, error) {
	caps := Caps{}
	if c.cfg.Caps != nil {
		caps = c.cfg.Caps(req.Model)
	}
	enc := encoder{refused: refused, reasoning: caps.SendReasoning}
	messages, err := c.conversation(&enc, req)
	if err != nil {
		return body{}, err
	}
	b := body{params: sdk.ChatCompletionNewParams{Model: req.Model, Messages: []sdk.ChatCompletionMessageParamUnion{}}, messages: messages}
	if enc.may(paramUsage) {
		b.params.StreamOptions.IncludeUsage = sdk.Bool(true)
	}
	if t := req.Settings.Temperature; t != nil && enc.may(paramTemperature) {
		b.params.Temperature = sdk.Float(*t)
	}
	if effort := req.Settings.Effort; effort != "" && enc.may(paramEffort) {
		b.params.ReasoningEffort = shared.ReasoningEffort(effort)
	}
	if len(req.Metadata) > 0 && enc.may(paramMetadata) {
		b.params.Metadata = req.Metadata
	}
	c.limitOutput(&enc, &b, req.Settings.MaxOutputTokens)
	tools := append(slices.Clip(req.Tools), c.askFormat(&enc, &b, req.Format, caps)...)
	if b.tools, err = c.fixed.tools(tools); err != nil {
		return body{}, err
	}
	b.optional = enc.optional
	return b, nil
}

// limitOutput sets the output limit under the name the server knows. A limit
// is never dropped: when the first name is refused, the other one is final.
func (c *Client) limitOutput(enc *encoder, b *body, limit int) {
	if limit <= 0 {
		return
	}
	first, second := paramMaxOld, paramMaxNew
	if c.base.Hostname() == openAIHost {
		first, second = second, first
	}
	name := second
	if enc.may(first) {
		name = first
	}
	if name == paramMaxNew {
		b.params.MaxCompletionTokens = sdk.Int(int64(limit))
	} else {
		b.params.MaxTokens = sdk.Int(int64(limit))
	}
}

// askFormat asks for an answer in the call's format, in the configured way. It
// may take one more tool.
func (c *Client) askFormat(enc *encoder, b *body, format *loop.Format, caps Caps) []loop.Spec {
	if format == nil {
		return nil
	}
	mode := c.cfg.Structured
	if mode == StructuredAuto && (caps.StructuredOutput || c.base.Hostname() == openAIHost) {
		mode = StructuredSchema
	}
	switch {
	case mode == StructuredTool:
		b.formatTool = format.Name
		return []loop.Spec{{Name: format.Name, Description: "Give the final answer.", Schema: format.Schema}}
	case mode == StructuredSchema && enc.may(paramFormat):
		b.params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: format.Name, Strict: sdk.Bool(true), Schema: format.Schema,
			},
		}
	}
	return nil
}

// functionTool describes a tool. The SDK's own parameters are a map, which
// would reorder a canonical schema, so ours go in as they are.
func functionTool(spec loop.Spec) sdk.ChatCompletionToolUnionParam {
	return sdk.ChatCompletionFunctionTool(param.Override[shared.FunctionDefinitionParam](struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}{spec.Name, spec.Description, spec.Schema}))
}
