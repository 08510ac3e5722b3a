package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/hint"
)

// runContext is what a conversation of a run of this home is named with.
const runContext = "run:"

// maxContext and mostContext are how many bytes and messages a conversation from a file may
// have. Each message is two events of the journal, so it has far fewer than the bytes hold.
const (
	maxContext  = 64 << 20
	mostContext = 20_000
)

// Context reads the conversation that Explore starts from: what an earlier run said, for
// "run:ID", else that of a file as [ReadContext] reads it.
func (h *Host) Context(ctx context.Context, from string) ([]plan.Message, error) {
	if prefix, ok := strings.CutPrefix(from, runContext); ok {
		id, err := h.Resolve(ctx, prefix)
		if err != nil {
			return nil, err
		}
		return h.conversationOf(ctx, id)
	}
	data, err := readUpTo(from, maxContext)
	if err != nil {
		return nil, hint.Wrap(
			fmt.Errorf("read the conversation: %w", err),
			"--context takes a file, relative to where you are and not to -C, or run:ID for what an earlier run said.",
		)
	}
	return ReadContext(from, data)
}

// readUpTo reads a file, or a pipe, that is not larger than limit bytes.
func readUpTo(name string, limit int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err //nolint:wrapcheck // names the file
	}
	defer file.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d MiB", name, limit>>20)
	}
	return data, err
}

// looseMessage is a message as this and other programs write them: with blocks and the
// result of a call, or with content that is a string or a list of parts, and calls beside
// it.
type looseMessage struct {
	Role      plan.Role       `json:"role"`
	Parent    string          `json:"parent"`
	Discarded bool            `json:"discarded"`
	Blocks    []plan.Block    `json:"blocks"`
	Result    *plan.ToolEnd   `json:"result"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []looseCall     `json:"tool_calls"`
	Function  *looseFunction  `json:"function_call"`
	Name      string          `json:"name"`
	CallID    string          `json:"tool_call_id"`
	// As a program writes them that has no underscores.
	ToolName   string `json:"toolName"`
	ToolCallID string `json:"toolCallId"`
}

type looseCall struct {
	ID       string        `json:"id"`
	Function looseFunction `json:"function"`
}

type looseFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// loosePart is a part of a content. Calls and results stand among the texts in some forms.
type loosePart struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Arguments json.RawMessage `json:"arguments"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// ReadContext reads a conversation to start Explore from: a JSON array of messages, or an
// object that has one, as requests of Chat Completions, `plan show --transcript --json` and
// others have them; or plain text. Calls of tools and their results are data in it,
// bounded: the run does not have those tools. Name is what the text is called in errors.
func ReadContext(name string, data []byte) ([]plan.Message, error) {
	var whole struct {
		Messages json.RawMessage `json:"messages"`
	}
	if json.Unmarshal(data, &whole) == nil && len(whole.Messages) > 0 {
		data = whole.Messages
	}
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
	var t thread
	for i, m := range loose {
		if m.Discarded || m.Parent != "" {
			continue
		}
		spoken, err := m.utterance()
		if err != nil {
			return nil, fmt.Errorf("message %d of %s: %w", i+1, name, err)
		}
		switch m.Role {
		case plan.RoleUser, plan.RoleAssistant, plan.RoleTool, "function", "toolResult":
		case plan.RoleExtension, "system", "developer":
			continue
		default:
			return nil, fmt.Errorf("message %d of %s: the role %q is not user, assistant or tool", i+1, name, m.Role)
		}
		t.add(spoken)
	}
	messages := t.messages()
	if len(messages) > mostContext {
		return nil, hint.New(
			fmt.Sprintf("the conversation in %s has %d messages; %d is the most", name, len(messages), mostContext),
			"Give the part of it that matters, or what it came to as plain text.",
		)
	}
	return messages, nil
}

// utterance is what a message says and what its calls and results are.
func (m looseMessage) utterance() (utterance, error) {
	out := utterance{role: m.Role}
	for _, c := range m.ToolCalls {
		out.calls = append(out.calls, toolCall{
			id:   c.ID,
			name: c.Function.Name,
			args: plainJSON(c.Function.Arguments),
		})
	}
	if m.Function != nil {
		out.calls = append(out.calls, toolCall{name: m.Function.Name, args: plainJSON(m.Function.Arguments)})
	}
	if m.Result != nil {
		out.results = append(out.results, resultOf(*m.Result))
		return out, nil
	}
	if len(m.Blocks) > 0 {
		out.addBlocks(m.Blocks)
		return out, nil
	}
	parts, err := partsOf(m.Content)
	if err != nil {
		return out, err
	}
	var texts []string
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			texts = append(texts, p.Text)
		case "tool_use", "toolCall":
			args := p.Input
			if len(args) == 0 {
				args = p.Arguments
			}
			out.calls = append(out.calls, toolCall{
				id:   p.ID,
				name: p.Name,
				args: plainJSON(args),
			})
		case "tool_result":
			text, err := textOf(p.Content)
			if err != nil {
				return out, err
			}
			out.results = append(out.results, toolResult{
				call:   p.ToolUseID,
				text:   text,
				failed: p.IsError,
			})
		}
	}
	text := strings.Join(texts, "\n")
	switch m.Role {
	case plan.RoleUser, plan.RoleAssistant:
		out.text = text
	default:
		out.results = append(out.results, toolResult{
			call: cmp.Or(m.CallID, m.ToolCallID),
			name: cmp.Or(m.Name, m.ToolName),
			text: text,
		})
	}
	return out, nil
}

// partsOf are the parts of a content that is a text or a list.
func partsOf(content json.RawMessage) ([]loosePart, error) {
	if len(content) == 0 || string(content) == "null" {
		return nil, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []loosePart{{Type: "text", Text: text}}, nil
	}
	var parts []loosePart
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, fmt.Errorf("its content is neither text nor a list of parts: %w", err)
	}
	return parts, nil
}

// textOf is the text of a content.
func textOf(content json.RawMessage) (string, error) {
	parts, err := partsOf(content)
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n"), err
}

// plainJSON are arguments, which some write as a text that holds JSON.
func plainJSON(args json.RawMessage) string {
	var text string
	if json.Unmarshal(args, &text) == nil {
		return text
	}
	return string(args)
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
