package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/plan-engine/plan"
)

// errCrashed is what a session ends with whose loop, or a hook of it, panicked.
var errCrashed = errors.New("loop: a defect stopped this conversation; restore it from its events")

// exclusively runs one entry point at a time, within its time.
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
	end, err = l.withinTimeLimit(ctx, run)
	ended = true
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
	l.notice(fmt.Sprintf("[stopped: %s]", why))
	end := l.ending(Vetoed)
	end.Rejection = why
	return end, true, l.flush(ctx)
}

// prepareNext lets the hook choose what the next request is made with. A turn
// that is made again keeps its history.
func (l *Loop) prepareNext(ctx context.Context, again bool) error {
	hook := l.cfg.Hooks.PrepareTurn
	if hook == nil {
		return nil
	}
	l.updateWindow()
	was := Next{
		Model:    l.cfg.Name,
		Window:   l.compactor.Room.Window,
		Settings: l.cfg.Settings,
		Messages: l.messages,
	}
	next := hook(ctx, l.turn, was)
	l.cfg.Settings = next.Settings
	if next.Window != was.Window {
		l.cfg.Window, l.windowSet = next.Window, true
	}
	if next.Model != was.Model && next.Model != "" {
		l.cfg.Name = next.Model
		if err := l.prefix.Start(next.Model, l.cfg.System, l.specs); err != nil {
			return err
		}
		l.size.OtherServer()
	}
	l.updateWindow()
	if again || len(next.Messages) == 0 || sameMessages(next.Messages, was.Messages) {
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
