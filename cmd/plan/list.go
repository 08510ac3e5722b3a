package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
)

func (a *app) listCommand() *cobra.Command {
	var only host.Filter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs, newest first",
		Long: `List shows the runs of all repositories, whatever -C says, and does not cut the
list. Filters choose among them; a relative --repo is taken from where you are,
or from -C. A run and those that continue it are one line, with the id of the newest,
except with --json. Every command takes an id as it stands there: its end.`,
		Example: `  plan list
  plan list --parked
  plan list --state implementing --limit 10
  plan list --repo . --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if only.Limit < 0 {
				return usage("--limit cannot be negative")
			}
			if only.Dir != "" && !filepath.IsAbs(only.Dir) {
				only.Dir = filepath.Join(a.dir, only.Dir)
			}
			runs, err := a.host.Runs(cmd.Context(), only)
			if err != nil {
				return err
			}
			if a.json {
				return a.document(a.host.ListRuns(runs))
			}
			threads, err := a.host.AsThreads(cmd.Context(), runs)
			if err != nil {
				return err
			}
			return render.UnlessReaderLeft(render.Runs(a.out, threads, only.Narrows(), a.viewing()))
		},
	}
	cmd.Flags().StringVar(&only.Dir, "repo", "", "only runs in the repository at `DIR`")
	cmd.Flags().BoolVar(&only.Parked, "parked", false, "only runs that are parked")
	cmd.Flags().StringVar(&only.State, "state", "", "only runs in this `STATE`, such as approved or parked")
	cmd.Flags().IntVar(&only.Limit, "limit", 0, "at most `N` runs (0: all)")
	return cmd
}
