package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
)

// Kind says how a conversation comes to go on from its history.
type Kind string

// The kinds of continuation.
const (
	Initial    Kind = "initial" // of a first run; recorded as Default by Continue
	Default    Kind = "default"
	Rerun      Kind = "rerun"      // the same turn is to be made again
	Branch     Kind = "branch"     // from the same history another way
	Compaction Kind = "compaction" // the history was made smaller by somebody else
)

// What keeps a conversation from being continued.
var (
	ErrEmpty    = errors.New("loop: there is no message to answer: begin with Run and a prompt")
	ErrAnswered = errors.New(
		"loop: the last message is the model's own, so there is nothing to answer: add a prompt with Run",
	)
)

// Continue goes on from history, without a new prompt. The history is what the
// loop was restored with, or, for a conversation that has no message yet, the
// one that is given, which no filter sees. It refuses an empty history and one
// that ends with the model's words, and then records nothing. The turn that
// follows begins for a continuation, or for a branch; its index goes on.
func (l *Loop) Continue(ctx context.Context, kind Kind, history ...plan.Message) (End, error) {
	return l.during(ctx, func(ctx context.Context) (End, error) {
		if err := l.goOn(kind, history); err != nil {
			return End{}, err
		}
		return l.through(ctx)
	})
}

// goOn takes a history in and remembers how it is continued.
func (l *Loop) goOn(kind Kind, history []plan.Message) error {
	switch kind {
	case "", Initial:
		kind = Default
	case Default, Rerun, Branch, Compaction:
	default:
		return fmt.Errorf("loop: there is no kind of continuation called %q", kind)
	}
	if len(history) > 0 && len(l.messages) > 0 {
		return errors.New("loop: the conversation has a history already: continue it without another one")
	}
	whole := slices.DeleteFunc(
		slices.Concat(l.messages, history),
		func(m plan.Message) bool { return m.Role == plan.RoleExtension },
	)
	switch {
	case len(whole) == 0:
		return ErrEmpty
	case whole[len(whole)-1].Role == plan.RoleAssistant && !l.open.answered:
		return ErrAnswered
	}
	for _, m := range history {
		l.say(m)
	}
	l.kind = kind
	return nil
}

// through runs turn after turn until the loop hands back.
func (l *Loop) through(ctx context.Context) (End, error) {
	for {
		end, err := l.advance(ctx)
		if err != nil || end.Reason != More {
			return end, err
		}
	}
}

// step runs one turn with its tools.
func (l *Loop) step(ctx context.Context) (End, error) {
	end, err := l.advance(ctx)
	if err != nil || end.Reason != More {
		return l.stepping(end), err
	}
	if c, err := l.settle(ctx); err != nil || c != nil {
		return l.stepping(handedOver(c)), err
	}
	return end, l.flush(ctx)
}

// stepping notes in a continuation that whoever takes it up again wants one
// turn at a time.
func (l *Loop) stepping(end End) End {
	if end.Continuation != nil {
		end.Continuation.OneTurn = true
	}
	return end
}

// trigger says what the turn that begins now is for.
func (l *Loop) trigger() plan.TurnStart {
	kind := l.kind
	l.kind = ""
	switch kind {
	case "":
	case Branch:
		return plan.TurnStart{Trigger: plan.TriggerBranch, Kind: string(kind)}
	default:
		return plan.TurnStart{Trigger: plan.TriggerContinuation, Kind: string(kind)}
	}
	for _, m := range slices.Backward(l.messages) {
		if m.Role != plan.RoleUser && m.Role != plan.RoleExtension {
			break
		}
		if m.Role == plan.RoleUser && m.Origin == "" {
			return plan.TurnStart{Trigger: l.cfg.Trigger}
		}
	}
	return plan.TurnStart{Trigger: plan.TriggerContinuation}
}
