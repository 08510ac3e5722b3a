package engine

import (
	"context"
	"errors"
	"time"

	"github.com/plan-engine/plan"
)

// Hinter is an error that knows what to do about itself.
type Hinter interface{ Hint() string }

func (e *Engine) fail(ctx context.Context, cause error) error {
	failure := plan.Failure{Error: cause.Error()}
	var h Hinter
	if errors.As(cause, &h) {
		failure.Hint = h.Hint()
	}
	return e.finish(ctx, evFail, cause.Error(), failure)
}

func (e *Engine) park(ctx context.Context, p plan.Parked) error {
	events, err := e.snapshotBeforePark(ctx)
	if err != nil {
		return err
	}
	if e.run.phaseOpen && e.treeAccepted { // else what a killed process left open stays as it is
		reason := plan.EndParked
		if p.Reason == plan.ParkLimit {
			reason = plan.EndLimit
		}
		events = append(events, e.event(plan.PhaseEnd{Reason: reason}))
	}
	return e.emit(ctx, append(events, e.event(p))...)
}

// move appends what a state came to together with the move to the next state.
func (e *Engine) move(ctx context.Context, event, why string, results ...plan.Body) error {
	return e.moveWith(ctx, event, why, nil, results...)
}

// moveWith is move with the contents that the results refer to.
func (e *Engine) moveWith(ctx context.Context, event, why string, blobs []plan.Blob, results ...plan.Body) error {
	to, err := next(ctx, e.run.State, event)
	if err != nil {
		return err
	}
	reason := plan.EndCompleted
	switch to {
	case plan.Failed:
		reason = plan.EndError
	case plan.Cancelled:
		reason = plan.EndCancelled
	}
	if event == evReplan {
		reason = plan.EndCancelled
	}
	var events []plan.Event
	if to.Final() || event == evReplan {
		events = e.run.endOpen(reason, func(plan.Body) bool { return true })
	}
	if e.run.phaseOpen {
		events = append(events, e.event(plan.PhaseEnd{Reason: reason}))
	}
	for _, b := range results {
		events = append(events, e.event(b))
	}
	events = append(events, e.event(plan.StateChange{
		From:  e.run.State,
		To:    to,
		Event: event,
		Why:   why,
	}))
	events[len(events)-1].Blobs = blobs
	if to.Final() {
		for _, b := range e.close(ctx, to, results) {
			ev := e.event(b)
			ev.Phase, ev.Attempt, ev.Conv = "", 0, ""
			events = append(events, ev)
		}
		end := e.event(e.end(ctx, to, why, results))
		end.Phase, end.Attempt, end.Conv = "", 0, ""
		events = append(events, end)
	}
	return e.emit(ctx, events...)
}

// close is what is recorded with the end of the run. For an approval it is made once,
// also where the journal kept that back.
func (e *Engine) close(ctx context.Context, to plan.State, results []plan.Body) []plan.Body {
	if to == plan.Approved && e.closing != nil {
		return e.closing
	}
	out := e.cfg.Closing(context.WithoutCancel(ctx), to, results)
	if to == plan.Approved {
		e.closing = append([]plan.Body{}, out...)
	}
	return out
}

// finish is move for the ends that every state can come to. What an
// interrupted Implement left in the tree is named, so that the change which the
// run made can be seen.
func (e *Engine) finish(ctx context.Context, event, why string, results ...plan.Body) error {
	if e.run.State == plan.Implementing && e.run.phaseBegun {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookLimit)
		defer cancel()
		// A run that cannot be looked at any more still has to end.
		if snap, err := e.cfg.Snapshots.Snapshot(ctx, e.run.ID, "end"); err == nil {
			results = append(results, snap)
		}
	}
	return e.move(ctx, event, why, results...)
}

// lookLimit bounds the last look at the tree of a run that ends.
const lookLimit = 10 * time.Second

// end sums a run up.
func (e *Engine) end(ctx context.Context, to plan.State, why string, results []plan.Body) plan.RunEnd {
	end := plan.RunEnd{
		Outcome:  to,
		ExitCode: to.ExitCode(),
		Why:      why,
		Usage:    e.run.Usage,
		CostUSD:  e.run.Cost,
		Priced:   e.run.Priced,
	}
	end.Checks.Failed = len(failed(e.run.Checks))
	tree := e.run.Tree()
	for _, b := range results {
		switch b := b.(type) {
		case plan.Snapshot:
			tree = b.Tree
		case plan.VerdictGiven:
			end.Evidence, end.Notes = b.Evidence, b.Notes
			end.Open, end.Accepted = b.Open, b.Accepted
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookLimit)
	defer cancel()
	// The size of the change is for people; a run does not fail for it.
	if stat, err := e.cfg.Snapshots.Stat(ctx, e.run.Origin(), tree); err == nil {
		end.Diff = stat
	}
	return end
}

// event puts the run's envelope around a body.
func (e *Engine) event(b plan.Body) plan.Event {
	ev := plan.Event{
		Run:  e.run.ID,
		Job:  e.run.Job,
		Body: b,
	}
	if p := e.run.working(); p != "" {
		ev.Phase, ev.Attempt = p, e.run.Attempt(p)
		if e.run.phaseOpen {
			ev.Conv = e.run.conv(p)
		}
	}
	return ev
}

// emit records durable events in one commit, folds them, and shows everything.
func (e *Engine) emit(ctx context.Context, events ...plan.Event) error {
	e.recording.Lock()
	defer e.recording.Unlock()
	if e.dead != nil || len(events) == 0 {
		return e.dead
	}
	now := e.cfg.Now()
	for i := range events {
		ev := &events[i]
		ev.Run, ev.Job, ev.Time = e.run.ID, e.run.Job, now
		if p := e.run.working(); p != "" && ev.Conv != "" && ev.Phase == "" {
			ev.Phase, ev.Attempt = p, e.run.Attempt(p)
		}
	}
	if events[0].Live() {
		for _, ev := range events {
			e.cfg.Show(ev)
		}
		return nil
	}
	// What has happened is recorded also while the run is being stopped.
	stored, err := e.cfg.Journal.Append(context.WithoutCancel(ctx), events...)
	if errors.Is(err, ErrUnread) {
		return ErrUnread
	}
	if err != nil {
		e.dead = &JournalError{Err: err}
		return e.dead
	}
	for _, ev := range stored {
		e.run.Apply(ev)
		e.cfg.Show(ev)
	}
	return nil
}
