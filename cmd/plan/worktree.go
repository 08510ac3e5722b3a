package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
)

func (a *app) worktreeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worktree",
		Short: "List and remove the work trees of runs",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use:     "list",
		Short:   "List the work trees of runs, and say which can go",
		Example: `  plan worktree list --json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.showTrees(cmd.Context(), false)
		},
	}
	var dry bool
	prune := &cobra.Command{
		Use:   "prune",
		Short: "Remove the work trees from which nothing is needed any more",
		Long: `Prune removes the work trees of runs that are final, where nothing was changed
since and the change was brought over or is none. It says why it keeps each of
the others. Branches that have commits of their own stay.`,
		Example: `  plan worktree prune --dry-run`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.showTrees(cmd.Context(), !dry)
		},
	}
	prune.Flags().BoolVar(&dry, "dry-run", false, "only say what would be removed")
	remove := &cobra.Command{
		Use:   "remove RUN",
		Short: "Remove the work tree of a run",
		Long: `Remove also removes a work tree whose change was not brought over: the snapshots
of the run stay, and "plan apply" and "plan resume" go on from them. It never
removes one that a process works in, or that holds changes which are in no
snapshot.`,
		Example: `  plan worktree remove 01JX`,
		Args:    oneArg("the id of a run, or latest"),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := a.namedRun(cmd, args)
			if err != nil {
				return err
			}
			removed, err := a.host.RemoveWorkTree(cmd.Context(), run)
			switch {
			case err != nil:
				return err
			case !removed:
				return a.confirm(run.ID, "its work tree is gone already")
			}
			return a.confirm(run.ID, "its work tree is removed; its snapshots stay")
		},
	}
	cmd.AddCommand(list, prune, remove)
	return cmd
}

// showTrees tells which work trees there are, and with remove which of them went.
func (a *app) showTrees(ctx context.Context, remove bool) error {
	trees, err := a.host.WorkTrees(ctx, remove)
	if err != nil {
		return err
	}
	trees = append([]host.OwnedTree{}, trees...) // none is an empty list in JSON, too
	return a.answer(trees, func(w io.Writer) error { return render.WorkTrees(w, trees) })
}
