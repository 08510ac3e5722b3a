package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// The parts that a request can do without, or say in another way.
const (
	partUsage       = "stream_options"
	partFormat      = "response_format"
	partEffort      = "reasoning_effort"
	partTemperature = "temperature"
	partMaxNew      = "max_completion_tokens"
	partMaxOld      = "max_tokens"
	partMetadata    = "metadata"
	partReasoning   = "reasoning_content"
	partThought     = "reasoning"
	partDetails     = "reasoning_details"
	partNull        = "content null"
	partSchema      = "schema keywords"
)

// toEvery is what partReasoning is mended to where a server demands the field.
const toEvery = "one in every answer"

// Encode implements [wire.Protocol]. What a strict server could refuse is in a
// request only when the call asks for it.
func (p *protocol) Encode(call loop.Call, mends wire.Mends) (wire.Request, error) {
	caps := Caps{}
	if p.cfg.Caps != nil {
		caps = p.cfg.Caps(call.Model)
	}
	o := &wire.Optionals{Mends: mends}
	messages, err := p.conversation(o, call, caps)
	if err != nil {
		return wire.Request{}, err
	}
	params := sdk.ChatCompletionNewParams{Model: call.Model, Messages: []sdk.ChatCompletionMessageParamUnion{}}
	p.settings(&params, o, call)
	formatTool, specs := p.askFormat(&params, o, call, caps)
	tools, err := p.tools(o, specs)
	if err != nil {
		return wire.Request{}, err
	}
	body, err := p.text(params, messages, tools)
	if err != nil {
		return wire.Request{}, err
	}
	return wire.Request{
		Path:     "chat/completions",
		Body:     body,
		Optional: o.List(),
		Tool:     formatTool,
	}, nil
}

// settings sets what the call asks for.
func (p *protocol) settings(params *sdk.ChatCompletionNewParams, o *wire.Optionals, call loop.Call) {
	if o.May(wire.Optional{Part: partUsage}) {
		params.StreamOptions.IncludeUsage = sdk.Bool(true)
	}
	if t := call.Settings.Temperature; t != nil {
		value := strconv.FormatFloat(*t, 'g', -1, 64)
		if o.May(wire.Optional{Part: partTemperature, From: value}) {
			params.Temperature = sdk.Float(*t)
		}
	}
	p.effort(params, o, call)
	if len(call.Metadata) > 0 && o.May(metadata()) {
		params.Metadata = call.Metadata
	}
	p.limitOutput(params, o, call.Settings.MaxOutputTokens)
}

// metadata is what a server may keep with the call. Errors of gateways have a
// field of that name, which says nothing about it.
func metadata() wire.Optional {
	return wire.Optional{
		Part: partMetadata,
		Words: []string{
			"'metadata'", "`metadata`", `\"metadata\"`, ": metadata", "metadata: ", "parameter metadata",
			"field metadata", "metadata parameter", "metadata is", "metadata not", `"param":"metadata"`,
			`"body","metadata"`, `"body", "metadata"`,
		},
	}
}

// effort sets the reasoning effort. There are models that take tools on this wire
// only with the effort "none", which then has to be said.
func (p *protocol) effort(params *sdk.ChatCompletionNewParams, o *wire.Optionals, call loop.Call) {
	effort := call.Settings.Effort
	if to, mended := o.Mends[partEffort]; mended {
		params.ReasoningEffort = shared.ReasoningEffort(to)
		return
	}
	if len(call.Tools) > 0 {
		o.May(wire.Optional{
			Part: partEffort,
			From: effort,
			To:   "none",
			Words: []string{
				"tools with reasoning_effort",
				"tools with reasoning effort",
				"tools are not supported with reasoning",
			},
		})
	}
	if effort != "" {
		o.Also(wire.Optional{Part: partEffort, From: effort})
		params.ReasoningEffort = shared.ReasoningEffort(effort)
	}
}

// limitOutput sets the output limit under the name the server knows. A limit
// is never dropped: when the first name is refused, the other one is final.
func (p *protocol) limitOutput(params *sdk.ChatCompletionNewParams, o *wire.Optionals, limit int) {
	if limit <= 0 {
		return
	}
	if most, err := strconv.Atoi(o.Mends[wire.PartOutput]); err == nil {
		limit = min(limit, most)
	}
	o.Also(wire.Optional{
		Part:  wire.PartOutput,
		From:  strconv.Itoa(limit),
		Words: []string{},
	})
	first, second := partMaxOld, partMaxNew
	if p.openAI {
		first, second = second, first
	}
	name := second
	if o.May(wire.Optional{
		Part:  first,
		To:    second,
		Words: []string{partMaxOld, partMaxNew},
	}) {
		name = first
	}
	if name == partMaxNew {
		params.MaxCompletionTokens = sdk.Int(int64(limit))
	} else {
		params.MaxTokens = sdk.Int(int64(limit))
	}
}

// askFormat asks for an answer in the call's format, in the configured way. It
// may take one more tool.
func (p *protocol) askFormat(
	params *sdk.ChatCompletionNewParams,
	o *wire.Optionals,
	call loop.Call,
	caps Caps,
) (string, []loop.Spec) {
	format := call.Format
	if format == nil {
		return "", call.Tools
	}
	mode := p.cfg.Structured
	if mode == wire.StructuredAuto && (caps.StructuredOutput || p.openAI) {
		mode = wire.StructuredSchema
	}
	switch {
	case mode == wire.StructuredTool:
		own := loop.Spec{
			Name:        format.Name,
			Description: "Give the final answer.",
			Schema:      format.Schema,
		}
		return format.Name, append(slices.Clip(call.Tools), own)
	case mode == wire.StructuredSchema && o.May(formatPart(len(call.Tools) == 0 || o.Mends.Has(partSchema))):
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name:   format.Name,
				Strict: sdk.Bool(true),
				Schema: format.Schema,
			},
		}
	}
	return "", call.Tools
}

// formatPart is the format of an answer. Alone says that no other schema in the
// request has keywords that a server could refuse.
func formatPart(alone bool) wire.Optional {
	words := []string{partFormat, "json_schema", "json mode"}
	if alone {
		words = append(words, wire.SchemaWords()...)
	}
	return wire.Optional{Part: partFormat, Words: words}
}

// tools encodes tools, without the schema keywords that the server refuses.
func (p *protocol) tools(o *wire.Optionals, specs []loop.Spec) ([][]byte, error) {
	plain := false
	if len(specs) > 0 {
		plain = !o.May(wire.Optional{
			Part:  partSchema,
			To:    "type, description, properties, required, items and enum alone",
			Words: wire.SchemaWords(),
		})
	}
	form := ""
	if plain {
		form = "plain"
	}
	return p.kept.Tools(specs, form, func(s loop.Spec) ([]byte, error) {
		if plain {
			s.Schema = wire.PlainSchema(s.Schema)
		}
		return plan.MarshalCompact(functionTool(s))
	})
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

// fieldMessages is the conversation.
const fieldMessages = "messages"

// noMessages is how the parameters begin that hold none.
var noMessages = []byte(`{"messages":[]`)

// text is the body as it is sent: the parameters with the messages in their place
// and the tools in theirs, which is the last, streamed.
func (p *protocol) text(params sdk.ChatCompletionNewParams, messages, tools [][]byte) (wire.Text, error) {
	rest, err := plan.MarshalCompact(params)
	if err != nil {
		return nil, fmt.Errorf("encode the parameters: %w", err)
	}
	rest, ok := bytes.CutPrefix(rest, noMessages)
	if !ok {
		return nil, fmt.Errorf("encode the parameters: %.20q is not how they begin", rest)
	}
	tail := []byte{'{'}
	if fields := bytes.TrimPrefix(rest[:len(rest)-1], []byte{','}); len(fields) > 0 {
		tail = append(append(tail, fields...), ',')
	}
	if len(tools) > 0 {
		tail = append(tail, `"tools":[`...)
		tail = append(tail, bytes.Join(tools, []byte{','})...)
		tail = append(tail, "],"...)
	}
	tail, err = wire.Laid(append(tail, `"stream":true}`...), p.cfg.Body)
	if err != nil {
		return nil, err
	}
	out := wire.Text{[]byte(`{"messages":[`)}
	for i, raw := range messages {
		if i > 0 {
			out = append(out, []byte{','})
		}
		out = append(out, raw)
	}
	return append(out, []byte("],"), tail[1:]), nil
}
