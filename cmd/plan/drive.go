package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// driving is a run that is about to be driven by this process.
type driving struct {
	id           plan.RunID
	base         string // the commit that the run began at
	view         string // how its commands see the repository
	phases       *phases.Phases
	run          *engine.Run
	planOnly     bool
	checksByFlag bool
	said         said
	settings     *plan.SettingsChanged // that the run goes on with, if they are others than before
	tally        *render.Tally         // of the events so far
	past         []plan.Event          // these, of a run that goes on
	first        *plan.Snapshot        // that a new run begins with, if it was taken
	context      []plan.Message
	// stop ends what the run's context waits for; nil where nobody listens yet.
	stop func(error)
	// begin writes the first events of a new run; nil for one that goes on.
	begin func(context.Context, *engine.Engine) error
}

// drive runs the engine until the run is final or parks, shows what happens,
// and returns the exit code as an error.
func (a *app) drive(ctx context.Context, w *workshop, d driving) error {
	if a.job == nil { // a batch has done it once
		w.behind.Go(func() { // what killed processes left behind
			worktree.Sweep()
			sandbox.Sweep()
		})
	}
	inbox := &inbox{}
	w.journal = &journal{
		db:     w.db,
		writer: w.writer,
		run:    d.id,
		taken:  inbox.take,
		guard:  w.guard,
		learn:  w.learn,
		past:   d.past,
	}
	w.learn.run = d.id
	w.learn.saw(d.past...)
	d.past = nil // it may be large, and the journal lets go of it
	show := a.openDisplay(d)
	check, leave := a.openChecker(w, d.base)
	defer leave()
	must, advise := decisive(w, d.checksByFlag)
	eng, err := engine.New(engine.Config{
		Runner:       d.phases,
		Journal:      w.journal,
		Snapshots:    &trees{Repo: w.repo, first: d.first},
		Checker:      check,
		Changes:      changes{w.repo},
		Inspect:      inspector{w.repo}.inspect,
		PlanApprover: desk{w},
		Baselines:    a.openBaselines(w, check, d.view),
		MaxCycles:    *w.cfg.MaxReviewCycles,
		PlanOnly:     d.planOnly,
		Setup:        w.cfg.Checks.Setup,
		Critique:     isSet(w.cfg.Critique),
		ApprovePlan:  isSet(w.cfg.ApprovePlan),
		Required:     must,
		Detected:     advise,
		Context:      d.context,
		Show:         show.feed,
		Now:          a.now,
		Closing:      w.learn.closing(*w.cfg.MaxReviewCycles),
		TreeWatcher:  sight{w.repo},
		OriginMerger: w.repo,
		OnDrift:      onDrift(d.said, w.cfg),
		Replan:       d.said.replan,
		Settings:     d.settings,
	}, d.run)
	if err != nil {
		return failed(err)
	}
	stop := d.stop
	if stop == nil {
		ctx, stop = a.stoppable(ctx, w.cfg.Timeout.Duration)
	}
	inbox.open(ctx, w, eng, stop)
	watched := a.job.watch(ctx, d.id, inbox)
	defer func() {
		stop(nil)
		<-watched // it reads the database, which is closed next
	}()
	if d.begin != nil {
		if err := d.begin(ctx, eng); err != nil {
			show.close()
			if ctx.Err() != nil {
				return errInterrupted()
			}
			return failed(err)
		}
	}
	end, err := w.guard.session(
		ctx,
		w.journal,
		show.feed,
		func() (engine.End, error) { return a.runThrough(ctx, w, eng, show) },
	)
	show.close()
	if err != nil {
		return failed(err)
	}
	show.summary()
	a.mentionDrafts(ctx, w)
	w.leave()
	if show.err != nil && end.ExitCode == plan.ExitOK {
		return failed(
			fmt.Errorf("the run is %s, but not all of its output could be written: %w", end.State, show.err),
		)
	}
	if end.ExitCode != plan.ExitOK {
		return &exit{code: end.ExitCode}
	}
	return nil
}

// runThrough runs the engine as often as this process can do something about
// what parked the run: sleep through a rate limit, or ask the person.
func (a *app) runThrough(ctx context.Context, w *workshop, eng *engine.Engine, show *display) (engine.End, error) {
	for {
		end, err := eng.Run(ctx)
		if err != nil || end.Parked == nil {
			return end, err
		}
		again, err := a.mend(ctx, w, eng, show, &end)
		if err != nil || !again {
			return end, err
		}
	}
}

// mend does what this process can do about what parked the run, and reports
// whether it can go on.
func (a *app) mend(
	ctx context.Context,
	w *workshop,
	eng *engine.Engine,
	show *display,
	end *engine.End,
) (again bool, err error) {
	switch {
	case end.Parked.Reason == plan.ParkRateLimit && a.waits(w.cfg):
		if a.sleepUntil(ctx, end.Parked.WakeAt) {
			return true, nil
		}
		if errors.Is(context.Cause(ctx), engine.ErrCancelled) {
			err = eng.Cancel(context.WithoutCancel(ctx))
			*end = engine.End{State: plan.Cancelled, ExitCode: plan.Cancelled.ExitCode()}
		}
		return false, err
	case !a.interactive():
		return false, nil
	case end.Parked.Reason == plan.ParkDrift:
		show.close() // the terminal is the person's now
		again = a.askDrift(ctx, eng, *end)
	case len(end.Parked.Waiting) > 0:
		show.close()
		again, err = a.consult(ctx, w, *end, eng.State().Plan())
	}
	if again {
		show.open()
	}
	return again, err
}

// sleepUntil waits for a time, by default a minute from now, and reports
// whether it came before ctx ended.
func (a *app) sleepUntil(ctx context.Context, at *time.Time) bool {
	pause := time.Minute
	if at != nil {
		pause = at.Sub(a.now())
	}
	timer := time.NewTimer(max(pause, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// waits says whether this process sleeps through rate limits.
func (a *app) waits(cfg config.Config) bool {
	if cfg.Wait != nil {
		return *cfg.Wait
	}
	return a.onTerminal() && !a.json
}

// stoppable ends the context on the first Ctrl-C, and the process on the
// second.
func (a *app) stoppable(ctx context.Context, timeout time.Duration) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	var release context.CancelFunc = func() {}
	if timeout > 0 {
		ctx, release = context.WithTimeoutCause(ctx, timeout, &plan.TimeUp{Max: timeout})
	}
	if a.job != nil { // the batch hears the signals
		return ctx, func(cause error) {
			cancel(cause)
			if cause == nil {
				release()
			}
		}
	}
	// A reader that leaves, as head does, must not take the run with it.
	// Noticing the signal is enough for that; ignoring it would be inherited by
	// every child, and `yes | head` would never end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	var once sync.Once
	go func() {
		select {
		case <-signals:
			cancel(engine.ErrInterrupted)
		case <-done:
			return
		}
		select {
		case <-signals:
			os.Exit(plan.ExitInterrupted) // the journal is safe at any instant
		case <-done:
		}
	}()
	return ctx, func(cause error) {
		if cause != nil {
			cancel(cause)
			return
		}
		once.Do(func() {
			signal.Stop(signals)
			close(done)
			release()
			cancel(nil)
		})
	}
}

// detected are the checks that the repository seems to have.
func detected(w *workshop) []plan.Check {
	if w.cfg.Checks.Detect != nil && !*w.cfg.Checks.Detect {
		return nil
	}
	return checks.Detect(w.repo.Root())
}

// display is what shows a run to a person or a program. It can be closed and
// opened again.
type display struct {
	app   *app
	tally *render.Tally
	opts  render.Options

	show func(plan.Event) // nil while it is closed
	done func() error
	err  error // what went wrong in writing it
}

// openDisplay makes the display of a run and opens it.
func (a *app) openDisplay(d driving) *display {
	s := &display{
		app:   a,
		tally: d.tally,
		opts:  a.viewing(),
	}
	s.opts.Resume = fmt.Sprintf("plan resume %s", d.id)
	s.open()
	return s
}

// open chooses how the run is shown: as JSON lines, on a live terminal, or as
// plain lines.
func (s *display) open() {
	if j := s.app.job; j != nil {
		s.show, s.done = j.feed, func() error { return nil }
		return
	}
	opts := s.opts
	opts.Before = s.tally.Clone()
	var v render.Viewer
	var patience time.Duration // output that somebody reads later is never given up
	switch {
	case s.app.json:
		v = render.NewJSON(s.app.out)
	case s.app.onTerminal():
		v, patience = render.NewScreen(s.app.out, opts), render.Patience
	default:
		v = render.NewPlain(s.app.out, opts)
	}
	s.show, s.done = render.NewPump(v, patience)
}

// feed takes an event from the engine.
func (s *display) feed(ev plan.Event) {
	s.tally.Add(ev)
	if s.show != nil {
		s.show(ev)
	}
}

// close shows what is left and leaves the terminal as it was.
func (s *display) close() {
	if s.show != nil {
		s.err = errors.Join(s.err, s.done())
		s.show = nil
	}
}

// summary tells how the run stands.
func (s *display) summary() {
	if s.app.job != nil {
		return
	}
	to := s.app.out
	opts := s.opts
	if s.app.json {
		to, opts.Color = s.app.err, false
	}
	render.WriteSummary(to, s.tally, opts)
}
