package loop

import (
	"context"
	"encoding/json"
	"time"

	"github.com/plan-engine/plan"
)

// Tool is one thing a model can do.
type Tool interface {
	// Info describes the tool. It always returns the same value.
	Info() Info
	// Run does the work. Args have been validated against the schema. What
	// the model should know, failures included, is in the result; an error
	// means that the run cannot go on. When ctx ends, Run stops what it
	// started and returns soon.
	Run(ctx context.Context, in Input) (Result, error)
}

// Verifiable is a tool of the class plan.EffectVerifiable. What a call does to
// files is worked out before it is done, so that a later process that finds the call cut off
// can tell from the files how far it got.
type Verifiable interface {
	// Prepare works out what a call will do, and does nothing. A call that is
	// going to fail has an intent without files.
	Prepare(ctx context.Context, in Input) (plan.Intent, error)
	// Apply carries an intent out as far as that has not happened yet: files
	// that are as before are changed, files that are as after are left. If any
	// file is neither, nothing is changed and the result says so.
	Apply(ctx context.Context, in Input, intent plan.Intent) (Result, error)
}

// Dispatcher is a tool whose calls are calls of tools that the conversation does not offer by
// name: hooks, rules and the journal see the tool that is meant, with its arguments. What the
// model has written stays as it is. Its methods return at once, and do nothing else.
type Dispatcher interface {
	// Dispatch is the tool that a call means, and what it is called with. Without a tool,
	// problem is what the model reads.
	Dispatch(args json.RawMessage) (tool Tool, inner json.RawMessage, problem string)
	// Named is the tool of a name that the conversation does not offer, for a model that
	// calls by name what it has found; nil where there is none.
	Named(name string) Tool
}

// dispatcher finds a dispatcher in a tool, also inside one that wraps it.
func dispatcher(t Tool) Dispatcher {
	for t != nil {
		if d, ok := t.(Dispatcher); ok {
			return d
		}
		w, ok := t.(interface{ Unwrap() Tool })
		if !ok {
			return nil
		}
		t = w.Unwrap()
	}
	return nil
}

// verifiable finds what is verifiable in a tool, also inside one that wraps
// it; nil if nothing is.
func verifiable(t Tool) Verifiable {
	for t != nil {
		if v, ok := t.(Verifiable); ok {
			return v
		}
		w, ok := t.(interface{ Unwrap() Tool })
		if !ok {
			return nil
		}
		t = w.Unwrap()
	}
	return nil
}

// Info is a tool's description.
type Info struct {
	Spec
	// Effect is one of plan.EffectReplay, EffectVerifiable, EffectUnknown. A
	// tool that is not [Verifiable] counts as unknown when it says that it is.
	Effect string
	// Serial makes every batch with this tool in it run one call at a time.
	Serial bool
	// Writes says that the tool may change the tree.
	Writes bool
	// Asks says that the tool puts a question to a person: arguments question
	// and options. It is answered by the loop and never run.
	Asks bool
	// Prunes says that the tool takes old results out of the conversation:
	// arguments tokens and memo. The loop does it once the turn's tools have
	// run.
	Prunes bool
	// External says that the tool is run elsewhere: the loop records the call,
	// hands it over in a continuation and never runs it. See [Loop.Submit].
	External bool
	// Delegate says that the call is the work of a sub-agent; see [SubAgent].
	Delegate *Delegate
	// Timeout bounds a call of this tool; 0: its category does. "" is
	// CategoryRead.
	Timeout  time.Duration
	Category Category
}

// Category sorts tools by how long they may take.
type Category string

// The categories.
const (
	CategoryRead   Category = "read"
	CategorySearch Category = "search"
	CategoryEdit   Category = "edit"
	CategoryExec   Category = "exec"
	CategoryMCP    Category = "mcp"
)

// DefaultTimeouts are the bounds of the categories where Config.Timeouts names
// none. Tools that run commands bound them themselves; theirs is the outermost.
func DefaultTimeouts() map[Category]time.Duration {
	return map[Category]time.Duration{
		CategoryRead:   30 * time.Second,
		CategorySearch: 30 * time.Second,
		CategoryEdit:   30 * time.Second,
		CategoryExec:   610 * time.Second,
		CategoryMCP:    2 * time.Minute,
	}
}

// Input is one call of a tool.
type Input struct {
	Call string // id
	// Key names this call among all calls of all runs; the same call has the
	// same key in every process. It may be "" outside a Loop.
	Key  string
	Args json.RawMessage
	// Update shows live output; never nil.
	Update func(text string)
}

// Result is what came of a call.
type Result struct {
	Output string // what the model reads; valid UTF-8
	Error  bool
	// Full is the whole output when Output was cut, to be kept as a blob.
	Full []byte
	// ExitCode is set by tools that run a command.
	ExitCode *int
	// Files holds the hash of every content the call showed or wrote.
	Files map[string]string
	// Terminate ends the loop once every result of the turn says so.
	Terminate bool
	// Status, if set, says why the call did not run to its end: one of the
	// statuses of plan.ToolEnd.
	Status string
	// Altered is put into the journal with the result; see [plan.ToolEnd].
	Altered []string
	// Made is put into the journal with the result, and Kept are the contents that it
	// names; see [plan.ToolEnd].
	Made []plan.AddedFile
	Kept []plan.Blob
	// Found are the tools that Output tells of, of a tool that finds some.
	Found []plan.FoundTool
	// Record is put into the journal before the result.
	Record []plan.Body
}

// Failed makes a result that tells the model what went wrong and what to do.
func Failed(text string) Result { return Result{Output: text, Error: true} }
