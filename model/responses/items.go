package responses

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/wire"
)

// The types of items, and of the parts that messages and reasoning have.
const (
	itemMessage   = "message"
	itemReasoning = "reasoning"
	itemCall      = "function_call"
	itemResult    = "function_call_output"

	partText    = "output_text"
	partRefusal = "refusal"
	partSummed  = "summary_text"
	partThought = "reasoning_text"
)

// The fields of an item that have a meaning here.
const (
	fieldID        = "id"
	fieldPhase     = "phase"
	fieldType      = "type"
	fieldStatus    = "status"
	fieldSummary   = "summary"
	fieldContent   = "content"
	fieldEncrypted = "encrypted_content"
)

// What is sent is made of types of our own: the SDK's would write the same and
// take several times as long for it. A test compares the two.

// message is what a user or, without an id, a model said.
type message struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content any             `json:"content"` // text, or parts
	Phase   json.RawMessage `json:"phase,omitempty"`
}

// saidMessage is an answer's message with the id that it came with. The server
// takes it only with a status.
type saidMessage struct {
	Type    string          `json:"type"`
	ID      json.RawMessage `json:"id"`
	Role    string          `json:"role"`
	Status  string          `json:"status"`
	Content []textPart      `json:"content"`
	Phase   json.RawMessage `json:"phase,omitempty"`
}

type textPart struct {
	Type        string   `json:"type"`
	Text        string   `json:"text"`
	Annotations []string `json:"annotations"` // required; always empty
}

type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

type functionCall struct {
	Type      string          `json:"type"`
	ID        json.RawMessage `json:"id,omitempty"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
}

type functionResult struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

// items writes a message as the items of the input, none for one with nothing to
// send.
func (p *protocol) items(m plan.Message, finder string, o *wire.Optionals) []any {
	switch m.Role {
	case plan.RoleUser:
		if content := userContent(m); content != nil {
			return []any{message{
				Type:    itemMessage,
				Role:    "user",
				Content: content,
			}}
		}
	case plan.RoleAssistant:
		return p.answerItems(m, finder, o)
	case plan.RoleTool:
		var out []any
		for _, b := range m.Blocks {
			switch {
			case b.Type != plan.BlockToolResult:
			case b.Name == finder && finder != "" && o.May(partSearch):
				out = append(out, searched(b))
			default:
				out = append(out, functionResult{
					Type:   itemResult,
					CallID: short(b.Call),
					Output: b.Text,
				})
			}
		}
		return out
	}
	return nil
}

// userContent writes plain text as a string, which every server takes, and parts
// only when there is an image. It is nil where there is nothing.
func userContent(m plan.Message) any {
	var parts []inputPart
	images := false
	for _, b := range m.Blocks {
		switch {
		case b.Type == plan.BlockText && b.Text != "":
			parts = append(parts, inputPart{Type: "input_text", Text: b.Text})
		case b.Type == plan.BlockImage:
			images = true
			parts = append(parts, inputPart{
				Type:     "input_image",
				ImageURL: "data:" + b.MIME + ";base64," + b.Data,
				Detail:   "auto",
			})
		}
	}
	switch {
	case len(parts) == 0:
		return nil
	case images:
		return parts
	}
	return m.Text()
}

// answerItems writes what the model said in the order in which it said it.
func (p *protocol) answerItems(m plan.Message, finder string, o *wire.Optionals) []any {
	thoughts, whole := p.thoughts(m, o)
	ids := len(thoughts) > 0 && whole && o.May(partIDs)
	var out []any
	for i := range m.Blocks {
		b := &m.Blocks[i]
		switch b.Type {
		case plan.BlockReasoning:
			if item, ok := thoughts[i]; ok {
				out = append(out, item)
			}
		case plan.BlockText:
			if b.Text != "" {
				out = append(out, p.saidText(b, ids, o))
			}
		case plan.BlockToolCall:
			if b.Name == finder && finder != "" && o.May(partSearch) {
				out = append(out, p.saidSearch(b, ids))
			} else {
				out = append(out, p.saidCall(b, ids, o))
			}
		}
	}
	return out
}

// thoughts are the reasoning items of an answer that can go back, by the numbers
// of their blocks, and whether they are all that something followed. Reasoning
// that nothing followed is refused.
func (p *protocol) thoughts(m plan.Message, o *wire.Optionals) (items map[int]any, whole bool) {
	whole = true
	last := -1
	for i, b := range m.Blocks {
		if b.Type == plan.BlockToolCall || b.Type == plan.BlockText && b.Text != "" {
			last = i
		}
	}
	for i, b := range m.Blocks {
		if b.Type != plan.BlockReasoning || i > last {
			continue
		}
		fields := wire.Open(b.Opaque, Name, p.provider)
		if !carries(fields) || !o.May(partReasoning) {
			whole = false
			continue
		}
		delete(fields, "role")
		fields[fieldType] = json.RawMessage(`"` + itemReasoning + `"`)
		if _, ok := fields[fieldSummary]; !ok {
			fields[fieldSummary] = json.RawMessage("[]")
		}
		if items == nil {
			items = map[int]any{}
		}
		items[i] = fields
	}
	return items, whole
}

// carries reports whether a reasoning item holds reasoning: encrypted, or in the
// open, as models with open weights have it. A summary alone is none.
func carries(fields map[string]json.RawMessage) bool {
	for _, name := range []string{fieldEncrypted, fieldContent} {
		switch string(fields[name]) {
		case "", "null", `""`, "[]":
		default:
			return true
		}
	}
	return false
}

// saidText writes a text of an answer.
func (p *protocol) saidText(b *plan.Block, ids bool, o *wire.Optionals) any {
	fields := wire.Open(b.Opaque, Name, p.provider)
	phase := fields[fieldPhase]
	if phase != nil && !o.May(partPhase) {
		phase = nil
	}
	if id := fields[fieldID]; ids && itemID().Match(id) {
		return saidMessage{
			Type:    itemMessage,
			ID:      id,
			Role:    "assistant",
			Status:  "completed",
			Content: []textPart{{Type: partText, Text: b.Text, Annotations: []string{}}},
			Phase:   phase,
		}
	}
	return message{
		Type:    itemMessage,
		Role:    "assistant",
		Content: b.Text,
		Phase:   phase,
	}
}

// saidCall writes a call with its arguments as the model wrote them, and with
// what the provider added to it.
func (p *protocol) saidCall(b *plan.Block, ids bool, o *wire.Optionals) any {
	call := functionCall{
		Type:      itemCall,
		CallID:    short(b.Call),
		Name:      functionName(b.Name),
		Arguments: b.Args,
	}
	fields := wire.Open(b.Opaque, Name, p.provider)
	if id := fields[fieldID]; ids && itemID().Match(id) {
		call.ID = id
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !addable(name) || !o.May(partExtra(name)) {
			delete(fields, name)
		}
	}
	if len(fields) == 0 {
		return call
	}
	return extendedCall{call, fields}
}

// addable reports whether a provider may add a field of this name to a call. Blocks
// may come from a journal of elsewhere, and the call's own fields are ours.
func addable(name string) bool {
	switch name {
	case fieldID, fieldType, fieldStatus, fieldContent, "call_id", "name", "arguments", "role", "output", "input":
		return false
	}
	return true
}

// extendedCall is a call with fields that a provider added.
type extendedCall struct {
	call  functionCall
	added map[string]json.RawMessage
}

// MarshalJSON writes the call's own fields first.
func (c extendedCall) MarshalJSON() ([]byte, error) {
	own, err := plan.MarshalCompact(c.call)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says what it encodes
	}
	added, err := plan.MarshalCompact(c.added)
	if err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	return append(append(own[:len(own)-1], ','), added[1:]...), nil
}

// functionName is a name that the server takes. Models make up others, and one of
// them in the conversation would have every further request refused.
func functionName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	switch {
	case name == "":
		return "_"
	case len(name) > longestID:
		return name[:longestID]
	}
	return name
}
