package scripted

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// inputItem is one item of the input of a Responses request. Decoding refuses
// any field that is not here.
type inputItem struct {
	Type   string  `json:"type"` // message, if it is left out
	ID     *string `json:"id"`
	Status string  `json:"status"`

	// message
	Role    string          `json:"role"`
	Phase   string          `json:"phase"`
	Content json.RawMessage `json:"content"`

	// function_call and function_call_output
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Output    json.RawMessage `json:"output"`

	// tool_search_call and tool_search_output
	Execution string          `json:"execution"`
	Tools     []responsesTool `json:"tools"`

	// reasoning
	Summary   []itemPart `json:"summary"`
	Encrypted *string    `json:"encrypted_content"`

	text string // what a message says
	size int    // bytes
}

type itemPart struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Refusal     string          `json:"refusal"`
	Annotations json.RawMessage `json:"annotations"`
	Logprobs    json.RawMessage `json:"logprobs"`
	ImageURL    string          `json:"image_url"`
	Detail      string          `json:"detail"`
}

// The types of items.
const (
	itemMessage   = "message"
	itemReasoning = "reasoning"
	itemCall      = "function_call"
	itemResult    = "function_call_output"

	itemSearch       = "tool_search_call"
	itemSearchResult = "tool_search_output"
)

// output reports whether the item is part of what a model said.
func (it *inputItem) output() bool {
	return it.Type == itemReasoning || it.Type == itemCall || it.Role == "assistant"
}

// readItems decodes the input, which is text or a list of items.
func readItems(input json.RawMessage) ([]inputItem, error) {
	if input == nil {
		return nil, wrong("Missing required parameter: 'input'.")
	}
	var text string
	if json.Unmarshal(input, &text) == nil {
		input, _ = json.Marshal([]object{{"role": "user", "content": text}})
	}
	var list []json.RawMessage
	if err := json.Unmarshal(input, &list); err != nil {
		return nil, wrong("Invalid type for 'input': expected one of a string or array of input items.")
	}
	if len(list) == 0 {
		return nil, wrong("Invalid 'input': empty array. Expected an array with minimum length 1.")
	}
	items := make([]inputItem, len(list))
	for i, raw := range list {
		it := &items[i]
		if err := decodeStrict(raw, it); err != nil {
			return nil, fmt.Errorf("input[%d]: %w", i, err)
		}
		it.size = len(raw)
		if it.Type == "" {
			it.Type = itemMessage
		}
		if err := it.check(); err != nil {
			return nil, fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	return items, nil
}

// check looks at an item by itself.
func (it *inputItem) check() error {
	switch it.Type {
	case itemMessage:
		return it.checkMessage()
	case itemCall:
		switch {
		case it.CallID == "":
			return wrong("Missing required parameter: 'call_id'.")
		case !validName(it.Name):
			return fmt.Errorf("name %q is not 1 to 64 letters, digits, _ or -", it.Name)
		case it.Arguments == nil:
			return wrong("Missing required parameter: 'arguments'.")
		case it.Arguments[0] != '"':
			return wrong("Invalid type for 'arguments': expected a string.")
		}
		return it.checkID("fc")
	case itemSearch, itemSearchResult:
		return it.checkSearch()
	case itemResult:
		if it.CallID == "" {
			return wrong("Missing required parameter: 'call_id'.")
		}
		_, err := it.parts(it.Output, "input_text", "input_image")
		return err
	case itemReasoning:
		if it.Summary == nil {
			return wrong("Missing required parameter: 'summary'.")
		}
		for _, p := range it.Summary {
			if p.Type != "summary_text" {
				return wrong("Invalid value: '%s'. Supported values are: 'summary_text'.", p.Type)
			}
		}
		return it.checkID("rs")
	case "item_reference":
		id := ""
		if it.ID != nil {
			id = *it.ID
		}
		return wrong("Item with id '%s' not found.", id)
	}
	return wrong(
		"Invalid value: '%s'. Supported values are: 'message', 'reasoning', 'function_call', and "+
			"'function_call_output'.",
		it.Type,
	)
}

// checkSearch looks at a search for tools, or at what it found. From then on it is a call, or
// a result, as any other.
func (it *inputItem) checkSearch() error {
	switch {
	case it.CallID == "" || it.Execution != "client" || it.Status != "completed":
		return wrong("A search for tools needs 'call_id', 'execution' and 'status'.")
	case it.Type == itemSearch && !isObject(it.Arguments):
		return wrong("Invalid type for 'arguments': expected an object.")
	case it.Type == itemSearch:
		it.Type = itemCall
		return it.checkID("tsc")
	case it.Tools == nil:
		return wrong("Missing required parameter: 'tools'.")
	}
	for _, t := range it.Tools {
		if t.Type != "function" || !validName(t.Name) || !isObject(t.Parameters) || t.Deferred == nil || !*t.Deferred {
			return wrong("Invalid 'tools': %q is not a function with 'defer_loading'.", t.Name)
		}
	}
	it.Type = itemResult
	return nil
}

// checkID looks at the id of an item, which can be left out.
func (it *inputItem) checkID(prefix string) error {
	if it.ID != nil && !strings.HasPrefix(*it.ID, prefix) {
		return wrong("Invalid 'id': '%s'. Expected an ID that begins with '%s'.", *it.ID, prefix)
	}
	return nil
}

// checkMessage looks at a message and takes its text.
func (it *inputItem) checkMessage() error {
	types := []string{"input_text", "input_image"}
	switch it.Role {
	case "assistant":
		types = []string{"output_text", "refusal"}
	case "user":
	case "system", "developer":
		types = types[:1]
	default:
		return wrong(
			"Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
			it.Role,
		)
	}
	if err := it.checkID("msg"); err != nil {
		return err
	}
	if it.ID != nil && it.Role == "assistant" && it.Status == "" {
		return wrong("Missing required parameter: 'status'.")
	}
	text, err := it.parts(it.Content, types...)
	if err != nil {
		return err
	}
	if text == "" {
		return fmt.Errorf("the %s message has no content", it.Role)
	}
	it.text = text
	return nil
}

// parts checks content, which is text or a list of parts of the given types,
// and returns what it says; an image is its URL.
func (it *inputItem) parts(raw json.RawMessage, types ...string) (string, error) {
	if raw == nil || string(raw) == "null" {
		return "", wrong("Missing required parameter: 'content' or 'output'.")
	}
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		return whole, nil
	}
	var parts []itemPart
	if err := decodeStrict(raw, &parts); err != nil {
		return "", fmt.Errorf("content is neither a string nor a list of parts: %w", err)
	}
	var out []string
	for _, p := range parts {
		if !slices.Contains(types, p.Type) {
			return "", wrong(
				"Invalid value: '%s'. Supported values are: '%s'.",
				p.Type,
				strings.Join(types, "' and '"),
			)
		}
		content := p.Text + p.Refusal + p.ImageURL
		if content == "" {
			return "", fmt.Errorf("a part of type '%s' is empty", p.Type)
		}
		out = append(out, content)
	}
	return strings.Join(out, "\n"), nil
}
