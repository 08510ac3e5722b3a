package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/hint"
)

// looseMessage is a message as other programs write them: with blocks, or with
// content that is a string or a list of parts.
type looseMessage struct {
	Role    plan.Role       `json:"role"`
	Blocks  []plan.Block    `json:"blocks"`
	Content json.RawMessage `json:"content"`
}

// ReadContext reads a conversation to start Explore from: a JSON array of
// messages, or plain text. Tool calls and results are left out: they belong to
// tools that the run does not have. Name is what the text is called in errors.
func ReadContext(name string, data []byte) ([]plan.Message, error) {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '[' {
		text := strings.TrimSpace(strings.ToValidUTF8(string(data), "�"))
		if text == "" {
			return nil, hint.New(
				fmt.Sprintf("the conversation in %s is empty", name),
				"Give a JSON array of messages, or plain text.",
			)
		}
		return []plan.Message{plan.UserText("An earlier conversation, for context:\n\n" + text)}, nil
	}
	var loose []looseMessage
	if err := json.Unmarshal(data, &loose); err != nil {
		return nil, hint.New(
			fmt.Sprintf("the conversation in %s cannot be read: %v", name, err),
			`It is a JSON array of messages like {"role": "user", "content": "…"}.`,
		)
	}
	var out []plan.Message
	for i, m := range loose {
		text, err := m.text()
		if err != nil {
			return nil, fmt.Errorf("message %d of %s: %w", i+1, name, err)
		}
		switch m.Role {
		case plan.RoleUser, plan.RoleAssistant:
		case plan.RoleTool, plan.RoleExtension, "system", "developer", "toolResult":
			continue
		default:
			return nil, fmt.Errorf("message %d of %s: the role %q is not user or assistant", i+1, name, m.Role)
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		out = append(out, plan.Message{
			Role:   m.Role,
			Blocks: []plan.Block{{Type: plan.BlockText, Text: text}},
		})
	}
	return out, nil
}

// text is what a message says.
func (m looseMessage) text() (string, error) {
	if len(m.Blocks) > 0 {
		return plan.Message{Role: m.Role, Blocks: m.Blocks}.Text(), nil
	}
	if len(m.Content) == 0 || string(m.Content) == "null" {
		return "", nil
	}
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return "", fmt.Errorf("its content is neither text nor a list of parts: %w", err)
	}
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n"), nil
}

// redactMessages replaces secrets in the text of messages.
func redactMessages(messages []plan.Message, redact func(string) string) []plan.Message {
	out := make([]plan.Message, len(messages))
	for i, m := range messages {
		m.Blocks = slices.Clone(m.Blocks)
		for at := range m.Blocks {
			m.Blocks[at].Text = redact(m.Blocks[at].Text)
		}
		out[i] = m
	}
	return out
}

// contextBlob keeps a conversation beside the journal.
func contextBlob(messages []plan.Message) (plan.Blob, error) {
	data, err := plan.MarshalCompact(messages)
	if err != nil {
		return plan.Blob{}, fmt.Errorf("keep the conversation: %w", err)
	}
	return plan.NewBlob(data), nil
}
