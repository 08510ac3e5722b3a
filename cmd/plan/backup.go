package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/memory"

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
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				c, err := db.Backup(ctx, args[0], force)
				if errors.Is(err, fs.ErrExist) {
					return failed(
						&advice{
							fmt.Sprintf("%s is there already", args[0]),
							"Name another file, or replace it with --force.",
						},
					)
				}
				if err != nil {
					return failed(err)
				}
				if a.json {
					return a.document(
						map[string]any{"path": c.Path, "bytes": c.Bytes, "runs": c.Runs, "events": c.Events},
					)
				}
				_, err = fmt.Fprintf(a.out, "%s: %s, %s, %s; read back and whole\n",
					render.SafeLine(c.Path), counted(c.Runs, "run"), counted(c.Events, "event"), spokenBytes(c.Bytes))
				return failed(err)
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it is there")
	return cmd
}

// counted says how many there are of something.
func counted[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// spokenBytes is a size for people.
func spokenBytes(n int64) string {
	size, unit := float64(n), "B"
	for _, next := range []string{"KB", "MB", "GB", "TB"} {
		if size < 1000 {
			break
		}
		size, unit = size/1000, next
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}
