package loop

import (
	"github.com/plan-engine/plan"
)

// Level says how much may be taken out of a conversation to make room.
type Level string

// The levels.
const (
	// CompactOff leaves everything as it is.
	CompactOff Level = "off"
	// CompactSafe shortens without a model: old outputs keep their ends and a
	// pointer to the whole of them. The default.
	CompactSafe Level = "safe"
	// CompactFull is CompactSafe, and where that is not enough a model's
	// summary of the middle of the conversation. Lines of a command's output
	// that are like their neighbours are folded at once.
	CompactFull Level = "full"
)

// room says how much of a model's window a conversation may fill. Sizes are
// tokens.
type room struct {
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

// newRoom says how much of a window may be filled by default.
func newRoom(window int64) room {
	part := func(n int64) int64 {
		if window >= smallWindow {
			return n
		}
		return n * max(window, 0) / smallWindow
	}
	return room{
		Window: window,
		Output: part(outputReserve),
		Stop:   part(stopBuffer),
		Auto:   part(autoBuffer),
		Keep:   5,
		Early:  0.5,
		Target: 0.6,
	}
}

// ceiling is the input at which the loop stops. It is not known if the window
// is not.
func (r room) ceiling() (tokens int64, known bool) {
	return max(r.Window-r.Output-r.Stop, 0), r.Window > 0
}

// full reports whether a request is too large to be sent.
func (r room) full(tokens int64) bool {
	ceiling, known := r.ceiling()
	return known && !r.Learnt && tokens >= ceiling
}

// trigger is the input at which history is compacted.
func (r room) trigger() int64 { return max(r.Window-r.Output-r.Auto, 0) }

// occasion says which compaction is due.
type occasion string

const (
	notDue  occasion = ""
	dueTrim occasion = "trim" // many old results fill a good part of the window
	dueAuto occasion = "auto" // the window is nearly full
	// dueNow: the request cannot be sent, or the server has refused it. Even what
	// the model has not seen yet is shortened then, where nothing else helps.
	dueNow occasion = "now"
)

// due says which compaction a request of this size needs before it is sent.
// Results is the number of tool results that could be shortened.
func (r room) due(tokens int64, results int) occasion {
	switch {
	case r.Window <= 0:
		return notDue
	case tokens > 0 && tokens >= r.trigger():
		return dueAuto
	case r.trimmable(tokens, results, r.trigger()):
		return dueTrim
	}
	return notDue
}

// trimmable wants both: many results alone are no reason to take the working
// set away from the model.
func (r room) trimmable(tokens int64, results int, trigger int64) bool {
	return results > 2*r.Keep && float64(tokens) >= r.Early*float64(trigger)
}

// goal is the size that a compaction tries to come down to.
func (r room) goal(o occasion) int64 {
	base := float64(r.trigger())
	if o == dueTrim {
		base *= r.Early
	}
	if o == dueNow {
		base = min(base, float64(r.Refused))
	}
	return int64(base * r.Target)
}

// sendable reports whether a request that was too long can be sent in this size.
func (r room) sendable(tokens int64) bool {
	return tokens <= r.Refused-r.Refused/10 && tokens < r.Window && !r.full(tokens)
}

// worthwhile reports whether a compaction gained enough to pay for the prompt
// cache that it invalidates.
func worthwhile(before, after int64) bool { return after < before && 20*(before-after) >= before }

// compactor makes room in one conversation. The loop asks [compactor.due]
// before each request; if something is, it trims, and if [compactor.short]
// says that this was not enough it cuts a section out for a model to
// summarise. How it ended goes to record, as does every compaction_end event
// of a conversation that is restored, and each turn that went well to turned.
type compactor struct {
	level Level
	room  room
	// size tells the tokens of messages.
	size func([]plan.Message) int64
	// verbatim names the tools whose results are never shortened, such as one
	// that asks a person. Default: none.
	verbatim func(tool string) bool

	breaker breaker
}

// due says which compaction a request of this many tokens needs before it is
// sent, if one may be tried.
func (c *compactor) due(messages []plan.Message, tokens int64) occasion {
	if c.level == CompactOff || !c.breaker.allows(tokens, c.room) {
		return notDue
	}
	return c.room.due(tokens, large(messages, c.verbatim))
}

// dueCold is due for a conversation that has rested so long that no server
// knows its beginning any more. It is paid for in full then, so that making it
// shorter costs nothing.
func (c *compactor) dueCold(messages []plan.Message, tokens int64) occasion {
	if c.level == CompactOff || c.room.Window <= 0 || !c.breaker.allows(tokens, c.room) ||
		large(messages, c.verbatim) <= c.room.Keep {
		return notDue
	}
	return dueTrim
}

// short reports whether a trim left so much that a summary is needed.
func (c *compactor) short(o occasion, after int64) bool {
	return c.level == CompactFull && (o == dueAuto || o == dueNow) && after > c.room.goal(o)
}

// breaker decides whether a compaction that is due may be tried. The zero
// value allows it.
type breaker struct {
	failures int   // in a row
	good     int   // turns that went well since it opened
	rest     int   // how many of them it stays open for
	idle     int64 // size at which the latest compaction gained nothing
}

// mostFailures opens the breaker.
const mostFailures = 3

// isOpen reports whether compactions have failed too often.
func (b *breaker) isOpen() bool { return b.failures >= mostFailures }

// allows reports whether a compaction of this size may be tried. One that
// gained nothing is not repeated before the conversation has grown by a
// fortieth of the window.
func (b *breaker) allows(tokens int64, r room) bool {
	return !b.isOpen() && (b.idle == 0 || tokens >= b.idle+r.Window/40)
}

// record takes in how a compaction ended, also when a conversation is
// restored.
func (b *breaker) record(end plan.CompactionEnd) {
	switch {
	case end.Error != "":
		b.failures++
		if b.isOpen() {
			b.good, b.rest = 0, max(2*b.rest, 1)
		}
	case end.Messages == nil:
		b.idle = end.Before
	default:
		*b = breaker{}
	}
}

// turned takes in a turn that went well. An open breaker then lets one attempt
// through; after each further failure it takes twice as many turns.
func (b *breaker) turned() {
	if !b.isOpen() {
		return
	}
	if b.good++; b.good >= b.rest {
		b.failures = mostFailures - 1
	}
}
