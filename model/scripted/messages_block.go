package scripted

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// block is a part of a message or of the system prompt, or a tool.
type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	InputSchema  json.RawMessage `json:"input_schema"`
	Strict       *bool           `json:"strict"`
	ToolUseID    string          `json:"tool_use_id"`
	Content      json.RawMessage `json:"content"`
	IsError      *bool           `json:"is_error"`
	Thinking     *string         `json:"thinking"`
	Signature    string          `json:"signature"`
	Data         string          `json:"data"`
	Source       json.RawMessage `json:"source"`
	CacheControl *cacheControl   `json:"cache_control"`
	ToolName     string          `json:"tool_name"`
	Deferred     bool            `json:"defer_loading"`

	raw json.RawMessage // without cache_control
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"` // "5m", if it is left out
}

// The types of blocks.
const (
	blockText     = "text"
	blockImage    = "image"
	blockThinking = "thinking"
	blockRedacted = "redacted_thinking"
	blockCall     = "tool_use"
	blockResult   = "tool_result"
	blockTool     = "custom"

	blockReference = "tool_reference"
)

// blockFields are the fields of a block beside its type.
func blockFields(kind string) []string {
	switch kind {
	case blockText:
		return []string{"text", "cache_control", "citations"}
	case blockImage:
		return []string{"source", "cache_control"}
	case blockThinking:
		return []string{"thinking", "signature"}
	case blockRedacted:
		return []string{"data"}
	case blockCall:
		return []string{"id", "name", "input", "cache_control", "caller"}
	case blockResult:
		return []string{"tool_use_id", "content", "is_error", "cache_control"}
	case blockReference:
		return []string{"tool_name", "cache_control"}
	case blockTool:
		return []string{
			"defer_loading",
			"name",
			"description",
			"input_schema",
			"strict",
			"cache_control",
			"eager_input_streaming",
			"input_examples",
		}
	}
	return nil
}

// readBlock decodes a block, of this kind if it does not say, and refuses any
// field that such a block does not have.
func readBlock(where string, raw json.RawMessage, kind string) (block, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return block{}, wrong("%s: Input should be an object", where)
	}
	b := block{Type: kind}
	if err := json.Unmarshal(raw, &b); err != nil {
		return block{}, fmt.Errorf("%s: %s", where, strings.TrimPrefix(err.Error(), "json: "))
	}
	known := blockFields(b.Type)
	if known == nil {
		return block{}, wrong(
			"%s: Input tag '%s' found using 'type' does not match any of the expected tags",
			where,
			b.Type,
		)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "type" && !slices.Contains(known, name) {
			return block{}, wrong("%s.%s.%s: Extra inputs are not permitted", where, b.Type, name)
		}
	}
	delete(fields, "cache_control")
	b.raw = json.RawMessage(encoded(fields))
	if c := b.CacheControl; c != nil {
		if err := c.check(where + "." + b.Type); err != nil {
			return block{}, err
		}
	}
	return b, nil
}

func (c *cacheControl) check(where string) error {
	switch {
	case c.Type != "ephemeral":
		return wrong(
			"%s.cache_control: Input tag '%s' found using 'type' does not match any of the expected tags: 'ephemeral'",
			where,
			c.Type,
		)
	case c.TTL != "" && c.TTL != ttlMinutes && c.TTL != ttlHour:
		return wrong("%s.cache_control.ephemeral.ttl: Input should be '5m' or '1h'", where)
	}
	return nil
}

// readBlocks decodes text or a list of blocks.
func readBlocks(where string, raw json.RawMessage, kinds ...string) ([]block, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" {
			return nil, wrong("%s: text content blocks must be non-empty", where)
		}
		raw = json.RawMessage(encoded([]object{{"type": blockText, "text": text}}))
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, wrong("%s: Input should be a valid list", where)
	}
	out := make([]block, 0, len(list))
	for i, part := range list {
		at := fmt.Sprintf("%s.%d", where, i)
		b, err := readBlock(at, part, "")
		if err != nil {
			return nil, err
		}
		if !slices.Contains(kinds, b.Type) {
			return nil, wrong(
				"%s: a block of type '%s' cannot stand here; it can be one of '%s'",
				at,
				b.Type,
				strings.Join(kinds, "', '"),
			)
		}
		if err := b.check(at); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// check looks at a block by itself.
func (b *block) check(where string) error {
	switch b.Type {
	case blockText:
		switch {
		case b.Text == "" && b.CacheControl != nil:
			return wrong("%s.text: cache_control cannot be set for empty text blocks", where)
		case b.Text == "":
			return wrong("%s: text content blocks must be non-empty", where)
		case strings.TrimSpace(b.Text) == "":
			return wrong("%s: text content blocks must contain non-whitespace text", where)
		}
	case blockImage:
		if !isObject(b.Source) {
			return wrong("%s.image.source: Field required", where)
		}
	case blockCall:
		switch {
		case !validID(b.ID):
			return wrong("%s.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", where)
		case !validName(b.Name):
			return wrong("%s.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'", where)
		case !isObject(b.Input):
			return wrong("%s.tool_use.input: Input should be a valid dictionary", where)
		}
	case blockResult:
		if !validID(b.ToolUseID) {
			return wrong("%s.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'", where)
		}
		return b.checkResult(where + ".tool_result.content")
	case blockThinking:
		if b.Thinking == nil {
			return wrong("%s.thinking.thinking: Field required", where)
		}
		switch tag, ok := unseal("thinking", b.Signature, *b.Thinking); {
		case !ok && tag == "":
			return wrong("%s: Invalid `signature` in `thinking` block", where)
		case !ok:
			return wrong(
				"%s: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "+
					"These blocks must remain as they were in the original response.",
				where,
			)
		}
	case blockRedacted:
		if _, ok := unseal("redacted", b.Data, ""); !ok {
			return wrong("%s: Invalid `data` in `redacted_thinking` block", where)
		}
	}
	return nil
}

// checkResult looks at what a result holds, which can be left out or empty.
func (b *block) checkResult(where string) error {
	if b.Content == nil || string(b.Content) == `""` || string(b.Content) == "[]" {
		if b.IsError != nil && *b.IsError {
			return wrong("%s: content cannot be empty if `is_error` is true", strings.TrimSuffix(where, ".content"))
		}
		return nil
	}
	inner, err := readBlocks(where, b.Content, blockText, blockImage, blockReference)
	if err != nil {
		return err
	}
	for i := range inner {
		if inner[i].CacheControl != nil {
			return wrong("%s.%d.cache_control: set it on the tool_result", where, i)
		}
	}
	return nil
}

// thought is the tag of the answer that a block of thinking is of. The block
// was checked.
func (b *block) thought() (tag string, ok bool) {
	switch b.Type {
	case blockThinking:
		return unseal("thinking", b.Signature, *b.Thinking)
	case blockRedacted:
		return unseal("redacted", b.Data, "")
	}
	return "", false
}

// validID reports whether s may be the id of a call.
func validID(s string) bool {
	for _, part := range pieces(s, 64) {
		if !validName(part) {
			return false
		}
	}
	return s != ""
}
