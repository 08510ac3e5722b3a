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

// Info is a tool's description.
type Info struct {
	Spec
	// Effect is one of plan.EffectReplay, EffectVerifiable, EffectUnknown.
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
	// Category bounds its time; "" is CategoryInfo.
	Category Category
}

// Category sorts tools by how long they may take.
type Category string

// The categories.
const (
	CategoryInfo Category = "info"
	CategoryEdit Category = "edit"
	CategoryExec Category = "exec"
	CategoryMCP  Category = "mcp"
)

// DefaultTimeouts are the bounds of the categories where Config.Timeouts names
// none. Tools that run commands bound them themselves; theirs is the outermost.
func DefaultTimeouts() map[Category]time.Duration {
	return map[Category]time.Duration{
		CategoryInfo: 30 * time.Second, CategoryEdit: 30 * time.Second,
		CategoryExec: 610 * time.Second, CategoryMCP: 2 * time.Minute,
	}
}

// Input is one call of a tool.
type Input struct {
	Call string // id
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
	// Record is put into the journal before the result.
	Record []plan.Body
}

// Failed makes a result that tells the model what went wrong and what to do.
func Failed(text string) Result { return Result{Output: text, Error: true} }
