package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/pager"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/costs"
	"github.com/plan-engine/plan/memory"
)

// showOptions is what to show of a run.
type showOptions struct {
	plan, report, diff bool
	transcript, cost   bool
	version            int
	events, graph      bool
	follow             bool
	otlp               string
	after              int64
	phase              string
	attempt            int
}

func (a *app) showCommand() *cobra.Command {
	var opts showOptions
	cmd := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show what happened in a run",
		Long: `Show tells a run as a timeline, and how it stands: the newest of this repository
where none is named. Other views:

  --transcript   everything that was said to and by the model, and every call; the
                 system prompt and the descriptions of tools are left out
  --plan         the plan; its versions with --version, what changed with --diff
  --report       what Explore found
  --cost         tokens and cost by phase and model, sub-agents and summaries on
                 rows of their own; what is not known of it is said. Then what
                 the input was for: prompts, tools, results, what was read again
  --events       the journal, one event a line; with --follow until the run is final,
                 and with --queue that of a job's run, whichever worker drives it
  --graph        the way that the run took through the workflow, as Mermaid

--phase and --attempt choose a part of a timeline, transcript or cost. On a
terminal a timeline and a transcript come through PAGER (less, unless set; cat for
none); --json gives each view as one document, the journal one event a line.`,
		Example: `  plan show 01JX                               the timeline and how it stands
  plan show 01JX --transcript | less           the conversations
  plan show 01JX --transcript --phase review --attempt 2
  plan show 01JX --plan                        the latest plan
  plan show 01JX --plan --version 2 --diff     what version 2 changed of version 1
  plan show 01JX --cost                        where the money went
  plan show 01JX --cost --json | jq .total.cost_usd
  plan show 01JX --events --json | jq 'select(.type == "tool_start") | .data.name'
  plan show 01JX --json                        all of it as one document`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.plan = opts.plan || opts.diff || cmd.Flags().Changed("version")
			if err := opts.check(); err != nil {
				return err
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				id, err := a.runOf(ctx, args)
				if err != nil {
					return err
				}
				switch {
				case opts.events:
					return a.showEvents(ctx, db, id, opts)
				case opts.graph:
					return a.showGraph(ctx, string(id))
				}
				return a.show(ctx, db, id, opts)
			})
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&opts.plan, "plan", false, "only the plan")
	fl.IntVar(&opts.version, "version", 0, "with --plan: version `N` of it (0: the latest)")
	fl.BoolVar(&opts.diff, "diff", false, "with --plan: what the version changed of the one before it")
	fl.BoolVar(&opts.report, "report", false, "only the report of Explore")
	fl.BoolVar(&opts.transcript, "transcript", false, "the conversations, in full")
	fl.BoolVar(&opts.cost, "cost", false, "tokens and cost by phase and model")
	fl.StringVar(&opts.phase, "phase", "", "only what happened in this `PHASE`")
	fl.IntVar(&opts.attempt, "attempt", 0, "only attempt `N` of each phase (0: all)")
	fl.BoolVar(&opts.events, "events", false, "the journal, one event a line")
	fl.BoolVar(&opts.graph, "graph", false, "the way that the run took, as Mermaid")
	opts.registerEvents(cmd)
	cmd.MarkFlagsMutuallyExclusive("plan", "report", "transcript", "cost", "events", "graph")
	return a.machines().Events(cmd, func() error { return opts.check() }, a.events)
}

func (s showOptions) check() error {
	switch {
	case s.after < 0:
		return usage("--after cannot be negative")
	case !s.events && (s.follow || s.after != 0 || s.otlp != ""):
		return usage("--follow, --after and --otlp go with --events")
	case s.attempt < 0:
		return usage("--attempt counts from 1")
	case (s.transcript || s.cost) && (s.plan || s.report), s.transcript && s.cost:
		return usage("--transcript, --cost, --plan and --report are different views; choose one")
	case s.phase != "":
		return host.RequirePhase(s.phase)
	}
	return nil
}

// show shows what was asked for of a run.
func (a *app) show(ctx context.Context, db *memory.DB, id plan.RunID, opts showOptions) error {
	events, damage := host.Intact(db.Events(ctx, id, memory.Query{}))
	part := host.PartOf(events, plan.Phase(opts.phase), opts.attempt)
	switch {
	case opts.transcript:
		return errors.Join(a.showTranscript(ctx, part, id), damage())
	case opts.cost:
		return errors.Join(a.showCost(part, id), damage())
	}
	t := &render.Tally{}
	run, err := a.host.Standing(ctx, id, t.Add)
	if err == nil || memory.IsDamage(err) && run.Head > 0 {
		err = errors.Join(a.showRun(ctx, db, run, t, part, id, opts), err)
	}
	return err
}

// showRun shows what is known of a run.
func (a *app) showRun(
	ctx context.Context,
	db *memory.DB,
	run *engine.Run,
	t *render.Tally,
	events iter.Seq2[plan.Event, error],
	id plan.RunID,
	want showOptions,
) error {
	switch {
	case want.plan:
		return a.showPlan(run, want)
	case want.report:
		if run.Report == "" {
			return fmt.Errorf("run %s has no report: Explore has not ended", id)
		}
		return a.view(plan.Report{Text: run.Report}, func(w io.Writer) error {
			return render.WriteProse(w, run.Report, a.viewing())
		})
	case a.json:
		info, err := db.Run(ctx, id)
		if err != nil {
			return err
		}
		return a.document(render.NewRunDocument(run, info, t))
	}
	thread, err := a.host.Around(ctx, id)
	if err != nil {
		return err
	}
	unread, err := a.host.Unread(ctx, id)
	if err != nil {
		return err
	}
	opts := a.viewing()
	opts.Resume = fmt.Sprintf("plan resume %s", id)
	return pager.Through(ctx, a.out, a.pager(ctx), a.outward(ctx), func(w io.Writer) error {
		part := want.phase != "" || want.attempt != 0
		if !part {
			if err := render.WriteThread(w, thread, id, opts); err != nil {
				return render.UnlessReaderLeft(err)
			}
		}
		if err := render.WriteTimeline(w, events, opts); err != nil || part {
			return render.UnlessReaderLeft(err)
		}
		if err := render.WriteUnread(w, unread, run.State.Final(), opts); err != nil {
			return render.UnlessReaderLeft(err)
		}
		if size, err := a.host.SizeOf(ctx, run); err == nil { // the repository may be gone
			t.Diff = &size
		}
		render.WriteSummary(w, t, opts)
		return nil
	})
}

// showTranscript shows what was said to and by the model, and every call with its
// result.
func (a *app) showTranscript(ctx context.Context, events iter.Seq2[plan.Event, error], id plan.RunID) error {
	if !a.json {
		return pager.Through(ctx, a.out, a.pager(ctx), a.outward(ctx), func(w io.Writer) error {
			return render.UnlessReaderLeft(render.WriteTranscript(w, events, a.viewing()))
		})
	}
	utterances, err := render.Utterances(events)
	if err != nil {
		return err
	}
	return a.document(map[string]any{"id": id, "messages": utterances})
}

// showCost shows what a run, or a part of it, consumed.
func (a *app) showCost(events iter.Seq2[plan.Event, error], id plan.RunID) error {
	used, err := costs.Of(events)
	if err != nil {
		return err
	}
	return a.view(costs.NewDocument(id, used), func(w io.Writer) error {
		return render.WriteCosts(w, used, a.viewing())
	})
}

// showPlan shows a version of a run's plan, or what it changed.
func (a *app) showPlan(run *engine.Run, opts showOptions) error {
	if opts.diff {
		diff, err := host.PlanChange(run, opts.version)
		if err != nil {
			return err
		}
		return a.view(diff, func(w io.Writer) error { return render.WritePlanDiff(w, diff, a.viewing()) })
	}
	doc, err := host.PlanVersion(run, opts.version)
	if err != nil {
		return err
	}
	return a.view(doc, func(w io.Writer) error { return render.WriteProse(w, doc.Text, a.viewing()) })
}
