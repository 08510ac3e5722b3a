package plan

import "context"

// Brief is all that a phase is told. What is not in it, the phase does not
// know: that is how contexts stay isolated.
type Brief struct {
	Run     RunID
	Phase   Phase
	Attempt int    // 1, 2, …: which time this phase runs in this run
	Conv    string // the conversation to start or to continue
	Request string
	Aim     Aim
	Claimed bool // Request is what the commits of a change say of it

	Before string // what the run came to that this one continues, "" for none

	Notice   string        // what to tell the conversation before its next turn
	Replan   string        // Plan, Review: why the earlier plan was given up
	Earlier  *PlanDoc      // Review: the plan that was given up last, nil for none
	Asked    bool          // Implement: it has asked for another plan before, which it may once in a run
	Guidance []string      // what the person has said since, oldest first
	Context  []Message     // Explore: the frozen conversation it starts from
	Report   string        // Plan: what Explore found
	Carried  [][]Event     // Plan, Implement: the conversations that it goes on from, oldest first
	Sibling  string        // Plan: a plan that a person approved for the same work elsewhere
	Plan     *PlanDoc      // Implement, Review, Critique; and Plan when it replans
	Remarks  string        // Plan: what is to be changed about the plan
	By       string        // Plan: whose Remarks they are: person, critique
	Diff     string        // Review: the change so far, against the start
	Since    string        // Review after the first: the change since the last one
	Checks   []CheckResult // Implement: the baseline; Review: the latest of each
	Failed   []CheckResult // Implement: required checks that fail after this attempt, which goes on for them
	Base     []CheckResult // Implement after a review, Review: the baseline
	Gaps     []Gap         // every gap of this run, open and closed
	Noticed  []Finding     // Review: what the workflow itself noticed
	Past     []Event       // what this conversation has journalled already
	Trees    Trees         // what git shows where commands run
	Change   Trees         // Review: the trees that the change lies between
	Closing  string        // Review: the implementer's last words, for its answers to gaps and what it left open
	Last     *Judgement    // Implement and Review after a review: what that came to

	// Ready waits for what commands need, and fails where the run cannot go on without.
	// Nil: it is there.
	Ready func(context.Context) error

	Spent Usage   // by the whole run so far
	Cost  float64 // USD, by the whole run so far
	// PhaseSpent and PhaseCost are what this phase has used of that, in all its attempts.
	PhaseSpent Usage
	PhaseCost  float64 // USD
}

// Outcome is what a phase came to. Exactly one of Park and the phase's own
// result means something: a parked outcome has no result yet.
type Outcome struct {
	Report    string     // Explore
	Plan      *PlanDoc   // Plan; and Explore where it leaves Plan nothing to decide
	Open      string     // Explore: what it leaves to Plan, "" where it does not say
	Summary   string     // Implement: the implementer's closing words
	Replan    string     // Implement: why it needs another plan, "" where it does not
	Judgement *Judgement // Review
	Remarks   string     // Critique: "" when nothing stands against the plan
	Park      *Parked    // the phase stopped where it stands
}

// Emit records events. Durable events given together are committed together,
// before Emit returns; live events are shown and forgotten. An error means the
// journal is not safe: the caller must stop.
type Emit func(ctx context.Context, events ...Event) error

// Outage is a failure of what a run works with rather than of the run: no
// space for a copy of the tree, a repository that cannot be read. The process
// ends, the run is kept as it stands, and can be resumed once the cause is
// gone.
type Outage struct{ Err error }

// Error implements error.
func (o *Outage) Error() string { return o.Err.Error() }

// Unwrap returns the cause.
func (o *Outage) Unwrap() error { return o.Err }

// Hint says what to do about it.
func (o *Outage) Hint() string {
	return "The run is kept as it stands. Mend the cause, then go on with `plan resume`."
}
