package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
)

// shown is what to show of a run.
type shown struct {
	plan, report, diff bool
	transcript, cost   bool
	version            int
	phase              string
	attempt            int
}

func (a *app) showCommand() *cobra.Command {
	var what shown
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show what happened in a run",
		Long: `Show tells a run as a timeline, and how it stands. Other views:

  --transcript   everything that was said to and by the model, and every call
  --plan         the plan; its versions with --version, what changed with --diff
  --report       what Explore found
  --cost         tokens and cost by phase and model, sub-agents and summaries on
                 rows of their own; what is not known of it is said

--phase and --attempt choose a part of a timeline, transcript or cost. All views can
be piped into a pager; --json gives each as one document.`,
		Example: `  plan show 01JX                               the timeline and how it stands
  plan show 01JX --transcript | less           the conversations
  plan show 01JX --transcript --phase review --attempt 2
  plan show 01JX --plan                        the latest plan
  plan show 01JX --plan --version 2 --diff     what version 2 changed of version 1
  plan show 01JX --cost                        where the money went
  plan show 01JX --cost --json | jq .total.cost_usd
  plan show 01JX --json                        all of it as one document`,
		Args: oneArg("the id of a run, or a prefix of it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			what.plan = what.plan || what.diff || cmd.Flags().Changed("version")
			if err := what.check(); err != nil {
				return err
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				id, err := findRun(ctx, db, args[0])
				if err != nil {
					return err
				}
				return a.show(ctx, db, id, what)
			})
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&what.plan, "plan", false, "only the plan")
	fl.IntVar(&what.version, "version", 0, "with --plan: version `N` of it (0: the latest)")
	fl.BoolVar(&what.diff, "diff", false, "with --plan: what the version changed of the one before it")
	fl.BoolVar(&what.report, "report", false, "only the report of Explore")
	fl.BoolVar(&what.transcript, "transcript", false, "the conversations, in full")
	fl.BoolVar(&what.cost, "cost", false, "tokens and cost by phase and model")
	fl.StringVar(&what.phase, "phase", "", "only what happened in this `PHASE`")
	fl.IntVar(&what.attempt, "attempt", 0, "only attempt `N` of each phase (0: all)")
	cmd.MarkFlagsMutuallyExclusive("plan", "report", "transcript", "cost")
	return cmd
}

func (s shown) check() error {
	switch {
	case s.phase != "" && !knownPhase(plan.Phase(s.phase)):
		return usage("there is no phase %q; the phases are %s", s.phase, phaseNames())
	case s.attempt < 0:
		return usage("--attempt counts from 1")
	case (s.transcript || s.cost) && (s.plan || s.report), s.transcript && s.cost:
		return usage("--transcript, --cost, --plan and --report are different views; choose one")
	}
	return nil
}

// part chooses the events of the phase and attempt that were named.
func (s shown) part(events iter.Seq2[plan.Event, error]) iter.Seq2[plan.Event, error] {
	if s.phase == "" && s.attempt == 0 {
		return events
	}
	return func(yield func(plan.Event, error) bool) {
		for ev, err := range events {
			if err == nil &&
				(s.phase != "" && ev.Phase != plan.Phase(s.phase) || s.attempt != 0 && ev.Attempt != s.attempt) {
				continue
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

func (a *app) show(ctx context.Context, db *memory.DB, id plan.RunID, what shown) error {
	if what.transcript {
		return a.transcript(what.part(db.Events(ctx, id, memory.Query{})), id)
	}
	if what.cost {
		return a.showCost(ctx, db, id, what)
	}
	t := &render.Tally{}
	run, err := foldRun(ctx, db, id, t)
	if err != nil {
		return failed(err)
	}
	switch {
	case what.plan:
		return a.showPlan(run, what)
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
		return a.document(documentOf(run, info, t))
	}
	opts := a.viewing()
	opts.Resume = fmt.Sprintf("plan resume %s", id)
	if err := render.WriteTimeline(a.out, what.part(db.Events(ctx, id, memory.Query{})), opts); err != nil {
		return failed(render.UnlessReaderLeft(err))
	}
	if what.phase != "" || what.attempt != 0 {
		return nil
	}
	if size, err := sizeOf(ctx, run); err == nil { // the repository may be gone
		t.Diff = &size
	}
	render.WriteSummary(a.out, t, opts)
	return nil
}

// prose writes text that a model wrote.
func (a *app) prose(text string) error {
	return failed(render.UnlessReaderLeft(render.WriteProse(a.out, text, a.viewing())))
}
