package loop

import (
	"context"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/compact"
)

const (
	// mostReliefs is how often in a row a request that was refused as too long is
	// made smaller and sent again.
	mostReliefs = 3
	// leastWindow is the smallest window that a server is believed to have, in
	// tokens. A smaller number in its words is about something else.
	leastWindow = 1024
)

// learnedWindow is what a refusal has taught about a model's window.
type learnedWindow struct {
	model  string
	window int64  // tokens; 0: nothing
	how    string // plan.WindowSaid or plan.WindowGuessed
}

// windowOf is what is known of the window of a model, in tokens; 0 for nothing.
func (l *Loop) windowOf(model string) int64 {
	if model == l.cfg.Name {
		return l.compactor.Room.Window
	}
	if l.cfg.WindowOf == nil {
		return 0
	}
	return l.cfg.WindowOf(model)
}

// learnWindow reports whether a refusal names the window of a model, and tells it on.
func (l *Loop) learnWindow(model string, me *ModelError) bool {
	if me.Window < leastWindow {
		return false
	}
	if l.cfg.LearnWindow != nil {
		l.cfg.LearnWindow(model, me.Window)
	}
	return true
}

// updateWindow takes over what is known of the model's window by now: what the server
// said counts most. A guess only ever makes it smaller.
func (l *Loop) updateWindow() {
	window := l.cfg.Window
	if l.cfg.WindowOf != nil && !l.windowSet {
		if known := l.cfg.WindowOf(l.cfg.Name); known > 0 {
			window = known
		}
	}
	k := l.learnedWindow
	taught := k.window > 0 && k.model == l.cfg.Name &&
		(k.how == plan.WindowSaid || window <= 0 || k.window < window)
	if taught {
		window = k.window
	}
	l.compactor.Room = compact.NewRoom(window)
	l.compactor.Room.Learnt = taught
}

// retrySmaller makes the conversation smaller after its request was refused as too
// long, and reports whether it is worth sending again. The turn stays open; the
// answer that did not come is recorded as none.
func (l *Loop) retrySmaller(ctx context.Context, cause error) (bool, error) {
	me, ok := AsModelError(cause)
	if !ok || me.Kind != ErrTooLong || ctx.Err() != nil {
		return false, nil
	}
	tokens := l.size.Tokens(l.counted)
	answer := l.answerRoom(tokens)
	l.learn(me, tokens)
	if l.reliefs >= mostReliefs {
		return false, nil
	}
	l.reliefs++
	again := plan.Retry{Attempt: l.reliefs, Status: me.Status}
	if less := l.answerRoom(tokens); less < answer && tokens+less <= l.learnedWindow.window {
		again.Reason = "the request was too long, so less room is asked for the answer: " + me.Error()
		l.record(again)
		return true, nil
	}
	if l.compactor.Level == CompactOff {
		return false, nil
	}
	l.discardAnswer()
	smaller, err := l.compactNow(ctx, tokens)
	if !smaller || err != nil {
		return false, err
	}
	again.Reason = "the request was too long, so the history was made shorter: " + me.Error()
	l.record(again)
	return true, nil
}

// compactNow makes a conversation smaller that is too long to be sent.
func (l *Loop) compactNow(ctx context.Context, tokens int64) (smaller bool, err error) {
	l.compactor.Room.Refused = tokens
	defer func() { l.compactor.Room.Refused = 0 }()
	return l.compact(ctx, compact.DueNow, tokens)
}

// answerRoom is how many tokens a request of this size asks for its answer; 0
// where it does not say.
func (l *Loop) answerRoom(tokens int64) int64 {
	call, _, _ := l.bounded(Call{Model: l.cfg.Name, Settings: l.cfg.Settings}, tokens, 0, false)
	return int64(call.Settings.MaxOutputTokens)
}

// learn takes the window from the server's words. Where it named none, a little
// less than the request that it refused is taken for it.
func (l *Loop) learn(me *ModelError, tokens int64) {
	switch known := l.learnedWindow.model == l.cfg.Name && l.learnedWindow.how == plan.WindowSaid; {
	case l.learnWindow(l.cfg.Name, me):
		l.learnedWindow = learnedWindow{
			model:  l.cfg.Name,
			window: me.Window,
			how:    plan.WindowSaid,
		}
	case !known:
		l.learnedWindow = learnedWindow{
			model:  l.cfg.Name,
			window: max(tokens-tokens/10, leastWindow),
			how:    plan.WindowGuessed,
		}
	}
	l.updateWindow()
}

// restoreWindow takes over what an earlier process has learnt.
func (l *Loop) restoreWindow(start plan.CompactionStart) {
	if start.Learnt == "" || start.Window <= 0 {
		return
	}
	l.learnedWindow = learnedWindow{
		model:  l.sentTo,
		window: start.Window,
		how:    start.Learnt,
	}
	l.updateWindow()
}
