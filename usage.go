package plan

import (
	"fmt"
	"time"

	"github.com/plan-engine/plan/internal/amount"
)

// The events of what was consumed, and the bounds on it.
const (
	TypeUsage EventType = "usage"
	TypeLimit EventType = "limit"
)

var usageEvents = []eventKind{
	folded[UsageReport](),
	stored[LimitHit](),
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

// mostCounted is more than any call can consume of anything.
const mostCounted = 1 << 40

// Bounded is a usage that can be counted, whatever was told: none of it takes back what was
// consumed before, or is so much that a sum would.
func (u Usage) Bounded() Usage {
	bound := func(n int64) int64 { return min(max(n, 0), mostCounted) }
	return Usage{
		Requests:    int(bound(int64(u.Requests))),
		Input:       bound(u.Input),
		Cached:      bound(u.Cached),
		Written:     bound(u.Written),
		WrittenHour: bound(u.WrittenHour),
		Output:      bound(u.Output),
		Reasoning:   bound(u.Reasoning),
	}
}

// Tokens is what counts against a token limit: input plus output.
func (u Usage) Tokens() int64 { return u.Input + u.Output }

// UsageReport is what one model call consumed.
type UsageReport struct {
	Model   string  `json:"model"`
	Usage   Usage   `json:"usage"`
	CostUSD float64 `json:"cost_usd"`
	Priced  bool    `json:"priced"`
	// Reported says that CostUSD is what the server said the call cost.
	Reported bool `json:"reported,omitempty"`
	// Inherited says that another run paid for the call: the one that this run
	// was forked from. It does not count towards this run's usage.
	Inherited bool `json:"inherited,omitempty"`
}

// Type implements [Body].
func (UsageReport) Type() EventType { return TypeUsage }

// mostUSD is more than any call costs.
const mostUSD = 1e6

// Plausible reports whether a call can have consumed that much, and cost it.
func (b UsageReport) Plausible() bool {
	return b.CostUSD >= 0 && b.CostUSD <= mostUSD && b.Usage == b.Usage.Bounded()
}

// Headline implements [Body].
func (b UsageReport) Headline() Headline {
	return Headline{
		Level: LevelDetail,
		Label: "usage",
		Text:  amount.Tokens(b.Usage.Tokens()) + " tokens",
	}
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

// LimitHit says which bound stopped a phase.
type LimitHit struct {
	Kind  string  `json:"kind"` // turns, tokens, cost (USD), time (seconds), context (tokens)
	Value float64 `json:"value"`
	Max   float64 `json:"max"`
	// Of is the table of settings that bounds a part of the run by itself, such as
	// phase.plan; "" where the bound is the run's.
	Of string `json:"of,omitempty"`
}

// Type implements [Body].
func (LimitHit) Type() EventType { return TypeLimit }

// Headline implements [Body].
func (b LimitHit) Headline() Headline {
	number := func(v float64) string {
		switch b.Kind {
		case "cost":
			return amount.Cost(v, true)
		case "time":
			return amount.Duration(time.Duration(v * float64(time.Second)))
		}
		return amount.Tokens(int64(v))
	}
	return Headline{
		Level: LevelWarning,
		Label: "limit",
		Text:  fmt.Sprintf("%s: %s of %s", b.Kind, number(b.Value), number(b.Max)),
	}
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
