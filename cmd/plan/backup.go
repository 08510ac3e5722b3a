package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
)

func (a *app) backupCommand() *cobra.Command {
	var opts memory.BackupOptions
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of the database, also while runs go on",
		Long: `Backup writes the whole database, as it stands at one moment, to FILE. Runs go on
meanwhile. The copy is read back and proven before it gets its name. To use it,
put it in the place of plan.db while no plan is running, or set PLAN_HOME to a
directory that holds it under that name.

No copy is made of a database that is damaged. With --skip-damaged it has all that is
whole, and what was left out is named; that also works where the damage keeps every
other command from opening it.

It holds everything that the runs have read and written: keep it as you keep the
repositories.`,
		Example: `  plan journal backup ~/plan-$(date +%F).db`,
		Args:    oneArg("the name of a file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := a.interruptible(cmd.Context())
			defer stop()
			opts.Progress = a.progress()
			c, err := a.host.Backup(ctx, args[0], opts)
			if err != nil {
				return err
			}
			return a.answer(render.NewBackupDocument(c), func(w io.Writer) error { return render.BackedUp(w, c) })
		},
	}
	cmd.Flags().BoolVar(&opts.Replace, "force", false, "replace FILE if it is there")
	cmd.Flags().BoolVar(&opts.SkipDamaged, "skip-damaged", false, "leave damaged runs out, and say which")
	return cmd
}
