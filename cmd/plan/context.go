package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/plan-engine/plan"
)

// looseMessage is a message as other programs write them: with blocks, or with
// content that is a string or a list of parts.
type looseMessage struct {
	Role    plan.Role       `json:"role"`
	Blocks  []plan.Block    `json:"blocks"`
	Content json.RawMessage `json:"content"`
}

// readContext reads the frozen conversation of --context. Tool calls and
// results are left out: they belong to tools that this run does not have.
func readContext(file string, redact func(string) string) ([]plan.Message, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, &hinted{
			fmt.Errorf("read the conversation: %w", err),
			"--context takes a file, relative to where you are and not to -C.",
		}
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '[' {
		text := strings.TrimSpace(strings.ToValidUTF8(string(data), "�"))
		if text == "" {
			return nil, &advice{
				fmt.Sprintf("the conversation in %s is empty", file),
				"Give a JSON array of messages, or plain text.",
			}
		}
		return []plan.Message{plan.UserText("An earlier conversation, for context:\n\n" + redact(text))}, nil
	}
	var loose []looseMessage
	if err := json.Unmarshal(data, &loose); err != nil {
		return nil, &advice{
			fmt.Sprintf("the conversation in %s cannot be read: %v", file, err),
			`It is a JSON array of messages like {"role": "user", "content": "…"}.`,
		}
	}
	var out []plan.Message
	for i, m := range loose {
		text, err := m.text()
		if err != nil {
			return nil, fmt.Errorf("message %d of %s: %w", i+1, file, err)
		}
		switch m.Role {
		case plan.RoleUser, plan.RoleAssistant:
		case plan.RoleTool, plan.RoleExtension, "system", "developer", "toolResult":
			continue
		default:
			return nil, fmt.Errorf("message %d of %s: the role %q is not user or assistant", i+1, file, m.Role)
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		out = append(
			out,
			plan.Message{Role: m.Role, Blocks: []plan.Block{{Type: plan.BlockText, Text: redact(text)}}},
		)
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

// contextBlob keeps a conversation beside the journal.
func contextBlob(messages []plan.Message) (plan.Blob, error) {
	data, err := plan.MarshalCompact(messages)
	if err != nil {
		return plan.Blob{}, fmt.Errorf("keep the conversation: %w", err)
	}
	return plan.NewBlob(data), nil
}
