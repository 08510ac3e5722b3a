package openai

import (
	"encoding/json"
	"maps"
	"slices"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/plan-engine/plan"
)

// encoder writes messages. Each is written by itself, so a longer conversation
// begins with the bytes of a shorter one.
type encoder struct {
	refused   nameSet
	reasoning bool     // send reasoning back
	optional  []string // what was written and need not have been
}

// may reports whether the server has not refused the optional parameter name,
// and notes that it is used.
func (e *encoder) may(name string) bool {
	if e.refused[name] {
		return false
	}
	if !slices.Contains(e.optional, name) {
		e.optional = append(e.optional, name)
	}
	return true
}

// message writes a message, which is nothing for one with nothing to send, and
// several for one with several tool results.
func (e *encoder) message(m plan.Message) []any {
	var out []any
	switch m.Role {
	case plan.RoleUser:
		out = append(out, userMessage(m))
	case plan.RoleAssistant:
		if said, ok := e.plainMessage(m); ok {
			out = append(out, said)
		} else if said, ok := e.assistantMessage(m); ok {
			out = append(out, said)
		}
	case plan.RoleTool:
		for _, b := range m.Blocks {
			if b.Type == plan.BlockToolResult {
				out = append(out, toolResult{Content: b.Text, Call: b.Call, Role: "tool"})
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
func (e *encoder) assistantMessage(m plan.Message) (sdk.ChatCompletionMessageParamUnion, bool) {
	var said sdk.ChatCompletionAssistantMessageParam
	text, reasoning := m.Text(), ""
	for _, b := range m.Blocks {
		switch b.Type {
		case plan.BlockToolCall:
			said.ToolCalls = append(said.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: e.toolCall(b)})
		case plan.BlockReasoning:
			reasoning += b.Text
		}
	}
	if text == "" && len(said.ToolCalls) == 0 {
		return sdk.ChatCompletionMessageParamUnion{}, false
	}
	if text != "" {
		said.Content.OfString = sdk.String(text)
	} else {
		// Some servers want the field even when it says nothing.
		said.Content = param.NullStruct[sdk.ChatCompletionAssistantMessageParamContentUnion]()
	}
	if e.reasoning && reasoning != "" && e.may(paramReasoning) {
		said.SetExtraFields(map[string]any{paramReasoning: reasoning})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &said}, true
}

// toolCall writes a call with its arguments as the model wrote them, and with
// what the provider added to it.
func (e *encoder) toolCall(b plan.Block) *sdk.ChatCompletionMessageFunctionToolCallParam {
	call := &sdk.ChatCompletionMessageFunctionToolCallParam{
		ID:       b.Call,
		Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: b.Name, Arguments: b.Args},
	}
	var added map[string]json.RawMessage
	if json.Unmarshal(b.Opaque, &added) != nil {
		return call // not from this package
	}
	extras := make(map[string]any, len(added))
	for _, name := range slices.Sorted(maps.Keys(added)) {
		switch name {
		case "id", "type", "function", "index":
		default:
			if e.may(name) {
				extras[name] = added[name]
			}
		}
	}
	if len(extras) > 0 {
		call.SetExtraFields(extras)
	}
	return call
}
