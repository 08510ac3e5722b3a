package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/face/render"
)

func (a *app) backupCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of the database, also while runs go on",
		Long: `Backup writes the whole database, as it stands at one moment, to FILE. Runs go on
meanwhile. The copy is read back and proven before it gets its name. To use it,
put it in the place of plan.db while no plan is running, or set PLAN_HOME to a
directory that holds it under that name.

It holds everything that the runs have read and written: keep it as you keep the
repositories.`,
		Example: `  plan backup ~/backups/plan-$(date +%F).db`,
		Args:    oneArg("the name of a file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := a.interruptible(cmd.Context())
			defer stop()
			c, err := a.host.Backup(ctx, args[0], force)
			if err != nil {
				return err
			}
			document := map[string]any{"path": c.Path, "bytes": c.Bytes, "runs": c.Runs, "events": c.Events}
			return a.answer(document, func(w io.Writer) error { return render.BackedUp(w, c) })
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it is there")
	return cmd
}
