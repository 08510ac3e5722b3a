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
	Compaction Kind = "compaction" // the history was made smaller by the caller
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
	return l.exclusively(ctx, func(ctx context.Context) (End, error) {
		if err := l.continueFrom(kind, history); err != nil {
			return End{}, err
		}
		return l.runToEnd(ctx)
	})
}

// continueFrom takes a history in and remembers how it is continued.
func (l *Loop) continueFrom(kind Kind, history []plan.Message) error {
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
		l.appendMessage(m)
	}
	l.kind = kind
	return nil
}

// runToEnd runs turn after turn until the loop hands back.
func (l *Loop) runToEnd(ctx context.Context) (End, error) {
	for {
		end, err := l.makeTurn(ctx)
		if err != nil || end.Reason != More {
			return end, err
		}
	}
}

// runOneTurn runs one turn with its tools.
func (l *Loop) runOneTurn(ctx context.Context) (End, error) {
	end, err := l.makeTurn(ctx)
	if err != nil || end.Reason != More {
		return l.wantsOneTurn(end), err
	}
	if c, err := l.finishTurn(ctx); err != nil || c != nil {
		return l.wantsOneTurn(endFor(c)), err
	}
	return end, l.flush(ctx)
}

// wantsOneTurn notes in a continuation that the caller that takes it up again wants one
// turn at a time.
func (l *Loop) wantsOneTurn(end End) End {
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
