package loop

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/compact"
	"github.com/plan-engine/plan/loop/prompt"
)

// Config is what one conversation is made of.
type Config struct {
	Model Model
	Name  string // the model's name, as sent
	// Wire goes into every call of this conversation; WireOf tells that of
	// another model, for summaries and sub-agents. Nil: it is not known.
	Wire   string
	WireOf func(model string) string
	System string
	Tools  []Tool // offered in this order; no others run
	// Skills are indexed at the end of the system prompt, and never change in
	// the course of a conversation.
	Skills []Skill
	// Settings, Format, Headers and Metadata go into every call unchanged.
	Settings Settings
	Format   *Format
	Headers  map[string]string
	Metadata map[string]string
	Shared   Shared
	// PerCall adds headers and metadata to a call, over those above. It is
	// asked once for each call, not for its retries.
	PerCall func(ctx context.Context, turn int) (headers, metadata map[string]string)
	// Key gives the key of a call and is asked whenever one is made; nil: the
	// model has its own. When a server does not accept the key (401), Key is
	// asked once more, with the key that was refused, and the call is made once
	// more, whatever it answers.
	Key func(ctx context.Context, refused string) (string, error)

	// Run and Conv name the run and the conversation: events carry the latter,
	// continuations both. Parent is the conversation that this one was started
	// from, if any.
	Run     plan.RunID
	Conv    string
	Parent  string
	Attempt int // turns are limited per attempt
	Limits  plan.Limits
	// Trigger is what a turn begins for that answers a prompt; default
	// plan.TriggerUser.
	Trigger string
	// Strategy says how the calls of one answer are run.
	Strategy Strategy
	// Spent and Cost are what the run had used up before this loop.
	Spent plan.Usage
	Cost  float64 // USD
	// Part bounds a part of the run by itself; without a name nothing does.
	Part Part

	// Before are messages of another conversation that this one goes on from. They are
	// sent before its own, and recorded where they were said.
	Before []plan.Message

	// Window is the model's window in tokens; 0: unknown, so nothing is compacted
	// before a server refuses a request as too long. Compaction says what may be
	// done where it gets full; default CompactSafe.
	Window     int64
	Compaction Level
	// Compactor makes the history smaller when that is due, which it never is at
	// CompactOff. Default: the loop's own, as Compaction says.
	Compactor Compactor
	// WindowOf tells the window of a model, in tokens; 0: not known, so Window
	// counts. It is asked before each request, because a window can become known
	// while a run goes on. Nil: Window is all there is.
	WindowOf func(model string) int64
	// LearnWindow is called when a server has named the window of a model, in
	// tokens, while it refused a request as too long. Nil: it is not told on.
	LearnWindow func(model string, window int64)
	// MaxOutput tells how long an answer of a model can become, in tokens; 0 or
	// nil: not known. It matters where Limits.CostUSD bounds what a call may cost.
	MaxOutput func(model string) int
	// SummaryModel is asked for summaries; default Name. SummaryWhy says for the
	// record why it is another one.
	SummaryModel, SummaryWhy string
	// Count tells the tokens of a text with a real vocabulary. It is asked about
	// a whole conversation before each request, but only once that comes near
	// the window; it should load itself when it is first asked, and remember.
	// Default: sizes are estimated from bytes. Either is corrected by what the
	// server reports.
	Count func(text string) int64

	// Closes reports whether words that a model says beside its calls are its last: the
	// conversation ends with them where every call of that answer ends without an error,
	// and goes on otherwise. Nil: none are.
	Closes func(text string) bool

	// Parts tells for the record what a prompt is made of. Default: instructions.
	Parts func(m plan.Message) []plan.Part

	// Price says what a usage of a model costs, and whether the price is known.
	// Default: unknown. What a server says that a call cost counts before it.
	Price func(model string, u plan.Usage) (usd float64, known bool)
	Retry Retry
	// Refuse is what to tell a model that calls a tool it was not offered.
	Refuse func(name string) string
	// Redact replaces known secrets in what tools return and in what the model
	// says. Default: nothing.
	Redact func(string) string
	// RedactRead replaces in what a model is to read also what it must not learn, but
	// may write itself. Default: Redact.
	RedactRead func(string) string
	Emit       plan.Emit
	// Conversation returns the events of a sub-agent's conversation, for calls
	// that were cut off. Nil: what they did is not known.
	Conversation func(ctx context.Context, conv string) ([]plan.Event, error)

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
	// reports false where no one can decide now; the loop then ends, waiting.
	Gate func(ctx context.Context, p Pending) (Ruling, bool)
	// Timeouts bounds the tools of a category; see DefaultTimeouts.
	Timeouts map[Category]time.Duration

	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	// Rand gives the jitter of retries, in [0,1).
	Rand func() float64
}

// Part is a part of a run that has bounds of its own, beside those of the run.
type Part struct {
	// Name is the table of settings that the bounds stand in, such as phase.plan.
	Name string
	// Limits.Turns counts in the place of [Config.Limits]' where it is set.
	Limits plan.Limits
	// Spent and Cost are what the part had used up before this loop.
	Spent plan.Usage
	Cost  float64 // USD
}

// Level says how much may be taken out of a conversation to make room.
type Level = compact.Level

// The levels of compaction; [compact.Level] says what each takes out.
const (
	CompactOff  = compact.Off
	CompactSafe = compact.Safe
	CompactFull = compact.Full
)

// Skill is something that a model can read up on when it needs it.
type Skill = prompt.Skill

// End is how a run of the loop came to its end.
type End struct {
	Reason EndReason
	// Text is what the model said last.
	Text string
	// Cut says that the output cap cut Text off.
	Cut bool
	// Stop is why the model stopped, where Reason is Refused; Finish is the
	// server's own word for it, if that is another.
	Stop   StopReason
	Finish string
	// Limit is set when a bound stopped the loop before the model was done.
	Limit *plan.LimitHit
	// Waiting are the calls that wait for a person.
	Waiting []Pending
	// Continuation is set when calls wait: for a person, or to be run
	// elsewhere. Resume and Submit take it back.
	Continuation *Continuation
	// Rejection is what a filter or a hook said when it ended the loop.
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
	Refused   EndReason = "refused"   // the model, or a filter of its server; Text is what there is of the answer
	Waiting   EndReason = "waiting"   // a call waits for a person
	External  EndReason = "external"  // calls are to be run elsewhere; see Submit
	Stuck     EndReason = "stuck"     // the model repeated itself to no effect; Text says so
)

func (c Config) withDefaults() Config {
	if c.Price == nil {
		c.Price = func(string, plan.Usage) (float64, bool) { return 0, false }
	}
	if c.Refuse == nil {
		c.Refuse = func(string) string { return "" }
	}
	if c.Redact == nil {
		c.Redact = func(s string) string { return s }
	}
	if c.RedactRead == nil {
		c.RedactRead = c.Redact
	}
	if c.Trigger == "" {
		c.Trigger = plan.TriggerUser
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
