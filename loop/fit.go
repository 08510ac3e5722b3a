package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/compact"
)

// cacheKept is how long a server keeps a prompt cache at the most.
const cacheKept = time.Hour

// makeRoom makes room for the next request if it needs some.
func (l *Loop) makeRoom(ctx context.Context) error {
	l.updateWindow()
	l.measure()
	tokens := l.size.Tokens(l.counted)
	due := l.compactor.Due(l.messages, tokens)
	if due == compact.NotDue && !l.spokeAt.IsZero() && l.cfg.Now().Sub(l.spokeAt) >= cacheKept {
		due = l.compactor.DueCold(l.messages, tokens)
	}
	if due != compact.NotDue {
		if _, err := l.compact(ctx, due, tokens); err != nil {
			return err
		}
	}
	if l.windowLimit() == nil || l.compactor.Level == CompactOff || l.compactor.Breaker.IsOpen() {
		return nil
	}
	_, err := l.compactNow(ctx, l.size.Tokens(l.counted))
	return err
}

// compact makes the conversation smaller, and reports whether it did. What it
// replaces is recorded, so a loop that is restored has the same.
func (l *Loop) compact(ctx context.Context, due compact.Occasion, tokens int64) (gained bool, err error) {
	if before := l.cfg.Hooks.BeforeCompaction; before != nil && !before(ctx, tokens) {
		return false, nil
	}
	start := plan.CompactionStart{
		Level:  l.compactionLevel(),
		Tokens: tokens,
		Window: l.compactor.Room.Window,
	}
	if l.compactor.Room.Learnt {
		start.Learnt = l.learnedWindow.how
	}
	l.record(start)
	view, out, err := l.shrink(ctx, due, tokens)
	if ctx.Err() != nil {
		err = nil // it was stopped, which is no failure of the compaction
	}
	end := plan.CompactionEnd{
		Level:  l.compactionLevel(),
		Before: tokens,
		After:  out.After,
	}
	switch {
	case ctx.Err() != nil:
		end.After = tokens
	case out.Worthwhile(), due == compact.DueNow && out.After < out.Before:
		end.Messages = view
	}
	if err != nil {
		end.Error = err.Error()
	}
	ev := l.event(end)
	ev.Blobs = out.Blobs
	l.queue = append(l.queue, ev)
	if ctx.Err() == nil {
		l.compactor.Breaker.Record(end)
	}
	if end.Messages != nil {
		l.replaceHistory(end.Messages)
	}
	if ctx.Err() != nil {
		return false, errors.Join(context.Cause(ctx), l.flush(ctx))
	}
	return end.Messages != nil, nil
}

// summarise asks a model, in a conversation of its own and without tools. One
// that finds the record too long is given less of it, twice.
func (l *Loop) summarise(ctx context.Context, s compact.Section) (string, error) {
	headers := maps.Clone(l.cfg.Headers)
	if headers[phaseHeader] != "" {
		headers[phaseHeader] = "compact"
	}
	model := cmp.Or(l.cfg.SummaryModel, l.cfg.Name)
	if model != l.cfg.Name {
		l.record(plan.Route{
			For:   plan.RouteSummary,
			Model: model,
			Why:   cmp.Or(l.cfg.SummaryWhy, "the model that is set for summaries"),
		})
	}
	window := l.windowOf(model)
	for lighter := 0; ; lighter++ {
		prompt, most := l.compactor.Prompt(l.compactor.Fit(s, window))
		settings := l.cfg.Settings
		settings.MaxOutputTokens = most
		call := Call{
			Model:    model,
			Wire:     l.wireOf(model),
			Messages: []plan.Message{prompt},
			Settings: settings,
			Headers:  headers,
		}
		l.addHeaders(ctx, &call)
		ans, err := l.callWithRetries(ctx, plan.RouteSummary, call, l.size.Size(call.Messages))
		if me, ok := AsModelError(err); ok && me.Kind == ErrTooLong && lighter < 2 {
			if l.learnWindow(model, me) {
				window = me.Window
			}
			if s, ok = s.Lighter(); ok {
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

// phaseHeader says what a call is for; see the contracts of the workflow.
const phaseHeader = "X-Plan-Phase"

// replaceHistory puts another history in the place of the conversation's. The prompt
// cache begins anew with it, and so does the storm breaker: reading again what
// was taken out of sight is no storm.
func (l *Loop) replaceHistory(messages []plan.Message) {
	l.messages, l.summed = messages, 0
	l.prefix.Restart()
	l.storm.Reset()
	l.measure()
}

// measure counts the next request.
func (l *Loop) measure() {
	l.sum()
	if from, known := l.compactor.Room.ExactFrom(); known && l.size.Refine(l.counted, from) {
		l.summed = 0
		l.sum()
	}
}

// sum adds the messages that came since the last time to the count, so that
// counting does not take longer with every turn.
func (l *Loop) sum() {
	if l.summed == 0 {
		l.counted = l.size.System(l.cfg.System)
		for _, t := range l.specs {
			l.counted += l.size.Tool(t.Name, t.Description, t.Schema)
		}
	}
	l.counted += l.size.Messages(l.messages[l.summed:])
	l.summed = len(l.messages)
}

// windowLimit is the limit that a request breaks which does not fit the window.
func (l *Loop) windowLimit() *plan.LimitHit {
	tokens := l.size.Tokens(l.counted)
	if !l.compactor.Room.IsFull(tokens) {
		return nil
	}
	ceiling, _ := l.compactor.Room.Ceiling()
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
