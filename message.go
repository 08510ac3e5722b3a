package plan

import (
	"encoding/json"

	"github.com/plan-engine/plan/internal/oneline"
)

// The events of a message.
const (
	TypeMessageStart  EventType = "message_start"
	TypeMessageUpdate EventType = "message_update"
	TypeMessageEnd    EventType = "message_end"
)

var messageEvents = []eventKind{
	folded[MessageStart](),
	live[MessageUpdate](),
	folded[MessageEnd](),
}

// Role says who speaks a message.
type Role string

// The roles. A Tool message carries the results of one turn's calls, in call
// order. An Extension message is carried and stored but not sent to a model:
// it holds what a program that uses the conversation wants to keep in it, in
// Kind and Data.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
	RoleExtension Role = "extension"
)

// BlockType says which fields of a [Block] mean something.
type BlockType string

// The block types.
const (
	BlockText       BlockType = "text"        // Text
	BlockReasoning  BlockType = "reasoning"   // Text, Opaque
	BlockToolCall   BlockType = "tool_call"   // Call, Name, Args
	BlockToolResult BlockType = "tool_result" // Call, Name, Text, Error, Blob, Found
	BlockImage      BlockType = "image"       // MIME, Data (base64)
	BlockExtension  BlockType = "extension"   // Kind, Opaque
)

// Block is one part of a message.
type Block struct {
	Type BlockType `json:"type"`
	Text string    `json:"text,omitempty"`

	// Call is the id that ties a tool call to its result.
	Call string `json:"call,omitempty"`
	Name string `json:"name,omitempty"`
	// Args is the argument text exactly as the model wrote it. It may not be
	// valid JSON; it is kept so that a resent prefix has the same bytes.
	Args  string `json:"args,omitempty"`
	Error bool   `json:"error,omitempty"`
	// Blob is the hash of the full text when Text was cut.
	Blob string `json:"blob,omitempty"`
	// Found are the tools that a result tells of: a server that takes tools in the
	// middle of a conversation is sent them in place of Text.
	Found []FoundTool `json:"found,omitempty"`

	MIME string `json:"mime,omitempty"`
	Data string `json:"data,omitempty"`
	Kind string `json:"kind,omitempty"`
	// Opaque is provider data that must be sent back as it came.
	Opaque json.RawMessage `json:"opaque,omitempty"`

	// Extra holds the fields that were read and are not known here, so that
	// they are written back. They are not sent to a model.
	Extra map[string]json.RawMessage `json:"-"`
}

// Message is one entry of a conversation.
type Message struct {
	Role   Role    `json:"role"`
	Blocks []Block `json:"blocks"`
	// Origin says who a user message is from when it is not the workflow's own
	// prompt: see the Origin constants. It is not sent to a model.
	Origin string `json:"origin,omitempty"`

	// Kind and Data are an extension message's own.
	Kind string          `json:"kind,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`

	// Extra is as in [Block].
	Extra map[string]json.RawMessage `json:"-"`
}

// Where user messages that are no prompts come from.
const (
	OriginSteering = "steering"  // a person, while the conversation ran
	OriginFollowUp = "follow_up" // a person, for when the conversation has ended
	OriginNotice   = "notice"    // the loop: a limit is near, or was reached
	OriginSummary  = "summary"   // a compaction: what stands for the messages before it
	OriginContext  = "context"   // an earlier conversation: what its tools were called with and returned
	OriginHook     = "hook"      // a hook that finds that what was done is not all of it
)

// OriginDrift marks a user message that tells of changes in the work tree.
const OriginDrift = "drift"

// KindAdvice marks the extension block in whose place a request carries what
// memory has to say. The conversation keeps the mark only: what was recalled
// stands in the journal, and not in what is said.
const KindAdvice = "advice"

// UserText makes a user message of one text block.
func UserText(text string) Message {
	return Message{Role: RoleUser, Blocks: []Block{{Type: BlockText, Text: text}}}
}

// Text joins the text blocks of a message, leaving reasoning and calls out.
func (m Message) Text() string {
	var out string
	for _, b := range m.Blocks {
		if b.Type != BlockText || b.Text == "" {
			continue
		}
		if out != "" {
			out += "\n"
		}
		out += b.Text
	}
	return out
}

// Calls returns the tool call blocks of a message, in order.
func (m Message) Calls() []Block {
	var out []Block
	for _, b := range m.Blocks {
		if b.Type == BlockToolCall {
			out = append(out, b)
		}
	}
	return out
}

// MessageStart opens a message.
type MessageStart struct {
	Role Role `json:"role"`
}

// Type implements [Body].
func (MessageStart) Type() EventType { return TypeMessageStart }

// Headline implements [Body].
func (b MessageStart) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "message",
		Text:  string(b.Role),
	}
}

// MessageUpdate is a live piece of an assistant message.
type MessageUpdate struct {
	Kind BlockType `json:"kind"` // text, reasoning or tool_call (argument text)
	Call string    `json:"call,omitempty"`
	Name string    `json:"name,omitempty"`
	Text string    `json:"text"`
}

// Type implements [Body].
func (MessageUpdate) Type() EventType { return TypeMessageUpdate }

// Headline implements [Body].
func (b MessageUpdate) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "message",
		Text:  b.Text,
	}
}

// MessageEnd closes a message. A discarded one is not part of the conversation:
// the call that was writing it did not end, and then it has no blocks, or the
// answer was refused or ended by a filter (stop content_filter or refusal).
type MessageEnd struct {
	Message
	Stop      string `json:"stop,omitempty"`   // stop, tool_calls, length, content_filter, refusal
	Finish    string `json:"finish,omitempty"` // the server's own word for it, where that is another
	Model     string `json:"model,omitempty"`
	Discarded bool   `json:"discarded,omitempty"`
}

// Type implements [Body].
func (MessageEnd) Type() EventType { return TypeMessageEnd }

// Headline implements [Body].
func (b MessageEnd) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "message",
		Text:  oneline.Join(": ", string(b.Role), b.Text()),
	}
}
