package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/internal/sanitize"
	"github.com/plan-engine/plan/memory"
)

func (a *app) eventsCommand() *cobra.Command {
	var follow bool
	var after int64
	cmd := &cobra.Command{
		Use:   "events RUN",
		Short: "Show a run's journal, one event a line",
		Example: `  plan events 01JX
  plan events 01JX --json | jq 'select(.type == "tool_start") | .data.name'
  plan events 01JX --follow`,
		Args: oneArg("the id of a run, or a prefix of it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if after < 0 {
				return usage("--after cannot be negative")
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				id, err := a.host.Resolve(ctx, args[0])
				if err != nil {
					return err
				}
				ctx, stop := a.interruptible(ctx)
				defer stop()
				lines := db.Lines(ctx, id, after)
				if follow {
					lines = db.Follow(ctx, id, after)
				}
				return a.events(lines)
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "wait for more events until the run is final")
	cmd.Flags().Int64Var(&after, "after", 0, "only events with a seq greater than `SEQ`")
	return cmd
}

func (a *app) events(lines func(func(memory.Line, error) bool)) error {
	opts := a.viewing()
	people := render.NewPlain(a.out, opts)
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
