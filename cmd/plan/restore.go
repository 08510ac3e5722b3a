package main

import (
	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/host"
)

func (a *app) restoreCommand() *cobra.Command {
	var how host.Restore
	cmd := &cobra.Command{
		Use:   "restore RUN --to SEQ|start",
		Short: "Undo what a run changed, and nothing else",
		Long: `Restore takes the work tree of a run back to the last snapshot at or before an
event, or to the start. Only files that the run changed since then are touched,
and only if they are still as the run left them; if others changed one of them,
nothing is done and they are listed. The index and commits are left alone. The
tree as it was before is kept; --undo goes back to it, and undoes "plan apply"
as well: a commit of "plan apply --commit" by one that reverts it.

The snapshots are the "snapshot" events of "plan show RUN --events".`,
		Example: `  plan restore 01JX --to start --check
  plan restore 01JX --to start
  plan restore 01JX --to 120
  plan restore 01JX --undo`,
		Args: oneArg("the id of a run, or latest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (how.To == "") != how.Undo {
				return usage("restore needs --to SEQ, --to start, or --undo")
			}
			run, err := a.namedRun(cmd, args)
			if err != nil {
				return err
			}
			how.Dir = a.namedDir(cmd)
			restored, err := a.host.Restore(cmd.Context(), run, how)
			return a.showMoved(restored, err)
		},
	}
	cmd.Flags().StringVar(&how.To, "to", "", "where to: the `SEQ` of an event, or start")
	cmd.Flags().BoolVar(&how.Undo, "undo", false, "take the last plan apply or plan restore for this run back")
	cmd.Flags().BoolVar(&how.Force, "force", false, "overwrite files that were changed since")
	cmd.Flags().BoolVar(&how.Check, "check", false, "only say what would be done; exits with 1 on conflicts")
	cmd.Flags().BoolVar(&how.Thread, "thread", false, "with --to start: to before the runs that this one goes on from")
	cmd.MarkFlagsMutuallyExclusive("to", "undo")
	return cmd
}
