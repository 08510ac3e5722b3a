package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
	"github.com/spf13/cobra"
)

// listed is a run in `plan list --json`.
type listed struct {
	ID      plan.RunID      `json:"id"`
	State   plan.State      `json:"state"`
	Parked  plan.ParkReason `json:"parked"`
	Outcome plan.State      `json:"outcome"`
	Request string          `json:"request"`
	Repo    string          `json:"repo"`
	Created time.Time       `json:"created"`
	Updated time.Time       `json:"updated"`
	Usage   plan.Usage      `json:"usage"`
	CostUSD float64         `json:"cost_usd"`
	Priced  bool            `json:"priced"`
	WakeAt  *time.Time      `json:"wake_at,omitempty"`
	// Worktree is the run's own work tree, if it is there.
	Worktree string `json:"worktree,omitempty"`
}

func (a *app) listCommand() *cobra.Command {
	var repo, state string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs, newest first",
		Example: `  plan list
  plan list --state parked
  plan list --repo . --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter := memory.Filter{Limit: limit}
			if err := filterState(&filter, state); err != nil {
				return err
			}
			if limit < 0 {
				return usage("--limit cannot be negative")
			}
			if repo != "" {
				r, err := openRepo(cmd.Context(), repo)
				if err != nil {
					return err
				}
				filter.Repo = r.Root()
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				runs, err := db.Runs(ctx, filter)
				if err != nil {
					return failed(err)
				}
				return a.list(runs)
			})
		},
	}
	cmd.Flags().StringVar(&repo, "repo", "", "only runs in the repository at `DIR`")
	cmd.Flags().StringVar(&state, "state", "", "only runs in this `STATE`, such as approved or parked")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most `N` runs (0: all)")
	return cmd
}

func filterState(f *memory.Filter, state string) error {
	switch s := plan.State(state); s {
	case "":
	case "parked":
		yes := true
		f.Parked = &yes
	case plan.Exploring, plan.Planning, plan.Implementing, plan.Reviewing,
		plan.Approved, plan.Planned, plan.Exhausted, plan.Blocked, plan.Failed, plan.Cancelled:
		f.States = []plan.State{s}
	default:
		return usage("there is no state %q; the states are exploring, planning, implementing, reviewing, approved, planned, exhausted, blocked, failed, cancelled, and parked", state)
	}
	return nil
}

func (a *app) list(runs []memory.RunInfo) error {
	if a.json {
		out := make([]listed, 0, len(runs))
		for _, r := range runs {
			out = append(out, listed{
				ID: r.ID, State: r.State, Parked: r.Parked, Outcome: r.Outcome, Request: r.Request, Repo: r.Repo,
				Created: r.Created, Updated: r.Updated, Usage: r.Usage, CostUSD: r.CostUSD, Priced: r.Priced, WakeAt: r.WakeAt,
				Worktree: a.worktreeDir(r.ID),
			})
		}
		return a.document(out)
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintln(a.out, "No runs yet. Start one with: plan run \"what should change\"")
		return failed(err)
	}
	look := newLook(a.viewing())
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "RUN\tSTATE\tAGE\tTOKENS\tCOST\tREQUEST")
	for _, r := range runs {
		state := string(r.State)
		if r.Parked != "" {
			state = "parked: " + string(r.Parked)
		}
		request := look.safe(look.firstLine(r.Request))
		if cut := []rune(request); len(cut) > 60 {
			request = string(cut[:59]) + "…"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, state, spokenTime(a.now().Sub(r.Created)),
			spokenCount(r.Usage.Tokens()), spokenCost(r.CostUSD, r.Priced), request)
	}
	return failed(tw.Flush())
}
