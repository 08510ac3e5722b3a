package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/internal/sanitize"
	"github.com/plan-engine/plan/memory"
)

func (a *app) eventsCommand() *cobra.Command {
	opts := showOptions{events: true}
	cmd := &cobra.Command{
		Use:   "events RUN",
		Short: "Show a run's journal, one event a line",
		Args:  oneArg("the id of a run, or latest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.check(); err != nil {
				return err
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				id, err := a.runOf(ctx, args)
				if err != nil {
					return err
				}
				return a.showEvents(ctx, db, id, opts)
			})
		},
	}
	opts.registerEvents(cmd)
	return a.machines().Events(cmd, func() error { return opts.check() }, a.events)
}

// registerEvents registers what is chosen of a journal.
func (s *showOptions) registerEvents(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&s.follow, "follow", "f", false, "of events: wait for more until the run is final")
	cmd.Flags().StringVar(&s.otlp, "otlp", "", "of events: send them as traces to the OpenTelemetry collector at `URL`")
	cmd.Flags().Int64Var(&s.after, "after", 0, "of events: only those with a seq greater than `SEQ`")
}

// showEvents shows a journal.
func (a *app) showEvents(ctx context.Context, db *memory.DB, id plan.RunID, opts showOptions) error {
	ctx, stop := a.interruptible(ctx)
	defer stop()
	if opts.otlp != "" {
		spans, err := a.host.SendTraces(ctx, id, opts.otlp)
		if err != nil {
			return err
		}
		return a.confirm(id, render.Count(spans, "span")+" sent")
	}
	lines := db.Lines(ctx, id, opts.after)
	if opts.follow {
		lines = db.Follow(ctx, id, opts.after)
	}
	return a.events(lines)
}

func (a *app) events(lines iter.Seq2[memory.Line, error]) error {
	people := render.NewEventLines(a.out, a.viewing())
	for line, err := range lines {
		if err != nil {
			return err
		}
		if a.json {
			if _, err := fmt.Fprintf(a.out, "%s\n", sanitize.JSON(line.JSON)); err != nil {
				return render.UnlessReaderLeft(err)
			}
			continue
		}
		var ev plan.Event
		if err := ev.UnmarshalJSON(line.JSON); err != nil {
			return err //nolint:wrapcheck // it names the event
		}
		people.Event(ev)
	}
	if a.json {
		return nil
	}
	return people.Close()
}
