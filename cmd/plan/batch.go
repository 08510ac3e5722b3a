package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/command"
	"github.com/plan-engine/plan/cmd/plan/machines"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
)

func (a *app) batchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "batch",
		Short: "Run many jobs: one request over many repositories, or many over one",
		Long: `Batch runs many jobs side by side, each as a run of its own in a work tree of its
own, on the branch plan/BATCH/JOB. The queue is on disk: whatever happens to the
process, "plan batch resume" goes on where each job stood.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		a.batchRunCommand(),
		a.machines().Resume(a.batchResumeCommand()),
		a.batchContinueCommand(),
		a.machines().Retry(a.batchRetryCommand()),
		a.machines().Cancel(a.batchCancelCommand()),
		a.machines().List(a.batchListCommand()),
		a.machines().Show(a.batchShowCommand("show")),
		a.machines().Show(a.batchShowCommand("status")),
		a.machines().Report(a.batchReportCommand()),
		a.machines().Export(a.batchExportCommand()),
		a.batchApplyCommand(),
		a.batchPublishCommand(),
		a.batchDecideCommand("approve", "Approve the plan that a batch shares", true),
		a.batchDecideCommand("deny", "Send the plan that a batch shares back, or reject it", false),
	)
	return cmd
}

// batches are those of the home.
func (a *app) batches() *batches.Batches { return batches.New(a.host) }

// machines are the commands for many machines.
func (a *app) machines() machines.Program {
	return machines.New(a.host, a.out, a.batchView, a.answer, a.confirm, a.interruptible, a.note)
}

func (a *app) batchRunCommand() *cobra.Command {
	var flags batchFlags
	var from jobSource
	var add batches.NewBatch
	var queue string
	cmd := &cobra.Command{
		Use:   "run [JOBS.yaml|JOBS.jsonl|-]",
		Short: "Start a batch",
		Long: `Run reads a list of jobs, looks at all of it before anything starts, and runs
them. A list is YAML, or one JSON object a line:

  defaults:                     for all jobs; every key but id
    checks: [go test ./...]
    request: Move {{repo}} to Go {{go}}.
  jobs:
    - id: auth                  names the job and its branch
      repo: ../auth             a path, or a URL that git clones
      ref: main                 default: what HEAD stands at
      vars: {go: "1.25"}        put where {{go}} stands
      priority: 1               higher goes first
      model: gpt-5              also phases: {review: NAME}, setup: CMD
      needs: [anthropic]        with --queue: providers that a worker must have
      limits: {max_cost: 2, max_turns: 50, timeout: 30m}

Running the same list twice does nothing twice: the second time says how the
batch stands. It exits with 0 only if every job was approved, with 3 if some
were not, with 4 while a shared plan waits for a person, and with 130 after
Ctrl-C, which parks the jobs that run.`,
		Example: `  plan batch run jobs.yaml --concurrency 8
  plan batch run jobs.yaml --limit 3           a canary; then: plan batch resume --limit 0
  plan batch run --repos repos.txt --request "Replace ioutil by os and io"
  plan batch run jobs.yaml --shared-plan       then: plan batch approve, resume
  generate | plan batch run - --max-cost 50 --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := flags.options(cmd)
			if err != nil {
				return err
			}
			if add.Limit < 0 {
				return usage("--limit cannot be negative")
			}
			from.file = strings.Join(args, "")
			list, name, err := a.readJobs(from)
			if err != nil {
				return err
			}
			add.Jobs = list.Merge(opts.Settings)
			add.Name = name
			flags.applyTo(cmd, &add.Settings)
			add.Settings.PlanJob, err = batches.ChoosePlanJob(add.Jobs, from.sharedPlan, from.planJob)
			if err != nil {
				return err
			}
			if queue != "" {
				return a.machines().Add(cmd, queue, add)
			}
			return a.addBatch(cmd.Context(), add, opts)
		},
	}
	flags.register(cmd)
	fl := cmd.Flags()
	fl.IntVar(&add.Limit, "limit", 0, "start only `N` jobs for now; \"plan batch resume --limit 0\" starts the others")
	fl.BoolVar(&add.Again, "new", false, "start another batch although there is one of the same jobs")
	from.register(cmd)
	machines.AddFlag(cmd, &queue)
	return cmd
}

func (a *app) batchResumeCommand() *cobra.Command {
	var limit int
	cmd := a.reopenCommand(&cobra.Command{
		Use:   "resume [BATCH]",
		Short: "Go on with a batch where each of its jobs stood",
		Long: `Resume goes on with the jobs that were running, that are parked or that never
began; jobs that have ended stay as they are. Without BATCH it takes the newest.`,
		Example: "  plan batch resume\n  plan batch resume 01JX --concurrency 4 --max-cost 100\n" +
			"  plan batch resume 01JX --limit 0             the jobs that --limit held back, too",
		PreRunE: func(*cobra.Command, []string) error {
			if limit > 0 {
				return usage("--limit %d: a batch that goes on keeps its limit, or has none with 0", limit)
			}
			return nil
		},
	}, func(ctx context.Context, prefix string, change batches.Change) (string, error) {
		if limit == 0 {
			return a.batches().Continue(ctx, prefix, change)
		}
		return a.batches().Resume(ctx, prefix, change)
	})
	cmd.Flags().IntVar(&limit, "limit", -1, "with 0: start also the jobs that --limit of batch run has held back")
	return cmd
}

func (a *app) batchContinueCommand() *cobra.Command {
	cmd := a.reopenCommand(&cobra.Command{
		Use:   "continue [BATCH]",
		Short: "Start the jobs that --limit has held back",
		Long:  `Continue is resume without the limit on how many jobs may be started.`,
	}, func(ctx context.Context, prefix string, change batches.Change) (string, error) {
		return a.batches().Continue(ctx, prefix, change)
	})
	command.Old(cmd, "batch resume --limit 0", a.note)
	return cmd
}

func (a *app) batchRetryCommand() *cobra.Command {
	var everything bool
	var only []string
	cmd := a.reopenCommand(&cobra.Command{
		Use:   "retry [BATCH]",
		Short: "Run jobs again that were not approved",
		Long: `Retry runs jobs from the beginning that have failed or were cancelled: all that
failed, or those that --only names. What is approved is never run again.`,
		Example: `  plan batch retry 01JX --failed
  plan batch retry 01JX --only auth --only billing`,
		PreRunE: func(*cobra.Command, []string) error {
			if everything == (len(only) > 0) {
				return usage("say which jobs: --failed, or --only ID")
			}
			return nil
		},
	}, func(ctx context.Context, prefix string, change batches.Change) (string, error) {
		return a.batches().Retry(ctx, prefix, only, change)
	})
	cmd.Flags().BoolVar(&everything, "failed", false, "all jobs that failed")
	cmd.Flags().StringSliceVar(&only, "only", nil, "the jobs of these `ID`s (repeatable, or with commas)")
	return cmd
}

// reopenCommand makes a command that puts jobs of a batch back into its queue, and
// drives it.
func (a *app) reopenCommand(
	cmd *cobra.Command,
	reopen func(ctx context.Context, prefix string, change batches.Change) (string, error),
) *cobra.Command {
	var flags batchFlags
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opts, err := flags.options(cmd)
		if err != nil {
			return err
		}
		id, err := reopen(cmd.Context(), strings.Join(args, ""), func(s *batches.Settings) error {
			flags.applyTo(cmd, s)
			return nil
		})
		if err != nil {
			return err
		}
		return a.driveBatch(cmd.Context(), id, opts)
	}
	flags.register(cmd)
	return cmd
}

func (a *app) batchCancelCommand() *cobra.Command {
	var only []string
	cmd := &cobra.Command{
		Use:   "cancel BATCH",
		Short: "End a batch, or some of its jobs, for good",
		Long: `Cancel ends the jobs that have not ended yet, and their runs. Jobs that another
process runs are asked to stop.`,
		Example: `  plan batch cancel 01JX
  plan batch cancel 01JX --only auth`,
		Args: oneArg("the id of a batch, or a prefix of it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, n, err := a.batches().Cancel(cmd.Context(), args[0], only)
			if err != nil {
				return err
			}
			return a.confirm(plan.RunID(id), render.Count(n, "job")+" cancelled")
		},
	}
	cmd.Flags().StringSliceVar(&only, "only", nil, "only the jobs of these `ID`s (repeatable, or with commas)")
	return cmd
}

// batchDecideCommand makes a command that decides about the shared plan.
func (a *app) batchDecideCommand(use, short string, approve bool) *cobra.Command {
	flags := decisionFlags{approve: approve}
	example := "  plan batch deny 01JX --comment \"Keep the old flag working\"\n  plan batch deny 01JX --reject"
	if approve {
		example = "  plan batch approve 01JX\n  plan batch approve 01JX --plan edited.md"
	}
	cmd := &cobra.Command{
		Use:   use + " [BATCH]",
		Short: short,
		Long: `The plan of a batch that was started with --shared-plan waits for this. See it
with "plan show RUN --plan"; after this, "plan batch resume" goes on.

With --queue it is about the plan, or the call, that one job of the batch waits with;
see it with --show. The job is queued again, and goes on.`,
		Example: example,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := flags.decision(a, nil)
			if err != nil {
				return err
			}
			d.Show = func(call plan.WaitingCall) { render.WriteCall(a.forPeople(), call) }
			id, err := a.batches().Decide(cmd.Context(), strings.Join(args, ""), d)
			if err != nil {
				return err
			}
			return a.confirmLetter(plan.RunID(id), "resume", "it is decided; go on with: plan batch resume "+id, nil)
		},
	}
	flags.registerForPlan(cmd)
	return a.machines().Decide(
		cmd,
		func() (host.Decision, error) { return flags.decision(a, nil) },
		func(call plan.WaitingCall) { render.WriteCall(a.forPeople(), call) },
	)
}
