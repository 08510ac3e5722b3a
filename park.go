package plan

import (
	"encoding/json"
	"time"

	"github.com/plan-engine/plan/internal/oneline"
)

// The events of a run that stops where it stands and goes on.
const (
	TypeParked   EventType = "parked"
	TypeUnparked EventType = "unparked"
)

var parkEvents = []eventKind{
	folded[Parked](),
	folded[Unparked](),
}

// ParkReason says why a run stopped where it stands, resumable.
type ParkReason string

// The reasons a run parks for.
const (
	ParkApproval    ParkReason = "approval"
	ParkQuestion    ParkReason = "question"
	ParkLimit       ParkReason = "limit"
	ParkRateLimit   ParkReason = "rate_limit"
	ParkUnreachable ParkReason = "unreachable"
	ParkRefused     ParkReason = "refused"
	ParkDrift       ParkReason = "drift"
	ParkInterrupted ParkReason = "interrupted"
)

// ExitCode is the code of a process that ended because its run parked.
func (r ParkReason) ExitCode() int {
	switch r {
	case ParkApproval, ParkQuestion:
		return ExitWaiting
	case ParkInterrupted:
		return ExitInterrupted
	}
	return ExitLimit
}

// Parked ends a process without ending its run.
type Parked struct {
	Reason ParkReason `json:"reason"`
	// WakeAt is when it makes sense to go on, for a rate limit.
	WakeAt *time.Time `json:"wake_at,omitempty"`
	Detail string     `json:"detail,omitempty"`
	// Waiting are the calls that wait for a person.
	Waiting []WaitingCall `json:"waiting,omitempty"`
	// Drift is what changed in the tree, for a run that parks for it.
	Drift *Drift `json:"drift,omitempty"`
}

// Type implements [Body].
func (Parked) Type() EventType { return TypeParked }

// Headline implements [Body].
func (b Parked) Headline() Headline {
	return Headline{
		Level: LevelWarning,
		Label: "parked",
		Text:  oneline.Join(": ", string(b.Reason), b.Detail),
	}
}

// Unparked says that a parked run goes on.
type Unparked struct {
	Reason ParkReason `json:"reason"` // what it was parked for
}

// Type implements [Body].
func (Unparked) Type() EventType { return TypeUnparked }

// Headline implements [Body].
func (b Unparked) Headline() Headline {
	return Headline{
		Label: "resumed",
		Text:  "it was parked: " + string(b.Reason),
	}
}

// WaitingCall is a call that a person has to allow, or a question they are
// asked.
type WaitingCall struct {
	Call     string          `json:"call"`
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args,omitempty"`
	Why      string          `json:"why,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	Effect   string          `json:"effect,omitempty"`
	Grant    Grant           `json:"grant,omitzero"`
	Question string          `json:"question,omitempty"`
	Options  []string        `json:"options,omitempty"`
	// Digest is what a decision about it names. It is missing where an earlier
	// program parked the run; see Bound.
	Digest string `json:"digest,omitempty"`
}

// Bound is the call with its digest. Text is that of the plan, if it is one.
func (c WaitingCall) Bound(text string) WaitingCall {
	switch {
	case c.Digest != "":
	case c.IsPlan():
		c.Digest = PlanDigest(text)
	default:
		c.Digest = CallDigest(c.Name, c.Args)
	}
	return c
}

// Shown is what a person is shown of it.
func (c WaitingCall) Shown() string {
	if c.Question != "" {
		return c.Question
	}
	return ShownCall(c.Effect, c.Args)
}

// IsPlan says whether what waits for a person is a plan.
func (c WaitingCall) IsPlan() bool { return c.Name == PlanTool }
