package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/plan-engine/plan/internal/amount"
)

// The events of a conversation, its turns and the model calls in them.
const (
	TypeConvStart EventType = "conv_start"
	TypeConvEnd   EventType = "conv_end"
	TypeTurnStart EventType = "turn_start"
	TypeTurnEnd   EventType = "turn_end"
	TypeRequest   EventType = "request"
	TypeRetry     EventType = "retry"
)

var turnEvents = []eventKind{
	folded[ConvStart](),
	folded[ConvEnd](),
	folded[TurnStart](),
	folded[TurnEnd](),
	stored[Request](),
	stored[Retry](),
}

// ConvStart says that a conversation begins, or goes on after it came to an end or was
// laid down: that of a phase, or that of a sub-agent, which has a parent. A process that
// goes on with one whose process died begins it no second time.
type ConvStart struct {
	Model string `json:"model"`
	// Messages is how many it goes on from; 0: it begins.
	Messages int `json:"messages,omitempty"`
}

// Type implements [Body].
func (ConvStart) Type() EventType { return TypeConvStart }

// Headline implements [Body].
func (b ConvStart) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "conversation",
		Text:  "with " + b.Model,
	}
}

// ConvEnd says that a conversation has come to an end, or is laid down while calls wait,
// and what its requests used since its [ConvStart], summaries included: the usage events
// of the same conversation in between, in one sum.
type ConvEnd struct {
	// Reason is completed, limit, vetoed, rejected, refused, waiting, external, stuck, error
	// or cancelled.
	Reason  string  `json:"reason"`
	Turns   int     `json:"turns"` // that were answered
	Usage   Usage   `json:"usage"`
	CostUSD float64 `json:"cost_usd"`
}

// Type implements [Body].
func (ConvEnd) Type() EventType { return TypeConvEnd }

// Headline implements [Body].
func (b ConvEnd) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "conversation",
		Text:  b.Reason,
	}
}

// TurnStart opens a turn: one answered model call and its tools.
type TurnStart struct {
	Trigger string `json:"trigger"`
	// Kind says how a conversation was continued, in the first turn after it
	// was: default, rerun, branch or compaction.
	Kind string `json:"kind,omitempty"`
}

// Type implements [Body].
func (TurnStart) Type() EventType { return TypeTurnStart }

// Headline implements [Body].
func (b TurnStart) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "turn",
		Text:  b.Trigger,
	}
}

// What a turn begins for.
const (
	TriggerUser         = "user"         // a prompt
	TriggerSubAgent     = "sub_agent"    // the task of a sub-agent
	TriggerContinuation = "continuation" // what the conversation has come to
	TriggerBranch       = "branch"       // another way to go on from the same history
)

// TurnEnd closes a turn.
type TurnEnd struct {
	Reason string `json:"reason"` // [EndCompleted], …
}

// Type implements [Body].
func (TurnEnd) Type() EventType { return TypeTurnEnd }

// Headline implements [Body].
func (b TurnEnd) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "turn",
		Text:  b.Reason,
	}
}

// Request records a model call before it is made.
type Request struct {
	Model    string `json:"model"`
	Wire     string `json:"wire,omitempty"` // how the server is spoken to; "" in runs of versions that had one way
	Messages int    `json:"messages"`
	// Prefix is the hash of everything that an earlier request of this
	// conversation sent; Hash covers this request. Moved says what changed
	// when Prefix is not the earlier Hash.
	Prefix string `json:"prefix"`
	Hash   string `json:"hash"`
	Moved  string `json:"moved,omitempty"`
	// Parts is what the request adds to the one before it in this conversation, in
	// the order in which it is sent; with Whole, all that it holds. There is none in
	// runs of versions that did not tell.
	Parts []Part `json:"parts,omitempty"`
	Whole bool   `json:"whole,omitempty"`
}

// Part is a piece of what is sent to a model, by what it is there for.
type Part struct {
	Kind string `json:"kind"`
	Tool string `json:"tool,omitempty"` // of a result; of schemas, [OutsideTools] or ""
	// Bytes is its text; Again are those of them, of a result that shows something,
	// that stood in the conversation already.
	Bytes int64 `json:"bytes"`
	Again int64 `json:"again,omitempty"`
}

// OutsideTools stands for the tools of servers, and those that find and call them.
const OutsideTools = "outside"

// The kinds of parts.
const (
	PartSchemas      = "schemas"      // what is said of the tools
	PartSystem       = "system"       // the system prompt
	PartInstructions = "instructions" // a prompt: what is to be done, and the request
	PartHandedOver   = "handed_over"  // of a prompt, what earlier phases, checks and runs found
	PartLetter       = "letter"       // what a person, or the loop, said in between
	PartSummary      = "summary"      // what stands for messages that were taken out
	PartAnswer       = "answer"       // the model's own words and calls
	PartResult       = "result"       // of a tool
)

// Type implements [Body].
func (Request) Type() EventType { return TypeRequest }

// Headline implements [Body].
func (b Request) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "request",
		Text:  "to " + b.Model,
	}
}

// Retry says that a model call failed and is made again. A viewer that shows live
// text discards what this turn has shown so far.
type Retry struct {
	Attempt int    `json:"attempt"` // 1 for the first retry
	Reason  string `json:"reason"`
	WaitMS  int64  `json:"wait_ms"`
	Status  int    `json:"status,omitempty"` // HTTP status, if there was one
}

// Type implements [Body].
func (Retry) Type() EventType { return TypeRetry }

// Headline implements [Body].
func (b Retry) Headline() Headline {
	text := fmt.Sprintf("%d: %s", b.Attempt, b.Reason)
	if b.WaitMS > 0 {
		wait := amount.Duration(time.Duration(b.WaitMS) * time.Millisecond)
		text = fmt.Sprintf("%d in %s: %s", b.Attempt, wait, b.Reason)
	}
	if b.Status != 0 && !strings.Contains(b.Reason, strconv.Itoa(b.Status)) {
		text += fmt.Sprintf(" (HTTP %d)", b.Status)
	}
	return Headline{
		Level: LevelWarning,
		Label: "retry",
		Text:  text,
	}
}
