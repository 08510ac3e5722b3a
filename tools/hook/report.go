package hook

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/plan-engine/plan"
)

// Report is what came of a hook.
type Report struct {
	Hook     Hook
	ExitCode int
	Args     json.RawMessage // that it wants instead
	Context  string          // that it adds
	Result   *string         // that it wants the model to read instead
	Model    string          // that it wants the turn made with
	Reopen   string          // what it says is left to do
	// Change is what came of the above, for the journal; nil for nothing.
	Change *plan.HookChange
	Output string // what it printed, or the reason that it gave
	// Err says why it could not decide: it did not start, ran out of time, or
	// is not trusted.
	Err      error
	Duration time.Duration
}

// OK reports whether the hook ran and has nothing against it.
func (rep Report) OK() bool { return rep.Err == nil && rep.ExitCode == 0 }

// Why says in words why a hook is against something.
func (rep Report) Why() string {
	switch {
	case rep.Err != nil:
		return fmt.Sprintf("the hook %q could not decide: %v", rep.Hook.Command, rep.Err)
	case rep.Output != "":
		return rep.Output
	}
	return fmt.Sprintf("the hook %q ended with exit status %d", rep.Hook.Command, rep.ExitCode)
}

// Event is what the journal keeps of it. Judges says that being against it has
// stopped something.
func (rep Report) Event(in Input, judges bool) plan.HookRan {
	ev := plan.HookRan{
		Event:      rep.Hook.Event,
		Command:    rep.Hook.Command,
		Tool:       in.Tool,
		Call:       in.Call,
		Action:     "passed",
		ExitCode:   rep.ExitCode,
		Output:     rep.Output,
		DurationMS: rep.Duration.Milliseconds(),
		Change:     rep.Change,
	}
	if rep.Err != nil {
		ev.Error = rep.Err.Error()
	}
	switch {
	case !rep.OK() && judges:
		ev.Action = "blocked"
	case !rep.OK():
		ev.Action = "failed"
	case rep.Change != nil:
		ev.Action = "changed"
	}
	return ev
}
