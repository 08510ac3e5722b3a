package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/cmd/plan/runflags"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
)

// batchFlags are the flags of the commands that drive a batch.
type batchFlags struct {
	runflags.Flags
	concurrency int
	failFast    bool
}

func (f *batchFlags) register(cmd *cobra.Command) {
	f.Register(cmd)
	fl := cmd.Flags()
	fl.Lookup("max-cost").Usage = "park what is left once the batch has cost `USD` (0: no limit)"
	fl.Lookup("max-tokens").Usage = "park what is left once the batch has used `N` tokens, input and output (0: " +
		"no limit)"
	fl.Lookup("timeout").Usage = "park what is left after `D`, such as 8h (0: no limit)"
	fl.Lookup("wait").Usage = "sleep through rate limits and outages instead of parking jobs (default)"
	for _, name := range []string{"record", "replay"} {
		fl.Lookup(name).Hidden = true // a recording is of one run
	}
	fl.IntVar(&f.concurrency, "concurrency", 0,
		"run `N` jobs at the same time (default: twice the cores, at least 4)")
	fl.BoolVar(&f.failFast, "fail-fast", false, "start no further job once one has ended without approval")
}

// options reads what the flags say of each run. The limits are those of the whole
// batch, which over has.
func (f *batchFlags) options(cmd *cobra.Command) (host.Options, error) {
	o, err := f.Options(cmd)
	changed := cmd.Flags().Changed
	switch {
	case err != nil:
		return o, err
	case changed("record") || changed("replay"):
		return o, usage("--record and --replay are for single runs")
	case f.concurrency < 0 || f.concurrency > 1024:
		return o, usage("--concurrency must be between 1 and 1024")
	}
	o.Settings.MaxCost = 0
	o.Settings.MaxTokens = 0
	o.Settings.Timeout = config.Of(0)
	o.NoCost = false
	o.NoTokens = false
	o.NoTimeout = false
	return o, nil
}

// applyTo lays what the flags say of the whole batch over how it was driven before.
func (f *batchFlags) applyTo(cmd *cobra.Command, s *batches.Settings) {
	changed := cmd.Flags().Changed
	if changed("concurrency") {
		s.Concurrency = f.concurrency
	}
	if changed("fail-fast") {
		s.FailFast = f.failFast
	}
	if changed("max-cost") {
		s.MaxCost = f.Cost
	}
	if changed("max-tokens") {
		s.MaxTokens = f.Tokens
	}
	if changed("timeout") {
		s.Timeout = config.Of(f.Timeout)
	}
}

// jobSource says where jobs come from.
type jobSource struct {
	file, repos, request string
	planJob              string
	sharedPlan           bool
}

func (s *jobSource) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&s.repos, "repos", "",
		"one job for each repository in `FILE`: a path or URL a line (- for standard input)")
	fl.StringVar(&s.request, "request", "", "with --repos: what should change, as `TEXT`")
	fl.BoolVar(&s.sharedPlan, "shared-plan", false,
		"plan one job first, have a person approve it (plan batch approve), "+
			"and show that plan to the others when they make theirs")
	fl.StringVar(&s.planJob, "plan-job", "", "with --shared-plan: the job `ID` to plan first (default: the first)")
	cmd.MarkFlagsRequiredTogether("repos", "request")
}

// readJobs reads the list of jobs.
func (a *app) readJobs(from jobSource) (*batch.List, string, error) {
	path := from.file
	switch {
	case path != "" && from.repos != "":
		return nil, "", usage("a list of jobs and --repos do not go together")
	case path == "" && from.repos == "":
		return nil, "", usage("name a list of jobs, or give --repos and --request; " +
			"`plan batch run --help` shows what a list looks like")
	case path == "":
		path = from.repos
	}
	list, name, err := batches.ReadJobs(batches.JobFile{
		Path:    path,
		Input:   a.in,
		Dir:     a.dir,
		Repos:   from.repos != "",
		Request: from.request,
	})
	var invalid *batch.InvalidError
	if errors.As(err, &invalid) { // complain would make its lines one
		fmt.Fprintf(a.err, "plan: %s\n", render.SafeText(invalid.Error()))
		return nil, "", exitWith(plan.ExitFailed)
	}
	return list, name, err
}

// addBatch stores a batch and drives it. Where there is one of the same jobs it
// says how that one stands, and ends as if it had driven it.
func (a *app) addBatch(ctx context.Context, add batches.NewBatch, o host.Options) error {
	id, err := a.batches().Add(ctx, add)
	var same *batches.SameJobsError
	if errors.As(err, &same) {
		return errors.Join(render.SameJobs(a.err, same.Batch), exitWith(same.Batch.ExitCode))
	}
	if err != nil {
		return err
	}
	return a.driveBatch(ctx, id, o)
}

func (a *app) batchView() *render.BatchView {
	return render.NewBatchView(render.BatchViewConfig{
		Out:     a.out,
		Notes:   a.err,
		Options: a.viewing(),
		JSON:    a.json,
		Screen:  a.onTerminal(),
	})
}

// driveBatch drives a batch, shows it, and returns the exit code as an error.
func (a *app) driveBatch(ctx context.Context, id string, o host.Options) error {
	ctx, release := a.interruptible(ctx)
	defer release()
	view := a.batchView()
	out, err := a.batches().Drive(ctx, id, o, view.View())
	wrong := view.Close()
	switch {
	case err != nil && errors.Is(context.Cause(ctx), engine.ErrInterrupted):
		return &exit{code: plan.ExitInterrupted, err: err}
	case err != nil:
		return err
	}
	render.BatchOutcome(a.forPeople(), out)
	if wrong != nil {
		return fmt.Errorf("the batch came to its end, but not all of its output could be written: %w", wrong)
	}
	return exitWith(out.ExitCode())
}
