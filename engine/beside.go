package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/plan-engine/plan"
)

// errUnprepared stops Explore where what it began beside has shown that the checks
// cannot say anything.
var errUnprepared = errors.New("the checks are not made possible")

// beside is a setup that runs while Explore reads and its model thinks.
type beside struct {
	done chan struct{} // closed when it has ended and is recorded
	// What it came to, once done is closed: why the run cannot go on, or whether checks
	// cannot start all the same.
	err     error
	unready bool
}

// wait returns once the setup has ended: what commands need is there then.
func (b *beside) wait(ctx context.Context) error {
	select {
	case <-b.done:
		if b.err != nil || b.unready {
			return errUnprepared
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// exploreBeside runs Explore while the setup runs: the first request need not wait for it,
// and the first command does. Where the setup fails, or a check cannot start after it,
// Explore is stopped and goes on where it stood once that is mended or answered.
func (e *Engine) exploreBeside(ctx context.Context) (out plan.Outcome, stopped bool, err error) {
	exploring, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	setup, err := e.startSetup(ctx, func() { stop(errUnprepared) })
	if err != nil {
		return out, false, err
	}
	joined := false
	join := func() { <-setup.done; joined = true }
	defer func() {
		if !joined { // Explore crashed
			join()
		}
	}()
	out, err = e.phase(exploring, plan.Explore, func(b *plan.Brief) {
		b.Context = e.cfg.Context
		b.Ready = setup.wait
	})
	join()
	switch {
	case e.dead != nil:
		return out, false, e.dead
	case ctx.Err() != nil && (err != nil || out.Park != nil):
		return out, false, err // as it was stopped itself
	case setup.err != nil:
		return out, false, setup.err
	case !setup.unready:
		return out, false, err
	}
	if e.run.phaseOpen {
		if err := e.emit(ctx, e.event(plan.PhaseEnd{Reason: plan.EndParked})); err != nil {
			return out, true, err
		}
	}
	out = plan.Outcome{}
	out.Park, err = e.askAboutChecks(ctx)
	return out, true, err
}

// besides reports whether the setup is to run beside Explore: it has not passed yet.
func (e *Engine) besides() bool {
	return e.run.State == plan.Exploring && e.cfg.Setup != "" && !e.cfg.PlanOnly && !e.run.setUps[e.cfg.Setup]
}

// startSetup begins the setup, and records what it comes to when it has ended. Failed is
// called where the run cannot go on as it is.
func (e *Engine) startSetup(ctx context.Context, failed func()) (*beside, error) {
	like := e.event(plan.Progress{})
	like.Conv = "" // it is none of the conversation's
	with := func(body plan.Body) plan.Event {
		ev := like
		ev.Body = body
		return ev
	}
	trial := plan.Trial{
		Check:    plan.Check{Command: e.cfg.Setup, Source: plan.CheckSetup},
		Baseline: true,
		Trees:    e.run.trees(),
	}
	if !e.run.checking(trial.Command) { // else a process died in it, and it is begun already
		if err := e.emit(ctx, with(plan.CheckStart{Check: trial.Check, Baseline: true})); err != nil {
			return nil, err
		}
	}
	last := e.run.lastChecksQuestion()
	ask := e.cfg.Unready != nil && e.cfg.Answer != nil && (last == nil || last.Answer != goWithout)
	tree, id := e.run.Tree(), e.run.ID
	b := &beside{done: make(chan struct{})}
	go func() {
		defer close(b.done)
		if b.err = e.setUpBeside(ctx, trial, id, tree, with); b.err == nil && ask {
			missing, err := e.cfg.Unready(ctx)
			b.unready = err == nil && len(missing) > 0
		}
		if b.err != nil || b.unready {
			failed()
		}
	}()
	return b, nil
}

// setUpBeside runs the setup and records its end together with the tree that it left,
// so that what it changed is at no instant taken for a change by others. It touches
// nothing of the run but by emit.
func (e *Engine) setUpBeside(
	ctx context.Context,
	t plan.Trial,
	id plan.RunID,
	tree string,
	with func(plan.Body) plan.Event,
) error {
	say := func(text string) {
		_ = e.emit(ctx, with(plan.Progress{Text: text})) // live: it cannot fail
	}
	res, blobs, err := e.cfg.Checker.Check(ctx, t, say)
	if err != nil {
		res, blobs = plan.CheckResult{
			ExitCode:  -1,
			Cancelled: true,
			Output:    err.Error(),
		}, nil
		err = &plan.Outage{Err: fmt.Errorf("run the check %q: %w", t.Command, err)}
	}
	res.Check, res.Baseline = t.Check, true
	end := with(plan.CheckEnd{CheckResult: res})
	end.Blobs = blobs
	events := []plan.Event{end}
	if err == nil {
		snap, wrong := e.cfg.Snapshots.Snapshot(ctx, id, "prepared")
		switch {
		case wrong != nil:
			err = &plan.Outage{Err: fmt.Errorf("take a snapshot after the setup: %w", wrong)}
		case snap.Tree != tree:
			events = append(events, with(snap))
		}
	}
	if eerr := e.emit(ctx, events...); eerr != nil {
		return eerr
	}
	if err == nil && !res.Passed() {
		return setupFailed(res)
	}
	return err
}
