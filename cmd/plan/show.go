package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
)

// shown is what to show of a run.
type shown struct {
	plan, report bool
	version      int
}

func (a *app) showCommand() *cobra.Command {
	var what shown
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show what happened in a run",
		Example: `  plan show 01JX              the timeline and how it stands
  plan show 01JX --plan       the plan as it was approved
  plan show 01JX --report     what Explore found
  plan show 01JX --json       all of it as one document`,
		Args: oneArg("the id of a run, or a prefix of it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			what.plan = what.plan || cmd.Flags().Changed("version")
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				id, err := findRun(ctx, db, args[0])
				if err != nil {
					return err
				}
				return a.show(ctx, db, id, what)
			})
		},
	}
	cmd.Flags().BoolVar(&what.plan, "plan", false, "only the plan")
	cmd.Flags().IntVar(&what.version, "version", 0, "with --plan: version `N` of it (0: the latest)")
	cmd.Flags().BoolVar(&what.report, "report", false, "only the report of Explore")
	cmd.MarkFlagsMutuallyExclusive("plan", "report")
	return cmd
}

func (a *app) show(ctx context.Context, db *memory.DB, id plan.RunID, what shown) error {
	t := &tally{}
	run, err := foldRun(ctx, db, id, t)
	if err != nil {
		return failed(err)
	}
	switch {
	case what.plan:
		doc, err := versionOf(run, what.version)
		if err != nil {
			return err
		}
		if a.json {
			return a.document(doc)
		}
		return a.prose(doc.Text)
	case what.report:
		if run.Report == "" {
			return failed(fmt.Errorf("run %s has no report: Explore has not ended", id))
		}
		if a.json {
			return a.document(plan.Report{Text: run.Report})
		}
		return a.prose(run.Report)
	case a.json:
		info, err := db.Run(ctx, id)
		if err != nil {
			return failed(err)
		}
		return a.document(documentOf(run, info))
	}
	opts := a.viewing()
	opts.Resume = fmt.Sprintf("plan resume %s", id)
	if err := writeTimeline(a.out, db.Events(ctx, id, memory.Query{}), opts); err != nil {
		return failed(err)
	}
	if size, err := sizeOf(ctx, run); err == nil { // the repository may be gone
		t.diff = &size
	}
	writeSummary(a.out, t, opts)
	return nil
}

// prose writes text that a model wrote.
func (a *app) prose(text string) error {
	return failed(writeProse(a.out, text, a.viewing()))
}

func versionOf(run *engine.Run, version int) (*plan.PlanDoc, error) {
	switch {
	case len(run.Plans) == 0:
		return nil, failed(fmt.Errorf("run %s has no plan yet: it is %s", run.ID, run.State))
	case version == 0:
		return run.Plan(), nil
	case version < 0 || version > len(run.Plans):
		return nil, failed(fmt.Errorf("run %s has no version %d of its plan; it has 1 to %d", run.ID, version, len(run.Plans)))
	}
	return &run.Plans[version-1], nil
}

// document is a run in `plan show --json`.
type document struct {
	ID       plan.RunID            `json:"id"`
	State    plan.State            `json:"state"`
	Parked   *plan.Parked          `json:"parked"`
	Outcome  plan.State            `json:"outcome"`
	Request  string                `json:"request"`
	Repo     string                `json:"repo"`
	Worktree string                `json:"worktree,omitempty"`
	Branch   string                `json:"work_branch,omitempty"`
	Forked   *plan.Fork            `json:"forked_from,omitempty"`
	Base     string                `json:"base"`
	Models   map[plan.Phase]string `json:"models"`
	Created  time.Time             `json:"created"`
	Updated  time.Time             `json:"updated"`
	Report   string                `json:"report"`
	Plans    []plan.PlanDoc        `json:"plans"`
	Baseline []plan.CheckResult    `json:"baseline"`
	Checks   []plan.CheckResult    `json:"checks"`
	Verdicts []plan.Judgement      `json:"verdicts"`
	Gaps     []plan.Gap            `json:"gaps"`
	Moves    []plan.StateChange    `json:"moves"`
	Usage    plan.Usage            `json:"usage"`
	CostUSD  float64               `json:"cost_usd"`
	Priced   bool                  `json:"priced"`
	Diff     *plan.DiffStat        `json:"diff"`
	Events   int64                 `json:"events"`
}

func documentOf(run *engine.Run, info memory.RunInfo) document {
	d := document{
		ID: run.ID, State: run.State, Parked: run.Parked, Outcome: info.Outcome,
		Created: info.Created, Updated: info.Updated, Report: run.Report,
		Plans: listOf(run.Plans), Baseline: listOf(run.Baseline), Checks: listOf(run.Checks),
		Verdicts: listOf(run.Verdicts), Gaps: listOf(run.Gaps), Moves: listOf(run.Moves),
		Usage: run.Usage, CostUSD: run.Cost, Priced: run.Priced, Events: run.Head,
	}
	if run.Start != nil {
		d.Request, d.Repo, d.Base, d.Models = run.Start.Request, run.Start.Repo, run.Start.Base, run.Start.Models
		d.Worktree, d.Branch, d.Forked = run.Start.Worktree, run.Start.WorkBranch, run.Start.ForkedFrom
	}
	if run.Outcome != nil {
		d.Diff = &run.Outcome.Diff
	}
	return d
}

// listOf makes an empty list of none, so that JSON readers always find one.
func listOf[T any](of []T) []T {
	if of == nil {
		return []T{}
	}
	return of
}
