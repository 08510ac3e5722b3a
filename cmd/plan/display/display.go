// Package display shows a run that this process drives: as JSON lines, as lines of
// plain text, on a screen of lines, or as the live view that takes typing. It opens
// with the first event, and can be closed and opened again while a person is asked.
//
// It must not know which command the run was started by, or how it is driven.
package display

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/face/tui"
	"github.com/plan-engine/plan/host"
)

// Config says for whom a run is shown.
type Config struct {
	Out     io.Writer
	JSON    bool
	Screen  bool           // Out is a terminal whose cursor can be moved
	Options render.Options // how text for people is laid out there
	// Person asks in lines what the run waits for, with the display out of the way.
	// Nil: there is no person.
	Person func(hide, show func()) host.Person
	// Live is the terminal for the live view; nil for the others.
	Live *tui.Config
}

// Display shows one run.
type Display struct {
	cfg   Config
	ctx   context.Context //nolint:containedctx // of the run that is shown
	tally *render.Tally

	show func(plan.Event) // nil while it is closed
	done func() error
	line *tui.Line
	err  error // what went wrong in writing it
}

// New makes a display, which is empty until the run begins.
func New(ctx context.Context, cfg Config) *Display {
	d := &Display{
		cfg:   cfg,
		ctx:   ctx,
		tally: &render.Tally{},
	}
	if cfg.Live != nil {
		d.line = tui.NewLine(ctx, *cfg.Live)
	}
	return d
}

// Face is the display as a host sees it.
func (d *Display) Face() host.Face {
	f := host.Face{
		Begin: d.begin,
		Show:  d.add,
		Wait:  d.cfg.Screen && !d.cfg.JSON,
	}
	switch {
	case d.line != nil:
		f.Person, f.Note = d.line.Person(), d.line.Note
	case d.cfg.Person != nil:
		f.Person = d.cfg.Person(d.close, d.open)
	}
	return f
}

// begin opens the display of a run.
func (d *Display) begin(run plan.RunID, past []plan.Event) {
	for _, ev := range past {
		d.tally.Add(ev)
	}
	d.cfg.Options.Resume = fmt.Sprintf("plan resume %s", run)
	if d.line != nil {
		d.line.Begin(run, past)
		d.show, d.done = d.line.Event, d.line.Close
		return
	}
	d.open()
}

// open chooses how the run is shown.
func (d *Display) open() {
	opts := d.cfg.Options
	opts.Before = d.tally.Clone()
	var v render.Viewer
	var patience time.Duration // output that is read later is never given up
	switch {
	case d.cfg.JSON:
		v = render.NewJSON(d.cfg.Out)
	case d.cfg.Screen:
		v = render.NewScreen(d.cfg.Out, opts)
		patience = render.Patience
	default:
		v = render.NewPlain(d.cfg.Out, opts)
	}
	d.show, d.done = render.NewPump(v, patience)
}

// add takes an event from the host.
func (d *Display) add(ev plan.Event) {
	d.tally.Add(ev)
	if d.show != nil {
		d.show(ev)
	}
}

func (d *Display) close() {
	if d.show != nil {
		d.err = errors.Join(d.err, d.done())
		d.show = nil
	}
}

// Close shows what is left, leaves the terminal as it was, and returns what went wrong
// in writing.
func (d *Display) Close() error {
	d.close()
	return d.err
}

// Summary tells how the run stands.
func (d *Display) Summary(w io.Writer) {
	opts := d.cfg.Options
	if d.cfg.JSON {
		opts.Color = false
	}
	render.WriteSummary(w, d.tally, opts)
}
