package plan

import (
	"slices"

	"github.com/plan-engine/plan/internal/oneline"
)

// The events of the state machine.
const (
	TypeState EventType = "state"
)

var stateEvents = []eventKind{
	folded[StateChange](),
}

// Phase is one forked run loop of the workflow.
type Phase string

// The phases.
const (
	Explore   Phase = "explore"
	Plan      Phase = "plan"
	Implement Phase = "implement"
	Review    Phase = "review"
)

// Critique is the second look at a plan, within planning. It has a model and a
// conversation of its own and is no step of the workflow.
const Critique Phase = "critique"

// State is where the state machine of a run stands.
type State string

// The states in which a phase works.
const (
	Exploring    State = "exploring"
	Planning     State = "planning"
	Implementing State = "implementing"
	Reviewing    State = "reviewing"
)

// workflow are the phases in their order, each with the state in which it works.
// When one comes after another is the engine's table.
var workflow = []struct {
	phase Phase
	state State
}{
	{Explore, Exploring},
	{Plan, Planning},
	{Implement, Implementing},
	{Review, Reviewing},
}

// The states in which no phase works. Unstarted is the instant before the first
// transition; the others are final.
const (
	Unstarted State = "new"

	Approved  State = "approved"
	Planned   State = "planned"
	Exhausted State = "exhausted"
	Blocked   State = "blocked"
	Failed    State = "failed"
	Cancelled State = "cancelled"

	// QuestionAnswered ends a run that was asked a question.
	QuestionAnswered State = "answered"
)

// final are the states that a run never leaves.
var final = []State{Approved, Planned, QuestionAnswered, Exhausted, Blocked, Failed, Cancelled}

// Phases lists the phases in workflow order.
func Phases() []Phase {
	var out []Phase
	for _, w := range workflow {
		out = append(out, w.phase)
	}
	return out
}

// ActiveStates lists the states in which a phase works, in workflow order.
func ActiveStates() []State {
	var out []State
	for _, w := range workflow {
		out = append(out, w.state)
	}
	return out
}

// FinalStates lists the states that a run never leaves.
func FinalStates() []State { return slices.Clone(final) }

// Final reports whether a run in this state can never move again.
func (s State) Final() bool { return slices.Contains(final, s) }

// Phase returns the phase that works in this state, or "" for Unstarted and the
// final states.
func (s State) Phase() Phase {
	for _, w := range workflow {
		if w.state == s {
			return w.phase
		}
	}
	return ""
}

// Process exit codes, a contract with scripts and CI.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitNotApproved = 3
	ExitWaiting     = 4
	ExitLimit       = 5
	ExitInterrupted = 130
)

// ExitCode is the code of a process that ended because its run reached s.
func (s State) ExitCode() int {
	switch s {
	case Approved, Planned, QuestionAnswered:
		return ExitOK
	case Exhausted, Blocked:
		return ExitNotApproved
	case Cancelled:
		return ExitInterrupted
	}
	return ExitFailed
}

// StateChange moves the state machine. It is appended before the new state's
// work begins.
type StateChange struct {
	From  State  `json:"from"`
	To    State  `json:"to"`
	Event string `json:"event"`
	Why   string `json:"why,omitempty"`
}

// Type implements [Body].
func (StateChange) Type() EventType { return TypeState }

// Headline implements [Body].
func (b StateChange) Headline() Headline {
	return Headline{Label: "state", Text: oneline.Join(": ", string(b.To), b.Why)}
}
