package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
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
		a.batchResumeCommand(),
		a.batchContinueCommand(),
		a.batchRetryCommand(),
		a.batchCancelCommand(),
		a.batchListCommand(),
		a.batchShowCommand("show"),
		a.batchShowCommand("status"),
		a.batchReportCommand(),
		a.batchExportCommand(),
		a.batchApplyCommand(),
		a.batchPublishCommand(),
		a.batchRuleCommand("approve", "Approve the plan that a batch shares", loop.Approve),
		a.batchRuleCommand("deny", "Send the plan that a batch shares back, or reject it", loop.Deny),
	)
	return cmd
}

// batchFlags are the flags of the commands that drive a batch.
type batchFlags struct {
	runFlags
	concurrency int
	failFast    bool
	most        int
}

func (f *batchFlags) register(cmd *cobra.Command) {
	f.runFlags.register(cmd)
	fl := cmd.Flags()
	fl.Lookup("max-cost").Usage = "park what is left once the batch has cost `USD` (0: no limit)"
	fl.Lookup("max-tokens").Usage = "park what is left once the batch has used `N` tokens, input and output (0: no limit)"
	fl.Lookup("timeout").Usage = "park what is left after `D`, such as 8h (0: no limit)"
	fl.Lookup("wait").Usage = "sleep through rate limits instead of parking jobs (default)"
	for _, name := range []string{"record", "replay"} {
		fl.Lookup(name).Hidden = true // a recording is of one run
	}
	fl.IntVar(
		&f.concurrency,
		"concurrency",
		0,
		"run `N` jobs at the same time (default: twice the cores, at least 4)",
	)
	fl.BoolVar(&f.failFast, "fail-fast", false, "start no further job once one has ended without approval")
}

// over lays what was said over how a batch was driven before. What is said for
// the whole batch is taken out of what is said for each run.
func (f *batchFlags) over(cmd *cobra.Command, s *batchSettings) (said, error) {
	given, err := f.said(cmd)
	if err != nil {
		return given, err
	}
	changed := cmd.Flags().Changed
	switch {
	case changed("record") || changed("replay"):
		return given, usage("--record and --replay are for single runs")
	case f.concurrency < 0 || f.concurrency > 1024:
		return given, usage("--concurrency must be between 1 and 1024")
	case f.most < 0:
		return given, usage("--limit cannot be negative")
	}
	if changed("concurrency") {
		s.Concurrency = f.concurrency
	}
	if changed("fail-fast") {
		s.FailFast = f.failFast
	}
	if changed("max-cost") {
		s.MaxCost = f.cost
	}
	if changed("max-tokens") {
		s.MaxTokens = f.tokens
	}
	if changed("timeout") {
		s.Timeout = given.Timeout
	}
	given.MaxCost, given.MaxTokens, given.Timeout.Duration = 0, 0, 0
	given.noCost, given.noTokens, given.noTimeout = false, false, false
	return given, nil
}

func (a *app) batchRunCommand() *cobra.Command {
	var flags batchFlags
	var from batchSource
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
      limits: {max_cost: 2, max_turns: 50, timeout: 30m}

Running the same list twice does nothing twice: the second time says how the
batch stands. It exits with 0 only if every job was approved, with 3 if some
were not, with 4 while a shared plan waits for a person, and with 130 after
Ctrl-C, which parks the jobs that run.`,
		Example: `  plan batch run jobs.yaml --concurrency 8
  plan batch run jobs.yaml --limit 3           a canary; then: plan batch continue
  plan batch run --repos repos.txt --request "Replace ioutil by os and io"
  plan batch run jobs.yaml --shared-plan       then: plan batch approve, resume
  generate | plan batch run - --max-cost 50 --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var settings batchSettings
			given, err := flags.over(cmd, &settings)
			if err != nil {
				return err
			}
			from.file = strings.Join(args, "")
			list, name, err := a.readJobs(from)
			if err != nil {
				return err
			}
			jobs := list.Merge(given.Config)
			if settings.PlanJob, err = choosePlanJob(jobs, from.sharedPlan, from.planJob); err != nil {
				return err
			}
			return a.batchStart(cmd.Context(), jobs, name, flags.most, from.anew, settings, given)
		},
	}
	flags.register(cmd)
	cmd.Flags().IntVar(
		&flags.most,
		"limit",
		0,
		"start only `N` jobs for now; \"plan batch continue\" starts the others",
	)
	cmd.Flags().BoolVar(&from.anew, "new", false, "start another batch although there is one of the same jobs")
	cmd.Flags().StringVar(
		&from.repos,
		"repos",
		"",
		"one job for each repository in `FILE`: a path or URL a line (- for standard input)",
	)
	cmd.Flags().StringVar(&from.request, "request", "", "with --repos: what should change, as `TEXT`")
	cmd.Flags().BoolVar(
		&from.sharedPlan,
		"shared-plan",
		false,
		"plan one job first, have a person approve it (plan batch approve), and show that plan to the others when they make theirs",
	)
	cmd.Flags().StringVar(
		&from.planJob,
		"plan-job",
		"",
		"with --shared-plan: the job `ID` to plan first (default: the first)",
	)
	cmd.MarkFlagsRequiredTogether("repos", "request")
	return cmd
}

// batchSource says where jobs come from.
type batchSource struct {
	file, repos, request string
	planJob              string
	anew, sharedPlan     bool
}

// readJobs reads the list of jobs.
func (a *app) readJobs(from batchSource) (*batch.List, string, error) {
	path := from.file
	switch {
	case path != "" && from.repos != "":
		return nil, "", usage("a list of jobs and --repos do not go together")
	case path == "" && from.repos == "":
		return nil, "", usage(
			"name a list of jobs, or give --repos and --request; `plan batch run --help` shows what a list looks like",
		)
	case path == "":
		path = from.repos
	}
	dir, in := a.dir, a.in
	name := "standard input"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, "", failed(fmt.Errorf("read the jobs: %w", err))
		}
		defer f.Close() //nolint:errcheck // only read
		dir, in, name = filepath.Dir(path), f, path
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", failed(err)
	}
	src := batch.Source{Name: name, Dir: dir}
	var list *batch.List
	if from.repos != "" {
		list, err = batch.ForRepos(in, src, from.request)
	} else {
		list, err = batch.Read(in, src)
	}
	var invalid *batch.InvalidError
	if errors.As(err, &invalid) { // its lines would be made one
		fmt.Fprintf(a.err, "plan: %s\n", render.SafeText(invalid.Error()))
		return nil, "", &exit{code: plan.ExitFailed}
	}
	return list, name, failed(err)
}

func (a *app) batchResumeCommand() *cobra.Command {
	return a.batchAgain("resume [BATCH]", "Go on with a batch where each of its jobs stood",
		`Resume goes on with the jobs that were running, that are parked or that never
began; jobs that have ended stay as they are. Without BATCH it takes the newest.`,
		"  plan batch resume\n  plan batch resume 01JX --concurrency 4 --max-cost 100", false)
}

func (a *app) batchContinueCommand() *cobra.Command {
	return a.batchAgain("continue [BATCH]", "Start the jobs that --limit has held back",
		`Continue is resume without the limit on how many jobs may be started.`,
		"  plan batch continue 01JX", true)
}

func (a *app) batchAgain(use, short, long, example string, lift bool) *cobra.Command {
	var flags batchFlags
	cmd := &cobra.Command{
		Use:     use,
		Short:   short,
		Long:    long,
		Example: example,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.batchDrive(
				cmd,
				strings.Join(args, ""),
				&flags,
				func(ctx context.Context, db *memory.DB, b *memory.Batch) error {
					if lift {
						b.MaxStarts = 0
					}
					_, err := db.SetJobStates(
						ctx,
						b.ID,
						memory.JobQueued,
						[]memory.JobState{memory.JobParked},
						nil,
						false,
					)
					return failed(err)
				},
			)
		},
	}
	flags.register(cmd)
	return cmd
}

func (a *app) batchRetryCommand() *cobra.Command {
	var flags batchFlags
	var everything bool
	var only []string
	cmd := &cobra.Command{
		Use:   "retry [BATCH]",
		Short: "Run jobs again that were not approved",
		Long: `Retry runs jobs from the beginning that have failed or were cancelled: all that
failed, or those that --only names. What is approved is never run again.`,
		Example: `  plan batch retry 01JX --failed
  plan batch retry 01JX --only auth --only billing`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if everything == (len(only) > 0) {
				return usage("say which jobs: --failed, or --only ID")
			}
			return a.batchDrive(
				cmd,
				strings.Join(args, ""),
				&flags,
				func(ctx context.Context, db *memory.DB, b *memory.Batch) error {
					return a.requeue(ctx, db, b, only)
				},
			)
		},
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&everything, "failed", false, "all jobs that failed")
	cmd.Flags().StringSliceVar(&only, "only", nil, "the jobs of these `ID`s (repeatable, or with commas)")
	return cmd
}

// requeue puts jobs that have ended without approval into the queue. A run that
// has ended is followed by another one; any other goes on.
func (a *app) requeue(ctx context.Context, db *memory.DB, b *memory.Batch, only []string) error {
	jobs, err := db.Jobs(ctx, b.ID)
	if err != nil {
		return failed(err)
	}
	var anew, goOn []string
	known := map[string]bool{}
	for _, j := range jobs {
		known[j.ID] = true
		again := j.State == memory.JobFailed || j.State == memory.JobCancelled && len(only) > 0
		if !again || len(only) > 0 && !slices.Contains(only, j.ID) {
			continue
		}
		if info, err := db.Run(ctx, j.Run); err == nil && !info.State.Final() {
			goOn = append(goOn, j.ID)
		} else {
			anew = append(anew, j.ID)
		}
	}
	for _, id := range only {
		if !known[id] {
			return usage("batch %s has no job %q", b.ID, id)
		}
	}
	for _, group := range []struct {
		ids  []string
		anew bool
	}{{anew, true}, {goOn, false}} {
		if len(group.ids) == 0 {
			continue
		}
		states := []memory.JobState{memory.JobFailed, memory.JobCancelled}
		if _, err := db.SetJobStates(ctx, b.ID, memory.JobQueued, states, group.ids, group.anew); err != nil {
			return failed(err)
		}
	}
	return nil
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
			return a.withDB(
				cmd,
				func(ctx context.Context, db *memory.DB) error { return a.batchCancel(ctx, db, args[0], only) },
			)
		},
	}
	cmd.Flags().StringSliceVar(&only, "only", nil, "only the jobs of these `ID`s (repeatable, or with commas)")
	return cmd
}

func (a *app) batchCancel(ctx context.Context, db *memory.DB, prefix string, only []string) error {
	b, err := findBatch(ctx, db, prefix)
	if err != nil {
		return err
	}
	jobs, err := db.Jobs(ctx, b.ID)
	if err != nil {
		return failed(err)
	}
	open := []memory.JobState{memory.JobQueued, memory.JobRunning, memory.JobParked}
	n, err := db.SetJobStates(ctx, b.ID, memory.JobCancelled, open, only, false)
	if err != nil {
		return failed(err)
	}
	quiet := *a
	quiet.out = &strings.Builder{}
	for _, j := range jobs {
		if j.Run == "" || !slices.Contains(open, j.State) || len(only) > 0 && !slices.Contains(only, j.ID) {
			continue
		}
		if err := quiet.cancel(ctx, db, j.Run); err != nil && !errors.Is(err, memory.ErrNoRun) {
			a.note(fmt.Sprintf("job %s: %v", j.ID, err))
		}
	}
	return a.said(plan.RunID(b.ID), fmt.Sprintf("%s cancelled", render.Count(int(n), "job")))
}

// findBatch finds a batch by a prefix of its id.
func findBatch(ctx context.Context, db *memory.DB, prefix string) (memory.Batch, error) {
	b, err := db.Batch(ctx, prefix)
	if errors.Is(err, memory.ErrNoBatch) {
		err = &hinted{err, "`plan batch list` shows all batches; any beginning of an id that fits only one will do."}
	}
	return b, failed(err)
}
