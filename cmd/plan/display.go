package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/signals"
	"github.com/plan-engine/plan/cmd/plan/terminal"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
)

// drive has the host drive a run, shows what happens, and returns the exit code as
// an error.
func (a *app) drive(ctx context.Context, work func(context.Context, host.Face) (host.End, error)) error {
	ctx, release := a.interruptible(ctx)
	defer release()
	if a.interactive() {
		defer a.terminal().Discard() // what was typed while the run went on is for no shell
	}
	show := &display{app: a, tally: &render.Tally{}}
	end, err := work(ctx, show.face())
	show.close()
	switch {
	case errors.Is(err, host.ErrNotBegun):
		return &exit{code: plan.ExitInterrupted, err: err}
	case err != nil && errors.Is(context.Cause(ctx), engine.ErrInterrupted):
		return &exit{code: plan.ExitInterrupted, err: err}
	case err != nil:
		return err
	}
	show.summary()
	if end.Drafts > 0 {
		_ = render.DraftsWaiting(a.forPeople(), end.Drafts) // a hint, which may get lost
	}
	if show.err != nil && end.ExitCode == plan.ExitOK {
		return fmt.Errorf("the run is %s, but not all of its output could be written: %w", end.State, show.err)
	}
	return exitWith(end.ExitCode)
}

// interruptible ends the context when the process is told to stop, and the process
// on the second Ctrl-C.
func (a *app) interruptible(ctx context.Context) (context.Context, func()) {
	return signals.Watch(ctx, a.now, engine.ErrInterrupted, a.kill)
}

// kill ends the process at once: the journal is safe at any instant.
func (a *app) kill() {
	if a.restore != nil {
		a.restore()
	}
	os.Exit(plan.ExitInterrupted)
}

// display shows a run to a person or a program. It is opened with the first event
// and can be closed and opened again.
type display struct {
	app   *app
	tally *render.Tally
	opts  render.Options

	show func(plan.Event) // nil while it is closed
	done func() error
	err  error // what went wrong in writing it
}

// face is the display as a host sees it.
func (s *display) face() host.Face {
	f := host.Face{
		Begin: s.begin,
		Show:  s.add,
		Wait:  s.app.onTerminal() && !s.app.json,
	}
	if s.app.interactive() {
		f.Person = terminal.Person{
			Terminal: s.app.terminal(),
			Hide:     s.close,
			Show:     s.open,
		}
	}
	return f
}

// begin opens the display of a run.
func (s *display) begin(run plan.RunID, past []plan.Event) {
	for _, ev := range past {
		s.tally.Add(ev)
	}
	s.opts = s.app.viewing()
	s.opts.Resume = fmt.Sprintf("plan resume %s", run)
	s.open()
}

// open chooses how the run is shown: as JSON lines, on a live terminal, or as
// plain lines.
func (s *display) open() {
	opts := s.opts
	opts.Before = s.tally.Clone()
	var v render.Viewer
	var patience time.Duration // output that is read later is never given up
	switch {
	case s.app.json:
		v = render.NewJSON(s.app.out)
	case s.app.onTerminal():
		v = render.NewScreen(s.app.out, opts)
		patience = render.Patience
	default:
		v = render.NewPlain(s.app.out, opts)
	}
	s.show, s.done = render.NewPump(v, patience)
}

// add takes an event from the host.
func (s *display) add(ev plan.Event) {
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
	opts := s.opts
	if s.app.json {
		opts.Color = false
	}
	render.WriteSummary(s.app.forPeople(), s.tally, opts)
}
