package chat

import (
	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/wire"
)

// What a long history is made of: results of tools, and answers with nothing in
// them that only their provider knows. The SDK's types would write the same
// bytes, and take five times as long for it.

type toolResult struct {
	Content string `json:"content"`
	Call    string `json:"tool_call_id"`
	Role    string `json:"role"`
}

type plainAnswer struct {
	Content   *string     `json:"content"` // null rather than nothing: some servers want the field
	ToolCalls []plainCall `json:"tool_calls,omitempty"`
	Role      string      `json:"role"`
	// Reasoning is there where the answer came with it under this name.
	Reasoning *string `json:"reasoning_content,omitempty"`
}

type plainCall struct {
	ID       string        `json:"id"`
	Function plainFunction `json:"function,omitzero"`
	Type     string        `json:"type"`
}

type plainFunction struct {
	Arguments string `json:"arguments"`
	Name      string `json:"name"`
}

// plainMessage writes an answer. It is false for one that has more to it.
func (e encoder) plainMessage(m plan.Message, o *wire.Optionals) (msg plainAnswer, ok bool) {
	msg.Role = string(plan.RoleAssistant)
	if e.reasoning || o.Mends[partReasoning] == toEvery {
		return msg, false
	}
	for _, b := range m.Blocks {
		switch {
		case b.Type == plan.BlockToolCall && len(b.Opaque) == 0:
			msg.ToolCalls = append(msg.ToolCalls, plainCall{
				ID:       b.Call,
				Function: plainFunction{Arguments: b.Args, Name: b.Name},
				Type:     "function",
			})
		case b.Type == plan.BlockReasoning && len(b.Opaque) == 0:
		case b.Type == plan.BlockReasoning && msg.Reasoning == nil && e.isContent(b):
			if o.May(wire.Optional{Part: partReasoning}) {
				msg.Reasoning = &b.Text
			}
		case b.Type == plan.BlockToolCall, b.Type == plan.BlockReasoning:
			return msg, false
		}
	}
	if text := m.Text(); text != "" {
		msg.Content = &text
	} else if len(msg.ToolCalls) > 0 && !o.May(nullContent()) {
		msg.Content = &text
	}
	return msg, msg.Content != nil || len(msg.ToolCalls) > 0
}

// isContent reports whether reasoning came as reasoning_content and nothing else.
func (e encoder) isContent(b plan.Block) bool {
	fields := wire.Open(b.Opaque, Name, e.provider)
	return len(fields) == 1 && string(fields[partReasoning]) == "null"
}
