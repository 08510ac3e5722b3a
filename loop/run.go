package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// Run adds the prompts and goes on until an answer holds no tool call and
// no letter adds to it, a bound is reached, or something stops it. An
// error is a *ModelError, the cause of ctx's end, or a failure of Emit; in each
// case the events are balanced, unless it was Emit that failed.
//
// Calls that are left open from before come to their end first. While some
// wait, the prompts are not taken: the loop ends as Waiting or External.
func (l *Loop) Run(ctx context.Context, prompts ...plan.Message) (End, error) {
	return l.exclusively(ctx, func(ctx context.Context) (End, error) {
		if end, ok, err := l.takePrompts(ctx, prompts); !ok || err != nil {
			return end, err
		}
		return l.runToEnd(ctx)
	})
}

// RunTurn adds the prompts and runs one turn with its tools, for a scheduler
// that owns the loop. End.Reason is More when there is another turn to run.
func (l *Loop) RunTurn(ctx context.Context, prompts ...plan.Message) (End, error) {
	return l.exclusively(ctx, func(ctx context.Context) (End, error) {
		if end, ok, err := l.takePrompts(ctx, prompts); !ok || err != nil {
			return l.wantsOneTurn(end), err
		}
		return l.runOneTurn(ctx)
	})
}

// takePrompts takes prompts in. It reports false if the loop ends instead.
func (l *Loop) takePrompts(ctx context.Context, prompts []plan.Message) (End, bool, error) {
	if len(prompts) == 0 {
		return End{}, true, nil
	}
	c, err := l.finishTurn(ctx)
	if c != nil || err != nil {
		return endFor(c), false, err
	}
	end, ok := l.addPrompts(ctx, prompts)
	return end, ok, nil
}

// addPrompts adds prompts to the conversation, all or none: none if a filter
// refuses one, or if nothing is left to answer them with.
func (l *Loop) addPrompts(ctx context.Context, prompts []plan.Message) (End, bool) {
	if hit := l.account.Spent(); hit != nil {
		l.record(*hit)
		end := l.ending(Limited)
		end.Limit = hit
		return end, false
	}
	fit := make([]plan.Message, len(prompts))
	for i, p := range prompts {
		fit[i] = p
		if len(l.cfg.Filters) > 0 {
			text, why := l.applyFilters(ctx, p.Text(), 0)
			if why != "" {
				return End{Reason: Rejected, Rejection: why}, false
			}
			fit[i] = l.reworded(p, text)
		}
	}
	for _, p := range fit {
		l.appendMessage(p)
	}
	return End{}, true
}

// reworded is a message with what the filters added to it.
func (l *Loop) reworded(m plan.Message, text string) plan.Message {
	if added, ok := strings.CutPrefix(text, m.Text()); ok && added != "" {
		m.Blocks = append(slices.Clip(m.Blocks), plan.Block{Type: plan.BlockText, Text: strings.TrimSpace(added)})
	}
	return m
}

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
	return end, nil
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

// errCrashed is what a session ends with whose loop, or a hook of it, panicked.
var errCrashed = errors.New("loop: a defect stopped this conversation; restore it from its events")

// exclusively runs one entry point at a time, within its time. What is recorded last is
// committed with the end of the conversation.
func (l *Loop) exclusively(ctx context.Context, run func(context.Context) (End, error)) (end End, err error) {
	if !l.busy.CompareAndSwap(false, true) {
		return End{}, ErrBusy
	}
	defer l.busy.Store(false)
	if l.dead != nil {
		return End{}, l.dead
	}
	ended := false
	defer func() {
		if !ended { // a panic goes on from here, and the state of the loop is not known
			l.dead = errCrashed
		}
	}()
	l.conv.from = len(l.messages)
	end, err = l.withinTimeLimit(ctx, run)
	ended = true
	if failed := l.endConv(ctx, end, err); err == nil {
		err = failed
	}
	return end, err
}

// withinTimeLimit runs an entry point for as long as it may take.
func (l *Loop) withinTimeLimit(ctx context.Context, run func(context.Context) (End, error)) (end End, err error) {
	own := &plan.TimeUp{Max: l.cfg.Limits.Time}
	if own.Max > 0 {
		within, cancel := context.WithTimeoutCause(ctx, own.Max, own)
		defer cancel()
		ctx = within
	}
	end, err = run(ctx)
	var up *plan.TimeUp
	// A sub-agent whose parent's time is up is cancelled: the limit is not its own.
	if errors.As(err, &up) && l.dead == nil && (up == own || l.depth == 0) {
		return l.stopAtLimit(ctx, up.Hit())
	}
	return end, err
}
