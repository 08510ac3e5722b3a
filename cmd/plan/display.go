package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/display"
	"github.com/plan-engine/plan/cmd/plan/pager"
	"github.com/plan-engine/plan/cmd/plan/signals"
	"github.com/plan-engine/plan/cmd/plan/terminal"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/face/tui"
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
	show := display.New(ctx, a.displaying())
	end, err := work(ctx, show.Face())
	unshown := show.Close()
	switch {
	case errors.Is(err, host.ErrNotBegun):
		return &exit{code: plan.ExitInterrupted, err: err}
	case err != nil && errors.Is(context.Cause(ctx), engine.ErrInterrupted):
		return &exit{code: plan.ExitInterrupted, err: err}
	case err != nil:
		return err
	}
	show.Summary(a.forPeople())
	if end.Drafts > 0 {
		_ = render.DraftsWaiting(a.forPeople(), end.Drafts) // a hint, which may get lost
	}
	if unshown != nil && end.ExitCode == plan.ExitOK {
		return fmt.Errorf("the run is %s, but not all of its output could be written: %w", end.State, unshown)
	}
	return exitWith(end.ExitCode)
}

// displaying says for whom a run is shown.
func (a *app) displaying() display.Config {
	cfg := display.Config{
		Out:     a.out,
		JSON:    a.json,
		Screen:  a.onTerminal() && !a.plain,
		Options: a.viewing(),
	}
	switch {
	case a.live():
		live := a.onTerminalOf(tui.Config{})
		cfg.Live = &live
	case a.interactive():
		cfg.Person = func(hide, show func()) host.Person {
			return terminal.Person{Terminal: a.terminal(), Hide: hide, Show: show}
		}
	}
	return cfg
}

// pager is what long texts go through, "" where no person reads them.
func (a *app) pager(ctx context.Context) string {
	if !a.onTerminal() || a.plain || a.json {
		return ""
	}
	return pager.Of(a.outward(ctx))
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
