package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/plan-engine/plan"
)

// cacheKept is how long a server keeps a prompt cache at the most.
const cacheKept = time.Hour

// fit makes room for the next request if it needs some.
func (l *Loop) fit(ctx context.Context) error {
	l.resize()
	l.measure()
	tokens := l.size.tokens(l.counted)
	due := l.compactor.due(l.messages, tokens)
	if due == notDue && !l.spokeAt.IsZero() && l.cfg.Now().Sub(l.spokeAt) >= cacheKept {
		due = l.compactor.dueCold(l.messages, tokens)
	}
	if due != notDue {
		if _, err := l.compact(ctx, due, tokens); err != nil {
			return err
		}
	}
	if l.overfull() == nil || l.compactor.level == CompactOff || l.compactor.breaker.isOpen() {
		return nil
	}
	_, err := l.squeeze(ctx, l.size.tokens(l.counted))
	return err
}

// compact makes the conversation smaller, and reports whether it did. What it
// replaces is recorded, so a loop that is restored has the same.
func (l *Loop) compact(ctx context.Context, due occasion, tokens int64) (gained bool, err error) {
	if before := l.cfg.Hooks.BeforeCompaction; before != nil && !before(ctx, tokens) {
		return false, nil
	}
	start := plan.CompactionStart{
		Level:  string(l.compactor.level),
		Tokens: tokens,
		Window: l.compactor.room.Window,
	}
	if l.compactor.room.Learnt {
		start.Learnt = l.learnt.how
	}
	l.record(start)
	view, rep, err := l.shrink(ctx, due, tokens)
	if ctx.Err() != nil {
		err = nil // it was stopped, which is no failure of the compaction
	}
	end := plan.CompactionEnd{
		Level:  string(l.compactor.level),
		Before: tokens,
		After:  rep.After,
	}
	switch {
	case ctx.Err() != nil:
		end.After = tokens
	case rep.gained(), due == dueNow && rep.After < rep.Before:
		end.Messages = view
	}
	if err != nil {
		end.Error = err.Error()
	}
	ev := l.event(end)
	ev.Blobs = rep.Blobs
	l.queue = append(l.queue, ev)
	if ctx.Err() == nil {
		l.compactor.breaker.record(end)
	}
	if end.Messages != nil {
		l.replace(end.Messages)
	}
	if after := l.cfg.Hooks.AfterCompaction; after != nil {
		after(ctx, tokens, end.After)
	}
	if ctx.Err() != nil {
		return false, errors.Join(context.Cause(ctx), l.flush(ctx))
	}
	return end.Messages != nil, nil
}

// shrink trims, and where that is not enough lets a summary stand for the
// middle of the conversation. Where no summary can be had, trimming harder has
// to do; the error then says why.
func (l *Loop) shrink(ctx context.Context, due occasion, tokens int64) ([]plan.Message, shrinking, error) {
	full := l.compactor.level == CompactFull && (due == dueAuto || due == dueNow)
	view, rep := l.compactor.trim(due, l.messages, tokens, full)
	if !l.compactor.short(due, rep.After) {
		return view, rep, nil
	}
	// People's words and open calls aside, what is summarised is the record.
	s, ok := l.compactor.cut(withoutOpenCalls(view), rep.After)
	if !ok {
		view, rep = l.compactor.trim(due, l.messages, tokens, false)
		return view, rep, nil
	}
	summary, err := l.summarise(ctx, s)
	if err == nil {
		var short shrinking
		if view, short, err = l.compactor.assemble(s, summary); err == nil {
			return l.trimmed(due, view, rep, short)
		}
	}
	view, rep = l.compactor.trim(due, l.messages, tokens, false)
	return view, rep, fmt.Errorf("summarise the conversation: %w", err)
}

// trimmed is a conversation with its summary. What was refused as too long is
// trimmed harder where the summary alone does not make it fit.
func (l *Loop) trimmed(due occasion, view []plan.Message, rep, short shrinking) ([]plan.Message, shrinking, error) {
	short.Before, short.Blobs = rep.Before, rep.Blobs
	if due != dueNow || l.compactor.room.sendable(short.After) {
		return view, short, nil
	}
	view, hard := l.compactor.trim(due, view, short.After, false)
	short.After = hard.After
	short.Blobs = append(short.Blobs, hard.Blobs...)
	return view, short, nil
}

// summarise asks a model, in a conversation of its own and without tools. One
// that finds the record too long is given less of it, twice.
func (l *Loop) summarise(ctx context.Context, s section) (string, error) {
	headers := maps.Clone(l.cfg.Headers)
	if headers[phaseHeader] != "" {
		headers[phaseHeader] = "compact"
	}
	model := cmp.Or(l.cfg.SummaryModel, l.cfg.Name)
	if model != l.cfg.Name {
		l.record(plan.Route{
			For:   routeSummary,
			Model: model,
			Why:   cmp.Or(l.cfg.SummaryWhy, "the model that is set for summaries"),
		})
	}
	window := l.windowOf(model)
	for lighter := 0; ; lighter++ {
		prompt, most := l.compactor.prompt(l.lightened(s, window))
		settings := l.cfg.Settings
		settings.MaxOutputTokens = most
		call := Call{
			Model:    model,
			Wire:     l.wireOf(model),
			Messages: []plan.Message{prompt},
			Settings: settings,
			Headers:  headers,
		}
		l.stamp(ctx, &call)
		ans, err := l.try(ctx, call, l.size.size(call.Messages))
		if me, ok := AsModelError(err); ok && me.Kind == ErrTooLong && lighter < 2 {
			if l.tellsWindow(model, me) {
				window = me.Window
			}
			if s, ok = s.lighter(); ok {
				continue
			}
		}
		if err != nil {
			return "", err
		}
		l.pay(model, ans.Usage, ans.CostUSD)
		if !ans.Stop.Whole() {
			return "", fmt.Errorf("the summary is not whole: it ended as %s", ans.Stop)
		}
		return ans.Message.Text(), nil
	}
}

// lightened is as much of a section as the window of the model that summarises it
// takes, 0 for one that is not known.
func (l *Loop) lightened(s section, window int64) section {
	for window > 0 {
		prompt, most := l.compactor.prompt(s)
		if l.size.size([]plan.Message{prompt})+int64(most) < window-window/20 {
			break
		}
		less, ok := s.lighter()
		if !ok {
			break
		}
		s = less
	}
	return s
}

// What a [plan.Route] of a loop is for.
const (
	routeSummary = "compact"
	routeTask    = "task"
)

// phaseHeader says what a call is for; see the contracts of the workflow.
const phaseHeader = "X-Plan-Phase"

// replace puts another history in the place of the conversation's. The prompt
// cache begins anew with it, and so does the storm breaker: reading again what
// was taken out of sight is no storm.
func (l *Loop) replace(messages []plan.Message) {
	l.messages, l.summed = messages, 0
	l.prefix.chain = nil
	l.storm.reset()
	l.measure()
}

// measure counts the next request.
func (l *Loop) measure() {
	l.sum()
	if l.size.refine(l.counted, l.compactor.room) {
		l.summed = 0
		l.read = reading{} // it was made with the other count
		l.sum()
	}
}

// sum adds the messages that came since the last time to the count, so that
// counting does not take longer with every turn.
func (l *Loop) sum() {
	if l.summed == 0 {
		l.counted = l.size.request(l.cfg.System, l.specs, nil)
	}
	l.counted += l.size.messages(l.messages[l.summed:])
	l.summed = len(l.messages)
}

// overfull is the limit that a request breaks which does not fit the window.
func (l *Loop) overfull() *plan.LimitHit {
	tokens := l.size.tokens(l.counted)
	if !l.compactor.room.full(tokens) {
		return nil
	}
	ceiling, _ := l.compactor.room.ceiling()
	return &plan.LimitHit{
		Kind:  "context",
		Value: float64(tokens),
		Max:   float64(ceiling),
	}
}

// wireOf is how a model is spoken to; this conversation's own way for its model.
func (l *Loop) wireOf(model string) string {
	switch {
	case model == l.cfg.Name:
		return l.cfg.Wire
	case l.cfg.WireOf != nil:
		return l.cfg.WireOf(model)
	}
	return ""
}
