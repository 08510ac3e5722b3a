package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
)

// Hooks are moments at which a program that uses a loop can look in or take a
// hand. Every field is optional. A hook is called from the loop's goroutine,
// BeforeTool, AfterTool and BeforeRequest excepted, which may be called for
// several calls or sub-agents at once.
//
// What a hook changes about the conversation is recorded like everything else,
// so a loop that is restored does not call hooks for what is past.
//
// What a caller can see or do without a hook has none: it has called Run itself,
// Emit tells of every compaction and failure, and RunTurn stops after a turn.
type Hooks struct {
	// PrepareTurn may choose another model, other settings or another history
	// from the next turn on. It is called before room is made and limits are
	// looked at.
	PrepareTurn func(ctx context.Context, turn int, n Next) Next
	// TurnStart is the last word before a turn begins. A reason that is not ""
	// blocks it: the turn does not run, and the loop ends as vetoed, with the
	// reason in the conversation and in End.Rejection.
	TurnStart func(ctx context.Context, turn int) (block string)
	// TransformContext changes what the next request sends, and nothing else:
	// the conversation stays as it is. It is also how a program sends messages
	// of its own, those with plan.RoleExtension, which are otherwise left out. It
	// must not modify its argument. It costs the prompt cache whatever it changes.
	TransformContext func(ctx context.Context, messages []plan.Message) []plan.Message
	// PrePrompt sees each request once, whole, before it is made for the first
	// time, and returns the one to make. It must not modify its argument. What
	// it changes is not recorded.
	PrePrompt func(ctx context.Context, c Call) Call
	// BeforeRequest is asked once for each request of the conversation and of its
	// sub-agents, summaries included, and not for its retries. An objection keeps it
	// from being made, and the loop ends as vetoed; a summary is then not written. It
	// may be called for several sub-agents at once.
	BeforeRequest func(ctx context.Context, r Outgoing) Objection
	// TurnEnd is told of each turn that has ended, once that is recorded.
	TurnEnd func(ctx context.Context, t Turned)
	// Done is asked when the model has nothing left to do and no letter adds to it. An
	// objection is what the model reads next, twice at most in an attempt; the hook
	// is asked after that as well, and told that its word reopens nothing.
	Done func(ctx context.Context, d Closing) Objection
	// BeforeTool decides about a call whose arguments are valid.
	BeforeTool func(ctx context.Context, c ToolCall) Decision
	// AfterTool may change a result before it is recorded.
	AfterTool func(ctx context.Context, c ToolCall, r Result) Result
	// BeforeCompaction may refuse a compaction: false leaves history as it is.
	BeforeCompaction func(ctx context.Context, tokens int64) bool
}

// Next is what the next request is made with.
type Next struct {
	Model    string
	Window   int64 // of that model in tokens; 0: unknown
	Settings Settings
	// Messages is the conversation. It must not be modified; another one in its
	// place is recorded and is what the conversation goes on from.
	Messages []plan.Message
}

// ToolCall is a call as hooks see it.
type ToolCall struct {
	ID   string
	Info Info
	Args json.RawMessage
}

// Verb is what a [Decision] decides.
type Verb string

// The verbs of a decision. Any other blocks: a gate that cannot be understood
// is closed.
const (
	Pass    Verb = "pass"
	Change  Verb = "change"  // run with Args instead
	Block   Verb = "block"   // do not run; Reason is what the model reads
	Confirm Verb = "confirm" // a person decides; Reason is what they read
)

// Decision is what BeforeTool says about a call.
type Decision struct {
	Verb   Verb
	Reason string
	Args   json.RawMessage // with Change, and with Confirm if it is about other ones
	// Rule, Effect and Grant are told to the person who confirms: which rule
	// asks, what the call would do, and what a yes for longer would allow.
	Rule   string
	Effect string
	Grant  plan.Grant
	// Record is put into the journal before what follows from the decision.
	Record []plan.Body
}

// Join makes hooks that call a and then b. Of two decisions the stricter one
// counts, and b sees what a changed.
func Join(a, b Hooks) Hooks {
	return Hooks{
		TransformContext: chain(a.TransformContext, b.TransformContext),
		PrePrompt:        chain(a.PrePrompt, b.PrePrompt),
		PrepareTurn:      chain2(a.PrepareTurn, b.PrepareTurn),
		TurnStart:        firstWord(a.TurnStart, b.TurnStart),
		BeforeRequest:    firstObjection(a.BeforeRequest, b.BeforeRequest),
		TurnEnd:          both(a.TurnEnd, b.TurnEnd),
		Done:             firstObjection(a.Done, b.Done),
		BeforeTool:       stricter(a.BeforeTool, b.BeforeTool),
		AfterTool:        chain2(a.AfterTool, b.AfterTool),
		BeforeCompaction: bothAllow(a.BeforeCompaction, b.BeforeCompaction),
	}
}

// either picks the second of two hooks if the first is missing.
func either[F any](a, b F, missing bool) F {
	if missing {
		return b
	}
	return a
}

func bothAllow[T any](a, b func(context.Context, T) bool) func(context.Context, T) bool {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(ctx context.Context, v T) bool { return a(ctx, v) && b(ctx, v) }
}

func firstWord[T any](a, b func(context.Context, T) string) func(context.Context, T) string {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(ctx context.Context, v T) string {
		if word := a(ctx, v); word != "" {
			return word
		}
		return b(ctx, v)
	}
}

func chain[T any](a, b func(context.Context, T) T) func(context.Context, T) T {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(ctx context.Context, v T) T { return b(ctx, a(ctx, v)) }
}

func chain2[T, U any](a, b func(context.Context, T, U) U) func(context.Context, T, U) U {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(ctx context.Context, v T, w U) U { return b(ctx, v, a(ctx, v, w)) }
}

func stricter(a, b func(context.Context, ToolCall) Decision) func(context.Context, ToolCall) Decision {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(ctx context.Context, c ToolCall) Decision {
		first := a(ctx, c)
		if first.Verb == Change {
			c.Args = first.Args
		}
		second := b(ctx, c)
		record := slices.Concat(first.Record, second.Record)
		first.Record, second.Record = record, record
		if second.Args == nil {
			second.Args = first.Args // it was asked about the changed call
		}
		if severity(second.Verb) >= severity(first.Verb) {
			if second.Verb == Pass {
				return first
			}
			return second
		}
		if second.Verb == Change { // a confirmation or a block, of the changed call
			first.Args = second.Args
		}
		return first
	}
}

// severity orders verbs; one that is not known is as good as a block.
func severity(v Verb) int {
	switch v {
	case Pass:
		return 0
	case Change:
		return 1
	case Confirm:
		return 2
	}
	return 3
}

// blockedByHook asks the hook whether the turn that comes next may run.
func (l *Loop) blockedByHook(ctx context.Context) (End, bool, error) {
	start := l.cfg.Hooks.TurnStart
	if start == nil {
		return End{}, false, nil
	}
	why := start(ctx, l.turn)
	if why == "" {
		return End{}, false, nil
	}
	end, err := l.endVetoed(ctx, why)
	return end, true, err
}

// prepareNext lets the hook choose what the next request is made with. A turn
// that is made again keeps its history.
func (l *Loop) prepareNext(ctx context.Context, again bool) error {
	hook := l.cfg.Hooks.PrepareTurn
	if hook == nil {
		return nil
	}
	l.updateWindow()
	original := Next{
		Model:    l.cfg.Name,
		Window:   l.compactor.Room.Window,
		Settings: l.cfg.Settings,
		Messages: l.messages,
	}
	next := hook(ctx, l.turn, original)
	l.cfg.Settings = next.Settings
	if next.Window != original.Window {
		l.cfg.Window, l.windowSet = next.Window, true
	}
	if next.Model != original.Model && next.Model != "" {
		l.cfg.Name = next.Model
		if err := l.prefix.Start(next.Model, l.cfg.System, l.specs); err != nil {
			return err
		}
		l.size.OtherServer()
	}
	l.updateWindow()
	if again || len(next.Messages) == 0 || sameMessages(next.Messages, original.Messages) {
		return nil
	}
	before := l.size.Size(l.messages)
	end := plan.CompactionEnd{
		Level:    levelHook,
		Before:   before,
		After:    l.size.Size(next.Messages),
		Messages: next.Messages,
	}
	l.record(plan.CompactionStart{
		Level:  levelHook,
		Tokens: before,
		Window: l.compactor.Room.Window,
	}, end)
	l.compactor.Breaker.Record(end)
	l.replaceHistory(next.Messages)
	return nil
}

// levelHook is the level of a compaction that a hook made.
const levelHook = "hook"

// sameMessages reports whether a hook left the conversation as it was.
func sameMessages(a, b []plan.Message) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// askBeforeTool asks the hooks about a call. One that crashes lets nothing through.
func (l *Loop) askBeforeTool(ctx context.Context, c *call) (d Decision) {
	defer func() {
		if p := recover(); p != nil {
			d = Decision{
				Verb:   Block,
				Reason: fmt.Sprintf("the rule that decides about this call crashed (%v), so it was not run.", p),
			}
		}
	}()
	return l.cfg.Hooks.BeforeTool(ctx, ToolCall{
		ID:   c.id,
		Info: c.offer.info,
		Args: c.args,
	})
}
