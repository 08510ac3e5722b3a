package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/wire"
)

// The blocks of messages. They are what the SDK's types write, to the byte, and
// are written in a fifth of the time; a test holds them against the SDK.

type message struct {
	Content []any  `json:"content"`
	Role    string `json:"role"`
}

type text struct {
	Text string `json:"text"`
	Type string `json:"type"`
}

type thinking struct {
	Signature string `json:"signature"`
	Thinking  string `json:"thinking"`
	Type      string `json:"type"`
}

type redacted struct {
	Data string `json:"data"`
	Type string `json:"type"`
}

type toolUse struct {
	ID     string          `json:"id"`
	Input  json.RawMessage `json:"input"`
	Name   string          `json:"name"`
	Caller json.RawMessage `json:"caller,omitempty"`
	Type   string          `json:"type"`
}

type toolResult struct {
	Call    string `json:"tool_use_id"`
	Error   bool   `json:"is_error,omitempty"`
	Content []any  `json:"content,omitempty"`
	Type    string `json:"type"`
}

type toolReference struct {
	Name string `json:"tool_name"`
	Type string `json:"type"`
}

type image struct {
	Source imageSource `json:"source"`
	Type   string      `json:"type"`
}

type imageSource struct {
	Data      string `json:"data"`
	MediaType string `json:"media_type"`
	Type      string `json:"type"`
}

// The types of blocks.
const (
	typeText       = "text"
	typeThinking   = "thinking"
	typeRedacted   = "redacted_thinking"
	typeToolUse    = "tool_use"
	typeToolResult = "tool_result"
	typeImage      = "image"
	typeReference  = "tool_reference"
)

// What stands where there is nothing, which the wire does not take.
const (
	nothingSaid   = "(no text)"
	nothingFailed = "(it failed, and said nothing)"
)

// The names of what goes back with a block (see [wire.Seal]).
const (
	fieldSignature = "signature"
	fieldData      = "data"
	fieldCaller    = "caller"
)

// blank reports whether a text has nothing in it. The wire takes no such text.
func blank(s string) bool { return strings.TrimSpace(s) == "" }

// sent reports whether anything of a message is sent.
func sent(m plan.Message) bool {
	return slices.ContainsFunc(m.Blocks, func(b plan.Block) bool {
		switch m.Role {
		case plan.RoleAssistant:
			return b.Type == plan.BlockToolCall || b.Type == plan.BlockText && !blank(b.Text)
		case plan.RoleTool:
			return b.Type == plan.BlockToolResult
		}
		return false
	}) || m.Role == plan.RoleUser
}

// message writes a message; nothing for one with nothing to send. Messages of one
// role that follow each other are one to the server, with the results of calls
// at its beginning.
func (p *protocol) message(m plan.Message, o *wire.Optionals) []any {
	if !sent(m) {
		return nil
	}
	switch m.Role {
	case plan.RoleUser:
		return []any{message{Content: userBlocks(m, o), Role: "user"}}
	case plan.RoleTool:
		return []any{message{Content: results(m, o), Role: "user"}}
	case plan.RoleAssistant:
		return []any{message{Content: p.assistantBlocks(m, o), Role: "assistant"}}
	}
	return nil
}

// userBlocks writes what the user says. A message with nothing in it holds its
// place: without it two answers would be one.
func userBlocks(m plan.Message, o *wire.Optionals) (out []any) {
	for _, b := range m.Blocks {
		switch {
		case b.Type == plan.BlockText && !blank(b.Text):
			out = append(out, text{b.Text, typeText})
		case b.Type != plan.BlockImage:
		case showable(b.MIME) && o.May(images):
			out = append(out, image{imageSource{b.Data, b.MIME, "base64"}, typeImage})
		default:
			out = append(out, text{"(an image of the type " + b.MIME + ", which cannot be sent)", typeText})
		}
	}
	if len(out) == 0 {
		out = append(out, text{nothingSaid, typeText})
	}
	return out
}

// images are what not every model takes.
var images = wire.Optional{
	Part: partImages,
	To:   "a word that there was one",
	Words: []string{
		"image input",
		"support image",
		"images are not",
		"image is not supported",
		"image content is not",
	},
}

// showable reports whether the wire takes images of a type.
func showable(mime string) bool {
	switch mime {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return true
	}
	return false
}

// results writes the results of calls.
func results(m plan.Message, o *wire.Optionals) (out []any) {
	for _, b := range m.Blocks {
		if b.Type != plan.BlockToolResult {
			continue
		}
		result := toolResult{
			Call:  callID(b.Call),
			Error: b.Error,
			Type:  typeToolResult,
		}
		switch {
		case len(b.Found) > 0 && o.May(partsFound):
			for _, t := range b.Found {
				result.Content = append(result.Content, toolReference{t.Name, typeReference})
			}
		case !blank(b.Text):
			result.Content = []any{text{b.Text, typeText}}
		case b.Error:
			result.Content = []any{text{nothingFailed, typeText}}
		}
		out = append(out, result)
	}
	return out
}

// assistantBlocks writes what the model said, in its order. What it thought is
// sent to the server that it came from, unless nothing follows it: the wire takes
// no message that ends in thinking.
func (p *protocol) assistantBlocks(m plan.Message, o *wire.Optionals) (out []any) {
	how, again := o.Mends[partBlocks]
	refused := again && how == ""
	end := 0
	for _, b := range m.Blocks {
		switch {
		case b.Type == plan.BlockText && !blank(b.Text):
			out = append(out, text{b.Text, typeText})
			end = len(out)
		case b.Type == plan.BlockToolCall:
			out = append(out, p.toolUse(b, o))
			end = len(out)
		case b.Type == plan.BlockReasoning && !refused:
			if block := p.thought(b); block != nil {
				out = append(out, block)
			}
		}
	}
	return out[:end]
}

// thought writes what the model thought, as it came; nil where it came from
// another server.
func (p *protocol) thought(b plan.Block) any {
	fields := wire.Open(b.Opaque, Name, p.provider)
	var data, signature string
	switch {
	case fields == nil:
		return nil
	case json.Unmarshal(fields[fieldData], &data) == nil && data != "":
		return redacted{data, typeRedacted}
	case json.Unmarshal(fields[fieldSignature], &signature) == nil:
		return thinking{signature, b.Text, typeThinking}
	}
	return nil
}

// toolUse writes a call.
func (p *protocol) toolUse(b plan.Block, o *wire.Optionals) toolUse {
	use := toolUse{
		ID:    callID(b.Call),
		Input: input(b.Args),
		Name:  toolName(b.Name),
		Type:  typeToolUse,
	}
	caller := wire.Open(b.Opaque, Name, p.provider)[fieldCaller]
	if caller != nil && o.May(wire.Optional{Part: fieldCaller}) {
		use.Caller = caller
	}
	return use
}

// input is what a call was made with. It has to be an object; what the model wrote
// and is none is put into one.
func input(args string) json.RawMessage {
	trimmed := strings.TrimSpace(args)
	switch {
	case trimmed == "":
		return json.RawMessage(`{}`)
	case trimmed[0] == '{' && json.Valid([]byte(trimmed)):
		return json.RawMessage(trimmed)
	}
	raw, err := plan.MarshalCompact(map[string]string{"_invalid_arguments": args})
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return raw
}
