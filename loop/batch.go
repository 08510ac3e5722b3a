package loop

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop/pairing"
	"github.com/plan-engine/plan/loop/storm"
)

const (
	// parallel is how many calls of one batch run at once.
	parallel = 8
	// flushDelay is how long a result waits for its siblings before it is
	// recorded alone, so that fast batches cost one commit and a stalled
	// sibling loses nothing.
	flushDelay = 20 * time.Millisecond
	// grace is how long a tool may take to return once it was cancelled.
	grace = 50 * time.Millisecond
)

// runCalls gives every call a result, those excepted that wait for a person.
// It returns an error only if the run cannot go on; a cancelled context shows
// in the results.
func (l *Loop) runCalls(ctx context.Context, calls []*call) ([]Pending, error) {
	if err := l.recoverTasks(ctx, calls); err != nil {
		return nil, err
	}
	for _, c := range calls {
		if c.end == nil && c.lost && !c.external() && !c.recoverable() {
			l.takeResult(toolReport{call: c, end: unknownOutcome()})
		}
		if !c.asked {
			l.decide(ctx, c)
			l.recordRejected(c)
		}
	}
	waiting, err := l.resolvePending(ctx, calls)
	if err != nil {
		return nil, err
	}
	return waiting, l.runGroups(ctx, groupsOf(calls, l.cfg.Strategy))
}

// groupsOf sorts the calls that can run into groups that run together: as the
// strategy says, or one by one, up to the first that waits, when one of them
// wants to run alone.
func groupsOf(calls []*call, how Strategy) [][]*call {
	todo := unfinished(calls)
	waits := func(c *call) bool { return c.pending != nil || c.external() }
	if !serial(todo) {
		todo = slices.DeleteFunc(todo, waits)
		return slices.Collect(slices.Chunk(todo, how.chunk(len(todo))))
	}
	var groups [][]*call
	for _, c := range todo {
		if waits(c) {
			break
		}
		groups = append(groups, []*call{c})
	}
	return groups
}

// runGroups runs one group after the other. Once the run is being stopped, a
// tool has failed, or a person has something to say, the rest is skipped.
func (l *Loop) runGroups(ctx context.Context, groups [][]*call) error {
	var failed error
	steered := false
	for i, g := range groups {
		if i > 0 && !steered {
			letters, err := l.waiting(ctx, Steer)
			failed = errors.Join(failed, err)
			steered = len(letters) > 0
		}
		switch {
		case ctx.Err() != nil || failed != nil:
			l.skip(g, pairing.NeverStarted)
		case steered:
			l.skip(
				g,
				"Skipped; nothing was done: the person who asked for this work has something to say first. Read "+
					"it, then decide what is still needed.",
			)
		default:
			failed = l.runGroup(ctx, g)
		}
	}
	return failed
}

// skip answers calls that this process has not begun.
func (l *Loop) skip(group []*call, text string) {
	for _, c := range group {
		end := &plan.ToolEnd{
			Error:  true,
			Status: "cancelled",
			Output: text,
		}
		if c.lost && !c.external() && c.effect != plan.EffectReplay {
			end = unknownOutcome() // another process has
		}
		l.recordIntent(c)
		l.takeResult(toolReport{call: c, end: end})
	}
}

// toolReport is what a running tool has to say: an update, or its result.
type toolReport struct {
	call   *call
	update string
	post   *subAgentEvents
	end    *plan.ToolEnd
	blobs  []plan.Blob
	record []plan.Body // comes before the result
	err    error
}

// runGroup runs calls at the same time and records each result soon after it
// is there. All events are emitted from this goroutine.
func (l *Loop) runGroup(ctx context.Context, group []*call) error {
	for _, c := range group {
		l.workOutIntent(ctx, c)
		l.recordIntent(c)
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	feed := make(chan toolReport)
	for _, c := range group {
		if c.offer.info.Delegate != nil {
			child := l.childConfig(c, emitThroughLoop(c, feed, done))
			c.child = &child
		}
	}
	l.launch(ctx, group, feed, done)

	running := len(group)
	var fatal error
	var lingering, giveUp <-chan time.Time
	cancelled := ctx.Done()
	for running > 0 {
		select {
		case n := <-feed:
			if n.end == nil {
				l.handleUpdate(ctx, n, cancel)
				continue
			}
			running--
			l.takeResult(n)
			if n.err != nil {
				fatal = errors.Join(fatal, n.err)
				cancel(n.err)
			}
			lingering = time.After(flushDelay)
		case <-lingering:
			lingering = nil
			if err := l.flush(ctx); err != nil {
				return err
			}
		case <-cancelled:
			cancelled, giveUp = nil, time.After(l.grace)
		case <-giveUp:
			for _, c := range unfinished(group) {
				l.takeResult(toolReport{call: c, end: l.cancelledEnd(c)})
			}
			running = 0
		}
	}
	return fatal
}

// handleUpdate takes what a call has to say while it runs.
func (l *Loop) handleUpdate(ctx context.Context, n toolReport, cancel context.CancelCauseFunc) {
	if n.post != nil {
		l.recordForSubAgent(ctx, n.post)
		return
	}
	if err := l.emitLive(ctx, plan.ToolUpdate{
		Call: n.call.id,
		Name: n.call.name,
		Text: l.cfg.RedactRead(n.update),
	}); err != nil {
		cancel(err)
	}
}

// takeResult takes a result over.
func (l *Loop) takeResult(n toolReport) {
	if n.call.notes != "" {
		n.end.Output, n.call.notes = n.call.notes+n.end.Output, ""
	}
	n.call.finish(*n.end)
	l.observe(n.call.name, n.call.args, n.call.end)
	l.record(n.record...)
	ev := l.event(*n.call.end)
	ev.Blobs = n.blobs
	l.queue = append(l.queue, ev)
}

// observe tells the storm breaker how a call ended that ran.
func (l *Loop) observe(name string, args json.RawMessage, end *plan.ToolEnd) {
	l.storm.Observe(name, args, storm.Outcome{
		Result:  storm.Fingerprint(end.Output, end.Error),
		Timeout: end.Status == "timeout",
	})
}

// launch starts the calls of a group, a few at a time, in order. Nothing
// starts once ctx has ended.
func (l *Loop) launch(ctx context.Context, group []*call, feed chan<- toolReport, done <-chan struct{}) {
	slots := make(chan struct{}, l.cfg.Strategy.atOnce())
	say := func(n toolReport) {
		select {
		case feed <- n:
		case <-done:
		}
	}
	go func() {
		for _, c := range group {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return // the collector answers for the rest
			}
			if ctx.Err() != nil {
				return
			}
			go func() {
				defer func() { <-slots }()
				say(l.invoke(ctx, c, func(text string) { say(toolReport{call: c, update: text}) }))
			}()
		}
	}()
}
