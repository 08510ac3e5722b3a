package loop

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/plan-engine/plan"
)

// Hooks are moments at which a program that uses a loop can look in or take a
// hand. Every field is optional. A hook is called from the loop's goroutine,
// BeforeTool and AfterTool excepted, which may be called for several calls at
// once.
//
// What a hook changes about the conversation is recorded like everything else,
// so a loop that is restored does not call hooks for what is past.
type Hooks struct {
	// BeforeLoop is called when Run begins. An error ends the run as vetoed.
	BeforeLoop func(ctx context.Context) error
	// AfterLoop is called when Run ends, however it ends.
	AfterLoop func(ctx context.Context, end End, err error)
	// SessionEnd is called when an entry point hands back anything but More:
	// after AfterLoop, also when it was cancelled, failed or panicked. Its
	// context has not ended.
	SessionEnd func(ctx context.Context, end End, err error)
	// BeforeTurn may veto the next turn: false ends the loop.
	BeforeTurn func(ctx context.Context, turn int) bool
	// PrepareTurn may choose another model, other settings or another history
	// from the next turn on. It is called before room is made and limits are
	// looked at.
	PrepareTurn func(ctx context.Context, turn int, n Next) Next
	// TurnStart is the last word before a turn begins. A reason that is not ""
	// blocks it: the turn does not run, and the loop ends as vetoed, with the
	// reason in the conversation and in End.Rejection.
	TurnStart func(ctx context.Context, turn int) (block string)
	// TransformContext changes what the next request sends, and nothing else:
	// the conversation stays as it is. It must not modify its argument. It
	// costs the prompt cache whatever it changes.
	TransformContext func(ctx context.Context, messages []plan.Message) []plan.Message
	// ConvertMessages turns what TransformContext left into messages that a
	// model is sent, for programs that keep messages of their own in a
	// conversation: those with plan.RoleExtension, which are otherwise left
	// out. It must not modify its argument.
	ConvertMessages func(ctx context.Context, messages []plan.Message) []plan.Message
	// PrePrompt sees each request once, whole, before it is made for the first
	// time, and returns the one to make. It must not modify its argument. What
	// it changes is not recorded.
	PrePrompt func(ctx context.Context, c Call) Call
	// BeforeTool decides about a call whose arguments are valid.
	BeforeTool func(ctx context.Context, c ToolCall) Decision
	// AfterTool may change a result before it is recorded.
	AfterTool func(ctx context.Context, c ToolCall, r Result) Result
	// StopAfterTurn ends the loop after a turn.
	StopAfterTurn func(ctx context.Context, turn int) bool
	// BeforeCompaction may refuse a compaction: false leaves history as it is.
	BeforeCompaction func(ctx context.Context, tokens int64) bool
	// AfterCompaction is told what one came to, in tokens.
	AfterCompaction func(ctx context.Context, before, after int64)
	// OnError is called with an error that ends the run; not when it was
	// cancelled.
	OnError func(ctx context.Context, err error)
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
		BeforeLoop:       joinErr(a.BeforeLoop, b.BeforeLoop),
		AfterLoop:        both3(a.AfterLoop, b.AfterLoop),
		SessionEnd:       both3(a.SessionEnd, b.SessionEnd),
		BeforeTurn:       all(a.BeforeTurn, b.BeforeTurn),
		TransformContext: chain(a.TransformContext, b.TransformContext),
		ConvertMessages:  chain(a.ConvertMessages, b.ConvertMessages),
		PrePrompt:        chain(a.PrePrompt, b.PrePrompt),
		PrepareTurn:      chain2(a.PrepareTurn, b.PrepareTurn),
		TurnStart:        firstWord(a.TurnStart, b.TurnStart),
		BeforeTool:       stricter(a.BeforeTool, b.BeforeTool),
		AfterTool:        chain2(a.AfterTool, b.AfterTool),
		StopAfterTurn:    any2(a.StopAfterTurn, b.StopAfterTurn),
		BeforeCompaction: all(a.BeforeCompaction, b.BeforeCompaction),
		AfterCompaction:  both3(a.AfterCompaction, b.AfterCompaction),
		OnError:          both2(a.OnError, b.OnError),
	}
}

func joinErr(a, b func(context.Context) error) func(context.Context) error {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(ctx context.Context) error {
		if err := a(ctx); err != nil {
			return err
		}
		return b(ctx)
	}
}

// either picks the second of two hooks if the first is missing.
func either[F any](a, b F, missing bool) F {
	if missing {
		return b
	}
	return a
}

func both2[T any](a, b func(context.Context, T)) func(context.Context, T) {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(ctx context.Context, v T) { a(ctx, v); b(ctx, v) }
}

func both3[T, U any](a, b func(context.Context, T, U)) func(context.Context, T, U) {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(ctx context.Context, v T, w U) { a(ctx, v, w); b(ctx, v, w) }
}

func all[T any](a, b func(context.Context, T) bool) func(context.Context, T) bool {
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

func any2[T any](a, b func(context.Context, T) bool) func(context.Context, T) bool {
	if a == nil || b == nil {
		return either(a, b, a == nil)
	}
	return func(ctx context.Context, v T) bool { return a(ctx, v) || b(ctx, v) }
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
