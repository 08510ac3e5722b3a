package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// The parts of a request that it can do without, or say in another way.
const (
	partThinking    = "thinking"
	partOff         = "thinking.disabled"
	partTurn        = "thinking in this turn"
	partDisplay     = "thinking.display"
	partBlocks      = "thinking blocks"
	partEffort      = "output_config.effort"
	partFormat      = "output_config.format"
	partTemperature = "temperature"
	partMetadata    = "metadata"
	partCache       = "cache_control"
	partHour        = "cache_control.ttl"
	partRoles       = "messages of one role in a row"
	partImages      = "images"
	partSchema      = "schema keywords"
	partFound       = "tools found"
)

// request is a request while it is written.
type request struct {
	call   loop.Call
	caps   Caps
	mends  wire.Mends
	params sdk.MessageNewParams // without messages, system prompt and tools
	beta   string
	// optional is what the request has beside its messages that it can do without.
	optional []wire.Optional
	tools    []loop.Spec
	tool     string // the tool whose call is the answer
}

// may reports whether the server has not refused a part, and notes that it is
// used.
func (r *request) may(part wire.Optional) bool {
	if r.mends.Has(part.Part) {
		return false
	}
	r.optional = append(r.optional, part)
	return true
}

// Encode implements [wire.Protocol]. What a strict server could refuse is in it
// only when the call asks for it.
func (p *protocol) Encode(call loop.Call, mends wire.Mends) (wire.Request, error) {
	caps := p.caps(call.Model)
	if !caps.TakesFound || p.sets("tools") {
		mends = mends.Without(partsFound)
	}
	o := wire.Optionals{Mends: mends}
	encoded, err := p.history.Encoded(call.Messages, "", &o, p.message)
	if err != nil {
		return wire.Request{}, err
	}
	r := request{
		call:  call,
		caps:  caps,
		mends: mends,
		tools: call.Tools,
	}
	r.params.Model = call.Model
	p.think(&r)
	r.settings()
	p.format(&r)
	marks := p.marks(&r)
	tail, err := p.tail(&r, marks)
	if err != nil {
		return wire.Request{}, err
	}
	var text wire.Text
	if r.may(partsJoined) {
		text = p.conversation(call.Messages, encoded, marks, mends)
	} else {
		text = wire.Text{p.joined(call.Messages, marks, mends)}
	}
	text = p.headMarked(call, text, marks, mends)
	return wire.Request{
		Path:     "messages",
		Body:     slices.Concat(wire.Text{[]byte(`{"messages":[`)}, text, wire.Text{tail}),
		Headers:  p.headers(r.beta),
		Optional: append(slices.Clip(o.List()), r.optional...),
		Tool:     r.tool,
	}, nil
}

// settings writes what the call asks for and servers know under the same name.
func (r *request) settings() {
	thinks := !param.IsOmitted(r.params.Thinking)
	if t := r.call.Settings.Temperature; t != nil && !thinks && r.may(wire.Optional{Part: partTemperature}) {
		r.params.Temperature = sdk.Float(*t)
	}
	if id := r.call.Metadata["user_id"]; id != "" && r.may(wire.Optional{
		Part:  partMetadata,
		Words: []string{"metadata", "user_id"},
	}) {
		r.params.Metadata.UserID = sdk.String(id)
	}
}

// format asks for an answer in the call's format, in the configured way. It may
// take one more tool.
func (p *protocol) format(r *request) {
	format := r.call.Format
	if format == nil {
		return
	}
	mode := p.cfg.Structured
	if mode == wire.StructuredAuto && r.caps.StructuredOutput {
		mode = wire.StructuredSchema
	}
	switch mode {
	case wire.StructuredTool:
		r.tool = format.Name
		answer := loop.Spec{
			Name:        format.Name,
			Description: "Give the final answer.",
			Schema:      format.Schema,
		}
		r.tools = append(slices.Clip(r.tools), answer)
	case wire.StructuredSchema:
		part := wire.Optional{
			Part: partFormat,
			Words: []string{
				"output_config.format", "output_config:", "output_config'", "`output_config`", `output_config\"`,
				"json_schema", "structured output", "output format", "output_format", "compiled grammar",
			},
		}
		// Keywords that are refused are first thought to be those of this schema.
		part.Words = append(part.Words, wire.SchemaWords()...)
		if r.may(part) {
			r.params.OutputConfig.Format = param.Override[sdk.JSONOutputFormatParam](struct {
				Schema json.RawMessage `json:"schema"`
				Type   string          `json:"type"`
			}{format.Schema, "json_schema"})
		}
	}
}

// tail is the body from the end of the messages on.
func (p *protocol) tail(r *request, marks marks) ([]byte, error) {
	params, err := plan.MarshalCompact(r.params)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	if params, err = wire.Laid(params, p.cfg.Body); err != nil {
		return nil, err
	}
	tail := append([]byte("],"), params[1:len(params)-1]...)
	if !p.sets("system") && strings.TrimSpace(r.call.System) != "" {
		system, err := p.kept.System(r.call.System, textBlock)
		if err != nil {
			return nil, err
		}
		tail = append(tail, `,"system":[`...)
		tail = append(tail, system[:len(system)-1]...)
		tail = append(tail, marks.shared...)
		tail = append(tail, "}]"...)
	}
	if !p.sets("tools") && len(r.tools) > 0 {
		tools, err := p.toolParams(r)
		if err != nil {
			return nil, err
		}
		tail = append(tail, `,"tools":[`...)
		tail = append(tail, bytes.Join(marks.onTool(tools, r.call.Shared.Tools), []byte{','})...)
		tail = append(tail, ']')
	}
	return append(tail, `,"stream":true}`...), nil
}

// sets reports whether the settings lay a field of their own over every request.
func (p *protocol) sets(field string) bool {
	_, ok := p.cfg.Body[field]
	return ok
}

// textBlock writes a text as a block.
func textBlock(content string) ([]byte, error) {
	raw, err := plan.MarshalCompact(text{content, typeText})
	if err != nil {
		return nil, fmt.Errorf("encode the system prompt: %w", err)
	}
	return raw, nil
}

// toolParams describes the tools, without the schema keywords that the server
// refuses. Where a schema for the answer is in the request as well, a refusal
// would be about that one.
func (p *protocol) toolParams(r *request) ([][]byte, error) {
	form, write := "", toolParam
	part := wire.Optional{
		Part:  partSchema,
		To:    "type, description, properties, required, items and enum alone",
		Words: wire.SchemaWords(),
	}
	switch {
	case r.mends.Has(partSchema):
		form = "plain"
		write = func(spec loop.Spec) ([]byte, error) {
			spec.Schema = wire.PlainSchema(spec.Schema)
			return toolParam(spec)
		}
	case param.IsOmitted(r.params.OutputConfig.Format):
		r.optional = append(r.optional, part)
	}
	encoded, err := p.kept.Tools(r.tools, form, write)
	tools := r.foundTools()
	if err != nil || len(tools) == 0 {
		return encoded, err
	}
	later, err := p.kept.Tools(tools, form+" deferred", func(spec loop.Spec) ([]byte, error) {
		raw, err := write(spec)
		if err != nil {
			return nil, err
		}
		return append(raw[:len(raw)-1:len(raw)-1], `,"defer_loading":true}`...), nil
	})
	return append(encoded, later...), err
}

// partsFound are the tools that a search has found. The server puts their descriptions where
// the result stands, so what was sent before stays as it is; one that does not know of this is
// sent the text of the result.
var partsFound = wire.Optional{
	Part:  partFound,
	To:    "their text",
	Words: []string{"defer_loading", "tool_reference", "tool reference", "tool search", "deferred"},
}

// foundTools are the tools that the conversation has found and is not offered from the beginning,
// as they were described last.
func (r *request) foundTools() []loop.Spec {
	if r.mends.Has(partFound) {
		return nil
	}
	var out []loop.Spec
	at := map[string]int{}
	for _, t := range r.tools {
		at[t.Name] = -1
	}
	for _, m := range r.call.Messages {
		for _, b := range m.Blocks {
			for _, t := range b.Found {
				spec := loop.Spec{
					Name:        t.Name,
					Description: t.Description,
					Schema:      t.Schema,
				}
				switch i, known := at[t.Name]; {
				case !known:
					at[t.Name] = len(out)
					out = append(out, spec)
				case i >= 0:
					out[i] = spec
				}
			}
		}
	}
	return out
}

// toolParam describes a tool. The SDK's own type would reorder a canonical schema,
// and write < as six letters.
func toolParam(spec loop.Spec) ([]byte, error) {
	return plan.MarshalCompact(struct { //nolint:wrapcheck // the caller names the tool
		Schema      json.RawMessage `json:"input_schema"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
	}{inputSchema(spec.Schema), spec.Name, spec.Description})
}
