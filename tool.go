package plan

import (
	"encoding/json"

	"github.com/plan-engine/plan/internal/oneline"
)

// The events of a tool call.
const (
	TypeToolStart  EventType = "tool_start"
	TypeToolUpdate EventType = "tool_update"
	TypeToolEnd    EventType = "tool_end"
	TypeHook       EventType = "hook"
)

var toolEvents = []eventKind{
	folded[ToolStart](),
	live[ToolUpdate](),
	folded[ToolEnd](),
	stored[HookRan](),
}

// ToolStart is the intent to run a tool. It is committed before the tool runs.
type ToolStart struct {
	Call   string          `json:"call"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Effect string          `json:"effect,omitempty"`
	// Intent says what a verifiable call is going to do; without one, a call
	// counts as unknown.
	Intent *Intent `json:"intent,omitempty"`
	// Conv is the conversation of the sub-agent that does it, if one does.
	Conv string `json:"conv,omitempty"`
}

// Type implements [Body].
func (ToolStart) Type() EventType { return TypeToolStart }

// Headline implements [Body].
func (b ToolStart) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "call",
		Text:  b.Name,
	}
}

// Effect classes of tools: what may be done when it is not known whether a
// started call finished.
const (
	EffectReplay     = "replay_safe" // run again
	EffectVerifiable = "verifiable"  // compare the files with the intent
	EffectUnknown    = "unknown"     // never run again
)

// Intent is what a call of a verifiable tool is going to do, worked out before
// it is done and committed with the [ToolStart]. A process that finds the call
// begun and not ended compares the files with it.
type Intent struct {
	// Key names the call among all others: a hash over run, conversation, turn,
	// call, tool and arguments.
	Key string `json:"key"`
	// Files are those that the call looks at to change; none for a call that
	// will fail.
	Files []FileChange `json:"files,omitempty"`
	// Output and Error are the result, should all go as worked out.
	Output string `json:"output"`
	Error  bool   `json:"error,omitempty"`
}

// FileChange is one file before and after a call. Contents are named by their
// hex SHA-256, "" for no file. Equal hashes without a Mode mean that the file
// is left as it is.
type FileChange struct {
	Path   string `json:"path"`             // as the call names it, relative to the root
	Target string `json:"target,omitempty"` // where it really is, if symbolic links lead there
	Before string `json:"before"`
	After  string `json:"after"`
	// Mode is the permission bits afterwards, in octal, if the call changes
	// those of a file that there is.
	Mode string `json:"mode,omitempty"`
}

// Names are the paths that the file is known by.
func (c FileChange) Names() []string {
	if c.Target == "" || c.Target == c.Path {
		return []string{c.Path}
	}
	return []string{c.Path, c.Target}
}

// TempName is the name under which a call with this key writes a file before it
// renames it into place. What a killed process left under it is the run's own.
func TempName(key string) string { return ".plan-" + key + ".tmp" }

// SecretMark begins the mark that stands for a secret wherever a model or the
// journal would read it; the secret's name and » follow.
const SecretMark = "«secret "

// ToolUpdate is live output of a running tool.
type ToolUpdate struct {
	Call string `json:"call"`
	Name string `json:"name"`
	Text string `json:"text"`
}

// Type implements [Body].
func (ToolUpdate) Type() EventType { return TypeToolUpdate }

// Headline implements [Body].
func (b ToolUpdate) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "call",
		Text:  b.Text,
	}
}

// ToolEnd is what the model reads as the result of a call.
type ToolEnd struct {
	Call       string `json:"call"`
	Name       string `json:"name"`
	Error      bool   `json:"error"`
	Output     string `json:"output"`
	DurationMS int64  `json:"duration_ms"`
	Blob       string `json:"blob,omitempty"` // hash of the full output, when Output was cut
	// ExitCode is set by tools that run a command.
	ExitCode *int `json:"exit_code,omitempty"`
	// Files holds the hash of every file content that this call showed to the
	// model or wrote; "" for a file that is gone.
	Files map[string]string `json:"files,omitempty"`
	// Terminate says that the conversation ends if all results of the turn do.
	Terminate bool `json:"terminate,omitempty"`
	// Status is "" for a call that ran to its end, otherwise why it did not:
	// refused, invalid, cancelled, timeout, unknown, conflict.
	Status string `json:"status,omitempty"`
	// Altered names files of the reviewed snapshot that stood changed in the
	// layer of a review before or after the call.
	Altered []string `json:"altered,omitempty"`
	// Made are files that a review's commands have made, or written anew, since the
	// call before; one without a hash is gone. The contents are blobs, so that a later
	// process can put them back. Files with known secrets are not among them.
	Made []AddedFile `json:"made,omitempty"`
	// Found are the tools that a search has found.
	Found []FoundTool `json:"found,omitempty"`
}

// FoundTool is a tool that a conversation was not offered when it began.
type FoundTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments
}

// Type implements [Body].
func (ToolEnd) Type() EventType { return TypeToolEnd }

// Headline implements [Body].
func (b ToolEnd) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "result",
		Text:  oneline.Join(": ", b.Name, b.Output),
	}
}

// HookRan says that a command of the settings was run at a moment of the run,
// and what came of it.
type HookRan struct {
	Event      string `json:"event"` // pre_tool_use, verdict, …
	Command    string `json:"command"`
	Tool       string `json:"tool,omitempty"`
	Call       string `json:"call,omitempty"`
	Action     string `json:"action"` // passed, blocked, reopened, changed or failed
	ExitCode   int    `json:"exit_code"`
	Output     string `json:"output,omitempty"`
	Error      string `json:"error,omitempty"` // why it failed
	DurationMS int64  `json:"duration_ms"`
	// Change is what it changed, shortened, where Action is changed.
	Change *HookChange `json:"change,omitempty"`
}

// HookChange is what a hook put in the place of what.
type HookChange struct {
	What string `json:"what"` // args, context, result or model
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Type implements [Body].
func (HookRan) Type() EventType { return TypeHook }

// Headline implements [Body].
func (b HookRan) Headline() Headline {
	h := Headline{
		Level: LevelWarning,
		Label: "hook",
		Text:  b.Event + " " + b.Action + ": " + b.Command,
	}
	if b.Action == "passed" {
		h.Level = LevelDetail
	}
	return h
}
