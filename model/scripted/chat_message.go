package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// message is one message of a request. Decoding refuses any field that is not
// here.
type message struct {
	Role          string          `json:"role"`
	Content       json.RawMessage `json:"content"`
	Name          string          `json:"name"`
	Reasoning     *string         `json:"reasoning_content"`
	ReasoningText *string         `json:"reasoning"`
	Details       []detail        `json:"reasoning_details"`
	Refusal       *string         `json:"refusal"`
	ToolCalls     []messageCall   `json:"tool_calls"`
	ToolCallID    string          `json:"tool_call_id"`
}

type messageCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
	Extra *extraContent `json:"extra_content"`
}

type contentPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL *struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	} `json:"image_url"`
}

// text is what the message says, without images.
func (m *message) text() string {
	var whole string
	if json.Unmarshal(m.Content, &whole) == nil {
		return whole
	}
	var parts []contentPart
	_ = json.Unmarshal(m.Content, &parts) // it was checked
	for _, p := range parts {
		whole += p.Text
	}
	return whole
}

// check looks at a message by itself.
func (m *message) check() error {
	reasons := m.Reasoning != nil || m.ReasoningText != nil || m.Details != nil
	if m.Role != "assistant" && (m.ToolCalls != nil || reasons || m.Refusal != nil) {
		return fmt.Errorf("a %s message cannot hold tool_calls, reasoning_content or refusal", m.Role)
	}
	if m.Role != "tool" && m.ToolCallID != "" {
		return fmt.Errorf("a %s message cannot hold tool_call_id", m.Role)
	}
	size, err := m.contentSize()
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer", "user":
		if size == 0 {
			return fmt.Errorf("the %s message has no content", m.Role)
		}
	case "tool":
		if m.ToolCallID == "" {
			return errors.New("the tool message has no tool_call_id")
		}
		if m.Content == nil {
			return errors.New("the tool message has no content; send an empty string")
		}
	case "assistant":
		if size == 0 && len(m.ToolCalls) == 0 && m.Refusal == nil {
			return errors.New("the assistant message has neither content nor tool calls")
		}
		return m.checkCalls()
	default:
		return fmt.Errorf("role %q is not one of system, developer, user, assistant, tool", m.Role)
	}
	return nil
}

// contentSize checks the content and returns how many bytes of it say
// something.
func (m *message) contentSize() (int, error) {
	raw := bytes.TrimSpace(m.Content)
	if len(raw) == 0 || string(raw) == "null" {
		m.Content = nil
		return 0, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return len(text), nil
	}
	var parts []contentPart
	if err := decodeStrict(raw, &parts); err != nil {
		return 0, fmt.Errorf("content is neither a string nor a list of parts: %w", err)
	}
	size := 0
	for i, p := range parts {
		switch {
		case p.Type == "text" && p.Text != "":
			size += len(p.Text)
		case p.Type == "refusal" && p.Refusal != "" && m.Role == "assistant":
			size += len(p.Refusal)
		case p.Type == "image_url" && p.ImageURL != nil && p.ImageURL.URL != "" && m.Role == "user":
			size += len(p.ImageURL.URL)
		default:
			return 0, fmt.Errorf(
				"content[%d]: a %s message cannot hold this part of type %q, or the part is empty",
				i,
				m.Role,
				p.Type,
			)
		}
	}
	return size, nil
}

func (m *message) checkCalls() error {
	if m.ToolCalls != nil && len(m.ToolCalls) == 0 {
		return errors.New("tool_calls is an empty list; leave it out")
	}
	seen := map[string]bool{}
	for i, c := range m.ToolCalls {
		switch {
		case c.ID == "":
			return fmt.Errorf("tool_calls[%d] has no id", i)
		case seen[c.ID]:
			return fmt.Errorf("tool_calls[%d]: id %q is used twice", i, c.ID)
		case c.Type != "function":
			return fmt.Errorf("tool_calls[%d]: type is %q, not \"function\"", i, c.Type)
		case !validName(c.Function.Name):
			return fmt.Errorf("tool_calls[%d]: name %q is not 1 to 64 letters, digits, _ or -", i, c.Function.Name)
		case c.Function.Arguments == nil:
			return fmt.Errorf("tool_calls[%d]: arguments of %q is missing; it is a string", i, c.Function.Name)
		}
		seen[c.ID] = true
	}
	return nil
}

// checkOrder looks at how the messages follow one another.
func checkOrder(messages []message) error {
	var waiting []messageCall // calls whose result has not come, in order
	begun := false
	for i, m := range messages {
		if m.Role == "tool" {
			if err := answers(m.ToolCallID, waiting); err != nil {
				return fmt.Errorf("messages[%d]: %w", i, err)
			}
			waiting = waiting[1:]
			continue
		}
		if len(waiting) > 0 {
			return fmt.Errorf("messages[%d]: message of role %s comes before the result of tool call %q (%s)",
				i, m.Role, waiting[0].ID, waiting[0].Function.Name)
		}
		if system := m.Role == "system" || m.Role == "developer"; !system {
			begun = true
		} else if begun {
			return fmt.Errorf("messages[%d]: a %s message comes after the conversation began", i, m.Role)
		}
		waiting = m.ToolCalls
	}
	last := messages[len(messages)-1].Role
	switch {
	case len(waiting) > 0:
		return fmt.Errorf(
			"messages end before the result of tool call %q (%s)",
			waiting[0].ID,
			waiting[0].Function.Name,
		)
	case last != "user" && last != "tool":
		return fmt.Errorf("the last message is a %s message, which leaves nothing to answer", last)
	}
	return nil
}

// answers checks that a result with this id is the one that comes next.
func answers(id string, waiting []messageCall) error {
	switch {
	case len(waiting) == 0:
		return fmt.Errorf("tool result %q answers no call that is waiting: it was answered before, or never made", id)
	case waiting[0].ID != id:
		return fmt.Errorf(
			"tool result %q is out of order: the next call waiting is %q (%s)",
			id,
			waiting[0].ID,
			waiting[0].Function.Name,
		)
	}
	return nil
}
