package responses

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/openai/openai-go/v3/packages/param"
	sdk "github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// path is where requests go, below the base URL.
const path = "responses"

// The fields that are written by hand.
const (
	fieldInput        = "input"
	fieldInstructions = "instructions"
	fieldTools        = "tools"
	fieldStream       = "stream"
)

// Limits of the API.
const (
	leastOutput = 16 // tokens
	longestID   = 64 // characters
)

// Encode implements [wire.Protocol]. The body begins with the conversation, so
// that the bytes of a longer one begin with those of a shorter one.
func (p *protocol) Encode(call loop.Call, mends wire.Mends) (wire.Request, error) {
	o := &wire.Optionals{Mends: mends}
	finder := p.finder(call)
	items, err := p.history.Encoded(call.Messages, finder, o, func(m plan.Message, o *wire.Optionals) []any {
		return p.items(m, finder, o)
	})
	if err != nil {
		return wire.Request{}, err
	}
	params := p.params(call, o)
	tools, formatTool := slices.Clip(call.Tools), ""
	switch p.mode(call.Format) {
	case wire.StructuredTool:
		formatTool = call.Format.Name
		tools = append(tools, loop.Spec{
			Name:        formatTool,
			Description: "Give the final answer.",
			Schema:      call.Format.Schema,
		})
	case wire.StructuredSchema:
		part := partFormat
		if len(call.Tools) == 0 || mends.Has(partSchema().Part) { // no other schema can be meant
			part.Words = slices.Concat(part.Words, wire.SchemaWords())
		}
		if o.May(part) {
			params.Text.Format = schemaFormat(*call.Format)
		}
	}
	rest, err := plan.MarshalCompact(params)
	if err != nil {
		return wire.Request{}, fmt.Errorf("encode the request: %w", err)
	}
	if rest, err = wire.Laid(rest, p.body); err != nil {
		return wire.Request{}, err
	}
	tail, err := p.tail(call.System, tools, finder, rest, o)
	if err != nil {
		return wire.Request{}, err
	}
	return wire.Request{
		Path:     path,
		Body:     wire.Text{[]byte(`{"` + fieldInput + `":[`), items, tail},
		Optional: o.List(),
		Tool:     formatTool,
	}, nil
}

// params are the parameters of a call that are neither long nor kept.
func (p *protocol) params(call loop.Call, o *wire.Optionals) sdk.ResponseNewParams {
	params := sdk.ResponseNewParams{Model: call.Model}
	if o.May(partStore) {
		params.Store = param.NewOpt(false)
	}
	if reasons := p.plain == nil || !p.plain(call.Model); reasons {
		if o.May(partInclude) {
			params.Include = []sdk.ResponseIncludable{sdk.ResponseIncludableReasoningEncryptedContent}
		}
		if o.May(partSummary) {
			params.Reasoning.Summary = shared.ReasoningSummaryAuto
		}
	}
	if effort := call.Settings.Effort; effort != "" && o.May(partEffort(effort)) {
		params.Reasoning.Effort = shared.ReasoningEffort(effort)
	}
	if t := call.Settings.Temperature; t != nil && o.May(partTemperature(*t)) {
		params.Temperature = param.NewOpt(*t)
	}
	if key := cacheKey(call.Headers); key != "" && o.May(partCacheKey) {
		params.PromptCacheKey = param.NewOpt(key)
	}
	if len(call.Metadata) > 0 && o.May(partMetadata) {
		params.Metadata = call.Metadata
	}
	limitOutput(&params, call.Settings.MaxOutputTokens, o)
	return params
}

// limitOutput sets the output limit: what was asked for, or what the server was
// found to take at most.
func limitOutput(params *sdk.ResponseNewParams, limit int, o *wire.Optionals) {
	if limit <= 0 {
		return
	}
	limit = max(limit, leastOutput)
	if to, mended := o.Mends[wire.PartOutput]; mended {
		most, err := strconv.Atoi(to)
		if err != nil {
			return // the server knows no limit
		}
		limit = min(limit, most)
	}
	o.Also(partOutput(limit))
	params.MaxOutputTokens = param.NewOpt(int64(limit))
}

// mode is how to ask for the format; "" where none is asked for.
func (p *protocol) mode(format *loop.Format) string {
	switch {
	case format == nil:
		return ""
	case p.structured == wire.StructuredAuto:
		return wire.StructuredSchema
	}
	return p.structured
}

// schemaFormat asks for an answer that fits a schema. The SDK's own schema is a
// map, which would reorder a canonical one, so ours goes in as it is.
func schemaFormat(format loop.Format) sdk.ResponseFormatTextConfigUnionParam {
	jsonSchema := param.Override[sdk.ResponseFormatTextJSONSchemaConfigParam](struct {
		Type   string          `json:"type"`
		Name   string          `json:"name"`
		Strict bool            `json:"strict"`
		Schema json.RawMessage `json:"schema"`
	}{"json_schema", format.Name, true, format.Schema})
	return sdk.ResponseFormatTextConfigUnionParam{OfJSONSchema: &jsonSchema}
}

// tail is the body after the conversation: the system prompt, the tools and the
// rest, which is an object. What the provider's own body has is not written twice.
func (p *protocol) tail(
	system string,
	tools []loop.Spec,
	finder string,
	rest []byte,
	o *wire.Optionals,
) ([]byte, error) {
	own := func(field string) bool {
		_, theirs := p.body[field]
		return !theirs
	}
	tail := []byte{']'}
	if system != "" && own(fieldInstructions) {
		raw, err := p.fixed.System(system, func(text string) ([]byte, error) { return plan.MarshalCompact(text) })
		if err != nil {
			return nil, fmt.Errorf("encode the system prompt: %w", err)
		}
		tail = append(tail, `,"`+fieldInstructions+`":`...)
		tail = append(tail, raw...)
	}
	if len(tools) > 0 && own(fieldTools) {
		raw, err := p.tools(tools, finder, o)
		if err != nil {
			return nil, err
		}
		tail = append(tail, `,"`+fieldTools+`":[`...)
		tail = append(tail, bytes.Join(raw, []byte{','})...)
		tail = append(tail, ']')
	}
	tail = append(tail, ',')
	tail = append(tail, rest[1:len(rest)-1]...)
	if own(fieldStream) {
		tail = append(tail, `,"`+fieldStream+`":`...)
		tail = strconv.AppendBool(tail, o.May(partStream))
	}
	return append(tail, '}'), nil
}

// functionTool describes a tool. The SDK's own parameters are a map, which would
// reorder a canonical schema.
type functionTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// tools writes tools, each by itself, without the schema keywords that the server
// refuses.
func (p *protocol) tools(specs []loop.Spec, finder string, o *wire.Optionals) ([][]byte, error) {
	var strict *bool
	form := ""
	if o.May(partStrict) {
		strict, form = new(bool), "strict "
	}
	plain := !o.May(partSchema())
	if plain {
		form += "plain"
	}
	searches := finder != "" && o.May(partSearch)
	if searches {
		form += "search"
	}
	return p.fixed.Tools(specs, form, func(s loop.Spec) ([]byte, error) {
		if plain {
			s.Schema = wire.PlainSchema(s.Schema)
		}
		if searches && s.Name == finder {
			return plan.MarshalCompact(searchTool{
				Type:        itemSearchTool,
				Execution:   byClient,
				Description: s.Description,
				Parameters:  s.Schema,
			})
		}
		return plan.MarshalCompact(functionTool{
			Type:        "function",
			Name:        s.Name,
			Description: s.Description,
			Parameters:  s.Schema,
			Strict:      strict,
		})
	})
}

// cacheKey names what begins alike, the conversations of a run's phase, so that
// their requests find the same cache; "" where the call does not say which run it
// is of.
func cacheKey(headers map[string]string) string {
	run := headers["X-Plan-Run"]
	if run == "" {
		return ""
	}
	return short(run + "-" + headers["X-Plan-Phase"])
}

// short returns an identifier as it is, or its hash where the server would refuse
// it for its length.
func short(id string) string {
	if len(id) <= longestID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "h_" + hex.EncodeToString(sum[:16])
}
