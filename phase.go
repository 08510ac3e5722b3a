package plan

// The events of a phase.
const (
	TypePhaseStart EventType = "phase_start"
	TypePhaseEnd   EventType = "phase_end"
)

var phaseEvents = []eventKind{
	folded[PhaseStart](),
	folded[PhaseEnd](),
}

// PhaseStart opens a phase attempt, or reopens it after a park.
type PhaseStart struct {
	Model   string   `json:"model"`
	Tools   []string `json:"tools"`
	Resumed bool     `json:"resumed,omitempty"`
	Walls
}

// Type implements [Body].
func (PhaseStart) Type() EventType { return TypePhaseStart }

// Headline implements [Body].
func (b PhaseStart) Headline() Headline { return Headline{Label: "phase", Text: "with " + b.Model} }

// Walls is what keeps a phase's commands from doing more than they may.
type Walls struct {
	// Sandbox is namespaces, bubblewrap, landlock, sandbox-exec or none. Empty for
	// a phase without commands.
	Sandbox string `json:"sandbox,omitempty"`
	// Bounds is what keeps the commands to their memory and number: BoundsGroup or
	// BoundsProcess. Empty where there are no walls.
	Bounds string `json:"bounds,omitempty"`
	// Unkept are paths that the commands must not write and could, because these
	// walls cannot keep them.
	Unkept []string `json:"unkept,omitempty"`
}

// What bounds commands.
const (
	BoundsGroup   = "cgroup" // all of them together
	BoundsProcess = "rlimit" // each process alone
)

// PhaseEnd closes a phase attempt.
type PhaseEnd struct {
	Reason string `json:"reason"` // [EndCompleted], …
}

// Type implements [Body].
func (PhaseEnd) Type() EventType { return TypePhaseEnd }

// Headline implements [Body].
func (b PhaseEnd) Headline() Headline { return Headline{Label: "phase", Text: b.Reason} }

// Why a phase or a turn ended.
const (
	EndCompleted = "completed"
	EndParked    = "parked"
	EndError     = "error"
	EndLimit     = "limit"
	EndCancelled = "cancelled"
	EndRefused   = "refused" // of a turn: its answer was refused or ended by a filter, or its request not let through
)
