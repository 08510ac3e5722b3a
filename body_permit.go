package plan

// Grant is what a person's yes lets pass from now on, besides the call that
// they were asked about: the calls that fit all of it. An empty one grants
// nothing.
type Grant struct {
	Tool    string `json:"tool,omitempty"`
	Path    string `json:"path,omitempty"`
	Command string `json:"command,omitempty"`
}

// The scopes of a person's yes.
const (
	ScopeOnce   = ""       // this call
	ScopeRun    = "run"    // what the grant says, in this run
	ScopeAlways = "always" // and in all that come
)

// TypeHook is the type of HookRan.
const TypeHook EventType = "hook"

// HookRan says that a command of the settings was run at a moment of the run,
// and what came of it.
type HookRan struct {
	Event      string `json:"event"` // pre_tool_use, verdict, …
	Command    string `json:"command"`
	Tool       string `json:"tool,omitempty"`
	Call       string `json:"call,omitempty"`
	Action     string `json:"action"` // passed, blocked, changed or failed
	ExitCode   int    `json:"exit_code"`
	Output     string `json:"output,omitempty"`
	Error      string `json:"error,omitempty"` // why it failed
	DurationMS int64  `json:"duration_ms"`
}

// Type implements [Body].
func (HookRan) Type() EventType { return TypeHook }
