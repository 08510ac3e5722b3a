package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/internal/oneline"
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
	Title   string          `json:"title"`
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
	var parked bool
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs, newest first",
		Long: `List shows the runs of all repositories, whatever -C says, and does not cut the
list. Filters choose among them; a relative --repo is taken from where you are,
or from -C.`,
		Example: `  plan list
  plan list --parked
  plan list --state implementing --limit 10
  plan list --repo . --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter := memory.Filter{Limit: limit}
			if err := filterState(&filter, state); err != nil {
				return err
			}
			if parked {
				filter.Parked = &parked
			}
			if limit < 0 {
				return usage("--limit cannot be negative")
			}
			if repo != "" {
				if !filepath.IsAbs(repo) {
					repo = filepath.Join(a.dir, repo)
				}
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
				return a.list(runs, filter)
			})
		},
	}
	cmd.Flags().StringVar(&repo, "repo", "", "only runs in the repository at `DIR`")
	cmd.Flags().BoolVar(&parked, "parked", false, "only runs that are parked")
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
		return usage(
			"there is no state %q; the states are exploring, planning, implementing, reviewing, approved, planned, exhausted, blocked, failed, cancelled, and parked",
			state,
		)
	}
	return nil
}

func (a *app) list(runs []memory.RunInfo, filter memory.Filter) error {
	if a.json {
		out := make([]listed, 0, len(runs))
		for _, r := range runs {
			out = append(out, listed{
				ID:       r.ID,
				State:    r.State,
				Parked:   r.Parked,
				Outcome:  r.Outcome,
				Request:  r.Request,
				Title:    titleOf(r),
				Repo:     r.Repo,
				Created:  r.Created,
				Updated:  r.Updated,
				Usage:    r.Usage,
				CostUSD:  r.CostUSD,
				Priced:   r.Priced,
				WakeAt:   r.WakeAt,
				Worktree: a.worktreeDir(r.ID),
			})
		}
		return a.document(out)
	}
	if len(runs) == 0 {
		text := "No runs yet. Start one with: plan run \"what should change\""
		if filter.Repo != "" || filter.Parked != nil || len(filter.States) > 0 {
			text = "No run fits."
		}
		_, err := fmt.Fprintln(a.out, text)
		return failed(err)
	}
	look := render.NewLook(a.viewing())
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "RUN\tSTATE\tAGE\tTOKENS\tCOST\tREPOSITORY\tTITLE")
	for _, r := range runs {
		fmt.Fprintf(
			tw,
			"%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			r.ID,
			a.standingOf(r),
			render.Duration(a.now().Sub(r.Created)),
			render.Tokens(r.Usage.Tokens()),
			render.Cost(r.CostUSD, r.Priced),
			look.Safe(render.SafeLine(filepath.Base(r.Repo))),
			look.Safe(render.SafeLine(cutRunes(titleOf(r), 60))),
		)
	}
	return failed(render.UnlessReaderLeft(tw.Flush()))
}

// standingOf says in a few words where a run stands, and when it can go on.
func (a *app) standingOf(r memory.RunInfo) string {
	if r.Parked == "" {
		return string(r.State)
	}
	words := "parked: " + string(r.Parked)
	if at, ok := wakeOf(r); ok {
		if left := at.Sub(a.now()); left > 0 {
			return words + ", due in " + render.Duration(left)
		}
		return words + ", due"
	}
	return words
}

// titleOf is what a run is called: what a person called it, or the beginning
// of the request.
func titleOf(r memory.RunInfo) string {
	if r.Title != "" {
		return r.Title
	}
	return cutRunes(oneLine(r.Request), mostTitle)
}

// mostTitle bounds a title that nobody gave, in characters.
const mostTitle = 72

// oneLine is the first line of a text that says something, with single spaces.
func oneLine(text string) string {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			return strings.Join(words, " ")
		}
	}
	return ""
}

// cutRunes shortens a text to at most n characters.
func cutRunes(text string, n int) string {
	return oneline.Cut(text, n)
}
