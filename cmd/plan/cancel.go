package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run for good",
		Long: `Cancel ends a run: it becomes final and cannot be resumed. What it changed stays
in the work tree. A run that another process drives is asked to stop.`,
		Example: `  plan cancel 01JX`,
		Args:    oneArg("the id of a run, or latest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := a.runOf(cmd.Context(), args)
			if err != nil {
				return err
			}
			c, err := a.host.Cancel(cmd.Context(), id)
			switch {
			case err != nil:
				return err
			case c.Asked != nil:
				return a.confirm(id, fmt.Sprintf("asked process %d to cancel it", c.Asked.PID))
			case c.AlreadyFinal != "":
				return a.confirm(id, "it is final already: "+string(c.AlreadyFinal))
			}
			return a.confirm(id, "cancelled")
		},
	}
}

// withDB does something with the database open.
func (a *app) withDB(cmd *cobra.Command, do func(ctx context.Context, db *memory.DB) error) error {
	db, err := a.host.DB(cmd.Context())
	if err != nil {
		return err
	}
	return do(cmd.Context(), db)
}

// confirm answers a command that acts on a run.
func (a *app) confirm(id plan.RunID, text string) error {
	if a.json {
		return a.document(map[string]any{"id": id, "result": text})
	}
	_, err := fmt.Fprintf(a.out, "%s: %s\n", id, text)
	return err
}
