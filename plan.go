// Package plan holds the words that every other package of this module
// shares: runs, phases, states, events, messages, briefs, outcomes, verdicts.
//
// A run is a journal: an append-only list of [Event] values. The state of a
// run is a fold over its journal, so everything that can be known about a run
// is said by an event body in this package, and nothing important happens
// beside it.
//
// This package is the ground floor. It imports nothing of the module, holds no
// behaviour beyond encoding and small predicates, and must not learn about
// databases, models, git or terminals.
package plan

import "time"

// RunID names one run for ever. It is a ULID, so ids sort by creation time.
type RunID string

// Phase is one forked run loop of the workflow.
type Phase string

// The phases, in the order of the workflow.
const (
	Explore   Phase = "explore"
	Plan      Phase = "plan"
	Implement Phase = "implement"
	Review    Phase = "review"
)

// Critique is the second look at a plan, within planning. It has a model and a
// conversation of its own and is no step of the workflow.
const Critique Phase = "critique"

// Phases lists the phases in workflow order.
func Phases() []Phase { return []Phase{Explore, Plan, Implement, Review} }

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

// Usage counts what model calls consumed. Token counts are as the provider
// reported them. Of Input, Cached was served from a prompt cache, and Written and
// WrittenHour were put into one, to be kept for minutes or for an hour: the three
// do not overlap. Of Output, Reasoning was not shown.
type Usage struct {
	Requests    int   `json:"requests"`
	Input       int64 `json:"input"`
	Cached      int64 `json:"cached"`
	Written     int64 `json:"written,omitempty"`
	WrittenHour int64 `json:"written_hour,omitempty"`
	Output      int64 `json:"output"`
	Reasoning   int64 `json:"reasoning,omitempty"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Requests:    u.Requests + v.Requests,
		Input:       u.Input + v.Input,
		Cached:      u.Cached + v.Cached,
		Written:     u.Written + v.Written,
		WrittenHour: u.WrittenHour + v.WrittenHour,
		Output:      u.Output + v.Output,
		Reasoning:   u.Reasoning + v.Reasoning,
	}
}

// Tokens is what counts against a token limit: input plus output.
func (u Usage) Tokens() int64 { return u.Input + u.Output }

// DiffStat sizes a change.
type DiffStat struct {
	Files      int `json:"files"`
	Insertions int `json:"insertions"`
	Deletions  int `json:"deletions"`
}

// Limits bounds the work of a phase or a run. A zero field means no bound.
type Limits struct {
	Turns   int     `json:"turns,omitempty"`    // model calls answered, per phase attempt
	Tokens  int64   `json:"tokens,omitempty"`   // input + output, over the whole run
	CostUSD float64 `json:"cost_usd,omitempty"` // over the whole run
	// Time bounds one run of a loop, by the wall clock. A loop that goes on
	// later has it again.
	Time time.Duration `json:"time,omitempty"`
}

// TimeUp is the cause with which the context of work ends that has had all the
// time it may take.
type TimeUp struct{ Max time.Duration }

// Error implements error.
func (t *TimeUp) Error() string {
	if t.Max <= 0 {
		return "the time limit is reached"
	}
	return "the time limit of " + t.Max.String() + " is reached"
}

// Hit is the limit that was reached.
func (t *TimeUp) Hit() LimitHit {
	return LimitHit{
		Kind:  "time",
		Value: t.Max.Seconds(),
		Max:   t.Max.Seconds(),
	}
}
