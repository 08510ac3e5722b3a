package loop

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/plan-engine/plan"
)

// Config is what one conversation is made of.
type Config struct {
	Model  Model
	Name   string // the model's name, as sent
	System string
	Tools  []Tool // offered in this order; no others run
	// Settings, Format and Headers go into every call unchanged.
	Settings Settings
	Format   *Format
	Headers  map[string]string

	Run     plan.RunID // for the keys of tool calls
	Conv    string     // id of the conversation, for the events
	Attempt int        // turns are limited per attempt
	Limits  plan.Limits
	// Spent and Cost are what the run had used up before this loop.
	Spent plan.Usage
	Cost  float64 // USD

	// Window is the model's window in tokens; 0: unknown, so nothing is ever
	// compacted. Compaction says what may be done where it gets full; default
	// CompactSafe.
	Window     int64
	Compaction Level

	// Price says what a usage costs, and whether the price is known. Default:
	// unknown.
	Price func(plan.Usage) (usd float64, known bool)
	Retry Retry
	// Refuse is what to tell a model that calls a tool it was not offered.
	Refuse func(name string) string
	// Redact replaces known secrets in what tools return and in what the model
	// says. Default: nothing.
	Redact func(string) string
	Emit   plan.Emit

	// Notice is said to the model once, before its next turn: what changed
	// around the conversation while it stood still.
	Notice string
	// Mail is where letters to the running conversation wait; nil: nowhere.
	Mail             Mailbox
	SteerDelivery    Delivery
	FollowUpDelivery Delivery
	// Filters look at prompts and letters, in order; the first that rejects
	// counts.
	Filters []Filter
	Hooks   Hooks
	// Gate decides about calls that need a person, and answers questions. It
	// reports false where nobody can decide now; the loop then ends, waiting.
	Gate func(ctx context.Context, p Pending) (Ruling, bool)
	// Timeouts bounds the tools of a category; see DefaultTimeouts.
	Timeouts map[Category]time.Duration

	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	// Rand gives the jitter of retries, in [0,1).
	Rand func() float64
}

// End is how a run of the loop came to its end.
type End struct {
	Reason EndReason
	// Text is what the model said last.
	Text string
	// Cut says that the output cap cut Text off.
	Cut bool
	// Limit is set when a bound stopped the loop before the model was done.
	Limit *plan.LimitHit
	// Waiting are the calls that wait for a person.
	Waiting []Pending
	// Rejection is what a filter said about a prompt.
	Rejection string
}

// EndReason says why a loop ended, or why it handed back.
type EndReason string

// The reasons.
const (
	Completed EndReason = "completed" // the model has nothing left to do
	More      EndReason = "more"      // only from RunTurn: there is another turn to run
	Limited   EndReason = "limit"     // a bound was reached
	Vetoed    EndReason = "vetoed"    // a hook ended it
	Rejected  EndReason = "rejected"  // a filter refused a prompt
	Waiting   EndReason = "waiting"   // a call waits for a person
	Stuck     EndReason = "stuck"     // the model repeated itself to no effect; Text says so
)

func (c Config) withDefaults() Config {
	if c.Price == nil {
		c.Price = func(plan.Usage) (float64, bool) { return 0, false }
	}
	if c.Refuse == nil {
		c.Refuse = func(string) string { return "" }
	}
	if c.Redact == nil {
		c.Redact = func(s string) string { return s }
	}
	if c.Compaction == "" {
		c.Compaction = CompactSafe
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	c.Retry = c.Retry.withDefaults()
	return c
}
