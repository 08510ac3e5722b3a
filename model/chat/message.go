package chat

import (
	"encoding/json"
	"maps"
	"slices"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// conversation writes the messages of a call, each as one or more JSON values
// with commas between them.
func (p *protocol) conversation(o *wire.Optionals, call loop.Call, caps Caps) ([][]byte, error) {
	var parts [][]byte
	if call.System != "" {
		raw, err := p.kept.System(call.System, func(text string) ([]byte, error) {
			return wire.Join(len(text), sdk.SystemMessage(text))
		})
		if err != nil {
			return nil, err
		}
		parts = append(parts, raw)
	}
	e := encoder{provider: p.cfg.Provider, reasoning: caps.SendReasoning}
	form := ""
	if e.reasoning {
		form = partReasoning
	}
	o.Also(wire.Optional{
		Part:    partReasoning,
		To:      toEvery,
		Missing: true,
	})
	encoded, err := p.history.Encoded(call.Messages, form, o, e.message)
	if err != nil {
		return nil, err
	}
	if len(encoded) > 0 {
		parts = append(parts, encoded)
	}
	return parts, nil
}

// encoder writes messages. Each is written by itself, so a longer conversation
// begins with the bytes of a shorter one.
type encoder struct {
	provider  string
	reasoning bool // send all reasoning back
}

// message writes a message, which is nothing for one with nothing to send, and
// several for one with several tool results.
func (e encoder) message(m plan.Message, o *wire.Optionals) []any {
	var out []any
	switch m.Role {
	case plan.RoleUser:
		out = append(out, userMessage(m))
	case plan.RoleAssistant:
		if msg, ok := e.plainMessage(m, o); ok {
			out = append(out, msg)
		} else if msg, ok := e.assistantMessage(m, o); ok {
			out = append(out, msg)
		}
	case plan.RoleTool:
		for _, b := range m.Blocks {
			if b.Type == plan.BlockToolResult {
				out = append(out, toolResult{
					Content: b.Text,
					Call:    b.Call,
					Role:    "tool",
				})
			}
		}
	}
	return out
}

// userMessage writes plain text as a string, which every server takes, and
// parts only when there is an image.
func userMessage(m plan.Message) sdk.ChatCompletionMessageParamUnion {
	var parts []sdk.ChatCompletionContentPartUnionParam
	images := false
	for _, b := range m.Blocks {
		switch b.Type {
		case plan.BlockText:
			parts = append(parts, sdk.TextContentPart(b.Text))
		case plan.BlockImage:
			images = true
			parts = append(parts, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{
				URL: "data:" + b.MIME + ";base64," + b.Data,
			}))
		}
	}
	if images {
		return sdk.UserMessage(parts)
	}
	return sdk.UserMessage(m.Text())
}

// assistantMessage writes what the model said. It is false for a message with
// nothing in it to send, which strict servers refuse.
func (e encoder) assistantMessage(m plan.Message, o *wire.Optionals) (sdk.ChatCompletionMessageParamUnion, bool) {
	var msg sdk.ChatCompletionAssistantMessageParam
	text := m.Text()
	for _, b := range m.Blocks {
		if b.Type == plan.BlockToolCall {
			msg.ToolCalls = append(
				msg.ToolCalls,
				sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: e.toolCall(b, o)},
			)
		}
	}
	switch {
	case text != "":
		msg.Content.OfString = sdk.String(text)
	case len(msg.ToolCalls) == 0:
		return sdk.ChatCompletionMessageParamUnion{}, false
	case o.May(nullContent()):
		// Some servers want the field even when it says nothing.
		msg.Content = param.NullStruct[sdk.ChatCompletionAssistantMessageParamContentUnion]()
	default:
		msg.Content.OfString = sdk.String("")
	}
	if extra := e.thoughts(m, o); len(extra) > 0 {
		msg.SetExtraFields(extra)
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &msg}, true
}

// nullContent is the content of an answer that only makes calls.
func nullContent() wire.Optional {
	return wire.Optional{
		Part: partNull,
		To:   `""`,
		Words: []string{
			"content is null", "content cannot be null", "content must be a string", "content: none",
			"content must not be null",
			"content: input should be a valid " +
				"string", "invalid type: null", "expected string, received null", "null content",
			"content field is required",
			"none is not an allowed value",
		},
	}
}

// thoughts are the fields with reasoning that go back: under the names that it
// came under, and where the server demands it, under the usual one. Several
// blocks with the same field are joined.
func (e encoder) thoughts(m plan.Message, o *wire.Optionals) map[string]any {
	extra := map[string]any{}
	whole, demanded := "", o.Mends[partReasoning] == toEvery
	for _, b := range m.Blocks {
		if b.Type != plan.BlockReasoning {
			continue
		}
		whole += b.Text
		fields := wire.Open(b.Opaque, Name, e.provider)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if !isThought(name) || !demanded && !o.May(wire.Optional{Part: name}) {
				continue
			}
			if string(fields[name]) == "null" { // the text itself, under this name
				msg, _ := extra[name].(string)
				extra[name] = msg + b.Text
			} else {
				extra[name] = fields[name]
			}
		}
	}
	switch _, there := extra[partReasoning]; {
	case there:
	case demanded:
		extra[partReasoning] = whole
	case e.reasoning && whole != "" && o.May(wire.Optional{Part: partReasoning}):
		extra[partReasoning] = whole
	}
	return extra
}

// isThought reports whether a field holds reasoning. Blocks may come from a journal
// of elsewhere, and no other field is one's own to send.
func isThought(name string) bool {
	switch name {
	case partReasoning, partThought, partDetails:
		return true
	}
	return false
}

// isOfCall reports whether a field is a call's or a message's own, so that no
// provider may have added it.
func isOfCall(name string) bool {
	switch name {
	case "id", "type", "index", "function", "custom", "name", "arguments":
		return true
	case "role", "content", "tool_calls", "tool_call_id":
		return true
	}
	return false
}

// toolCall writes a call with its arguments as the model wrote them, and with
// what the provider added to it.
func (e encoder) toolCall(b plan.Block, o *wire.Optionals) *sdk.ChatCompletionMessageFunctionToolCallParam {
	call := &sdk.ChatCompletionMessageFunctionToolCallParam{
		ID:       b.Call,
		Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: b.Name, Arguments: b.Args},
	}
	added := wire.Open(b.Opaque, Name, e.provider)
	if !wire.Sealed(b.Opaque) && json.Unmarshal(b.Opaque, &added) != nil {
		return call // not from this wire
	}
	extras := make(map[string]any, len(added))
	for _, name := range slices.Sorted(maps.Keys(added)) {
		if !isOfCall(name) && o.May(wire.Optional{Part: name}) {
			extras[name] = added[name]
		}
	}
	if len(extras) > 0 {
		call.SetExtraFields(extras)
	}
	return call
}
