// Package compact makes a conversation smaller: it says when that is due, shortens
// old results and arguments, lets a summary stand for the middle, takes out what
// the model prunes, and cleans the output of commands.
//
// It must not know how a model is called or where events are kept: a summary is
// asked for through a function, and what came of it is handed back.
package compact

import (
	"github.com/plan-engine/plan"
)

// Level says how much may be taken out of a conversation to make room.
type Level string

// The levels.
const (
	// Off leaves everything as it is.
	Off Level = "off"
	// Safe shortens without a model: old outputs keep their ends and a
	// pointer to the whole of them. The default.
	Safe Level = "safe"
	// Full is Safe, and where that is not enough a model's
	// summary of the middle of the conversation. Lines of a command's output
	// that are like their neighbours are folded at once.
	Full Level = "full"
)

// Room says how much of a model's window a conversation may fill. Sizes are
// tokens.
type Room struct {
	Window int64 // 0: unknown, so nothing is ever due
	// Learnt says that Window is known from a request that was refused. History
	// is compacted by it, but no request is held back for it: the server itself
	// says what is too long.
	Learnt bool
	Output int64 // kept free for the answer
	Stop   int64 // kept free besides; where only this is left, the loop stops
	Auto   int64 // kept free besides; where only this is left, history is compacted
	// Keep is how many of the latest tool results are left as they are.
	Keep int
	// Early is the fraction of the trigger from which old tool results are
	// shortened, if there are more than twice Keep.
	Early float64
	// Target is the fraction of what made a compaction due that is left
	// standing, if possible. Less than 1, or each turn would compact anew.
	Target float64
	// Refused is the size of the request that is too long, while history is made
	// smaller for that; else 0.
	Refused int64
}

// What is kept free of a window. In a window below smallWindow the same parts
// of it are kept free, so that there is something left to work in.
const (
	outputReserve = 20_000
	stopBuffer    = 3_000
	autoBuffer    = 13_000
	smallWindow   = 64_000
)

// NewRoom says how much of a window may be filled by default.
func NewRoom(window int64) Room {
	part := func(n int64) int64 {
		if window >= smallWindow {
			return n
		}
		return n * max(window, 0) / smallWindow
	}
	return Room{
		Window: window,
		Output: part(outputReserve),
		Stop:   part(stopBuffer),
		Auto:   part(autoBuffer),
		Keep:   5,
		Early:  0.5,
		Target: 0.6,
	}
}

// Ceiling is the input at which the loop stops. It is not known if the window
// is not.
func (r Room) Ceiling() (tokens int64, known bool) {
	return max(r.Window-r.Output-r.Stop, 0), r.Window > 0
}

// IsFull reports whether a request is too large to be sent.
func (r Room) IsFull(tokens int64) bool {
	ceiling, known := r.Ceiling()
	return known && !r.Learnt && tokens >= ceiling
}

// trigger is the input at which history is compacted.
func (r Room) trigger() int64 { return max(r.Window-r.Output-r.Auto, 0) }

// Occasion says which compaction is due.
type Occasion string

// The occasions.
const (
	NotDue  Occasion = ""
	DueTrim Occasion = "trim" // many old results fill a good part of the window
	DueAuto Occasion = "auto" // the window is nearly full
	// DueNow says that the request cannot be sent, or the server has refused it. Even what
	// the model has not seen yet is shortened then, where nothing else helps.
	DueNow Occasion = "now"
)

// Due says which compaction a request of this size needs before it is sent.
// Results is the number of tool results that could be shortened.
func (r Room) Due(tokens int64, results int) Occasion {
	switch {
	case r.Window <= 0:
		return NotDue
	case tokens > 0 && tokens >= r.trigger():
		return DueAuto
	case r.trimmable(tokens, results, r.trigger()):
		return DueTrim
	}
	return NotDue
}

// ExactFrom is the size from which it pays to count exactly: a little before
// the first compaction can be due. It is not known if the window is not.
func (r Room) ExactFrom() (tokens float64, known bool) {
	return near * r.Early * float64(r.trigger()), r.Window > 0
}

// near is the part of the earliest trigger from which it pays to be exact.
const near = 0.9

// trimmable wants both: many results alone are no reason to take the working
// set away from the model.
func (r Room) trimmable(tokens int64, results int, trigger int64) bool {
	return results > 2*r.Keep && float64(tokens) >= r.Early*float64(trigger)
}

// goal is the size that a compaction tries to come down to.
func (r Room) goal(o Occasion) int64 {
	base := float64(r.trigger())
	if o == DueTrim {
		base *= r.Early
	}
	if o == DueNow {
		base = min(base, float64(r.Refused))
	}
	return int64(base * r.Target)
}

// sendable reports whether a request that was too long can be sent in this size.
func (r Room) sendable(tokens int64) bool {
	return tokens <= r.Refused-r.Refused/10 && tokens < r.Window && !r.IsFull(tokens)
}

// worthwhile reports whether a compaction gained enough to pay for the prompt
// cache that it invalidates.
func worthwhile(before, after int64) bool { return after < before && 20*(before-after) >= before }

// Compactor makes room in one conversation. A loop asks [Compactor.Due] before
// each request and calls [Compactor.Shrink] if something is due. How it ended
// goes to Breaker.Record, as does every compaction_end event of a conversation
// that is restored, and each turn that went well to Breaker.TurnSucceeded.
type Compactor struct {
	Level Level
	Room  Room
	// Size tells the tokens of messages.
	Size func([]plan.Message) int64
	// Verbatim names the tools whose results are never shortened, such as one
	// that asks a person. Default: none.
	Verbatim func(tool string) bool

	Breaker Breaker
}

// Due says which compaction a request of this many tokens needs before it is
// sent, if one may be tried.
func (c *Compactor) Due(messages []plan.Message, tokens int64) Occasion {
	if c.Level == Off || !c.Breaker.allows(tokens, c.Room) {
		return NotDue
	}
	return c.Room.Due(tokens, large(messages, c.Verbatim))
}

// Budget is the size that the messages of a request of this many tokens are to come down
// to, if possible.
func (c *Compactor) Budget(o Occasion, messages []plan.Message, tokens int64) int64 {
	return max(c.Room.goal(o)-(tokens-c.Size(messages)), 0)
}

// Outcome is what came of making messages of a request of this many tokens smaller in
// another way than [Compactor.Shrink].
func (c *Compactor) Outcome(messages, view []plan.Message, tokens int64) Outcome {
	return Outcome{Before: tokens, After: max(tokens-c.Size(messages)+c.Size(view), 0)}
}

// DueCold is due for a conversation that has rested so long that no server
// knows its beginning any more. It is paid for in full then, so that making it
// shorter costs nothing.
func (c *Compactor) DueCold(messages []plan.Message, tokens int64) Occasion {
	if c.Level == Off || c.Room.Window <= 0 || !c.Breaker.allows(tokens, c.Room) ||
		large(messages, c.Verbatim) <= c.Room.Keep {
		return NotDue
	}
	return DueTrim
}

// short reports whether a trim left so much that a summary is needed.
func (c *Compactor) short(o Occasion, after int64) bool {
	return c.Level == Full && (o == DueAuto || o == DueNow) && after > c.Room.goal(o)
}

// Breaker decides whether a compaction that is due may be tried. The zero
// value allows it.
type Breaker struct {
	failures int   // in a row
	good     int   // turns that went well since it opened
	rest     int   // how many of them it stays open for
	idle     int64 // size at which the latest compaction gained nothing
}

// mostFailures opens the breaker.
const mostFailures = 3

// IsOpen reports whether compactions have failed too often.
func (b *Breaker) IsOpen() bool { return b.failures >= mostFailures }

// allows reports whether a compaction of this size may be tried. One that
// Worthwhile nothing is not repeated before the conversation has grown by a
// fortieth of the window.
func (b *Breaker) allows(tokens int64, r Room) bool {
	return !b.IsOpen() && (b.idle == 0 || tokens >= b.idle+r.Window/40)
}

// Record takes in how a compaction ended, also when a conversation is
// restored.
func (b *Breaker) Record(end plan.CompactionEnd) {
	switch {
	case end.Error != "":
		b.failures++
		if b.IsOpen() {
			b.good, b.rest = 0, max(2*b.rest, 1)
		}
	case end.Messages == nil:
		b.idle = end.Before
	default:
		*b = Breaker{}
	}
}

// TurnSucceeded takes in a turn that went well. An open breaker then lets one attempt
// through; after each further failure it takes twice as many turns.
func (b *Breaker) TurnSucceeded() {
	if !b.IsOpen() {
		return
	}
	if b.good++; b.good >= b.rest {
		b.failures = mostFailures - 1
	}
}
