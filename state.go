package plan

// The events of the state machine.
const (
	TypeState EventType = "state"
)

var stateEvents = []eventKind{
	folded[StateChange](),
}

// State is where the state machine of a run stands.
type State string

// The states. Unstarted is the instant before the first transition; the last
// six are final.
const (
	Unstarted    State = "new"
	Exploring    State = "exploring"
	Planning     State = "planning"
	Implementing State = "implementing"
	Reviewing    State = "reviewing"

	Approved  State = "approved"
	Planned   State = "planned"
	Exhausted State = "exhausted"
	Blocked   State = "blocked"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Final reports whether a run in this state can never move again.
func (s State) Final() bool {
	switch s {
	case Approved, Planned, Exhausted, Blocked, Failed, Cancelled:
		return true
	}
	return false
}

// Phase returns the phase that works in this state, or "" for Unstarted and the
// final states.
func (s State) Phase() Phase {
	switch s {
	case Exploring:
		return Explore
	case Planning:
		return Plan
	case Implementing:
		return Implement
	case Reviewing:
		return Review
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
	case Approved, Planned:
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
