package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/runflags"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

func (a *app) resumeCommand() *cobra.Command {
	var flags runflags.Flags
	var choice driftFlags
	var due bool
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Go on with a run where its journal ends",
		Long: `Resume goes on with a run that parked, was interrupted or was killed: in the
same phase, turn and conversation. Without RUN it takes the newest run that is
not final; with -C, the newest one of that repository. A flag that is given
replaces what the run went on with before; what is not given stays as it was,
whatever default is shown below.

If the work tree changed since the run stopped, and not by its own hand, the run
parks and says what changed. Then choose: --accept-drift goes on, and the model
is told; --replan gives the plan up and makes another one.

With --due it goes on with every run whose rate limit is over, one after
another, which is meant for cron. It never takes runs that wait for a person.`,
		Example: `  plan resume
  plan resume 01JX --max-turns 200
  plan resume 01JX --model another-model
  plan resume 01JX --replan --reason "use the new cache package"
  plan resume --due --json                   in a crontab`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := flags.Options(cmd)
			if err != nil {
				return err
			}
			if err := choice.applyTo(&opts); err != nil {
				return err
			}
			switch {
			case due && len(args) > 0:
				return usage("--due takes all runs that are due, and no RUN")
			case due:
				return a.resumeDue(cmd, opts)
			}
			return a.resume(cmd, strings.Join(args, ""), opts)
		},
	}
	flags.Register(cmd)
	choice.register(cmd)
	cmd.Flags().BoolVar(&due, "due", false, "go on with every run whose rate limit is over, one after another")
	return cmd
}

// driftFlags are what a person says about a changed tree.
type driftFlags struct {
	accept, replan bool
	reason         string
}

func (f *driftFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.accept, "accept-drift", false,
		"go on although the work tree changed; the model is told which files")
	cmd.Flags().BoolVar(&f.replan, "replan", false, "give the plan up and make another one")
	cmd.Flags().StringVar(&f.reason, "reason", "", "with --replan: a `TEXT` that the planner reads")
	cmd.MarkFlagsMutuallyExclusive("accept-drift", "replan")
}

func (f *driftFlags) applyTo(o *host.Options) error {
	switch {
	case f.reason != "" && !f.replan:
		return usage("--reason belongs to --replan")
	case f.accept:
		o.OnDrift = engine.DriftGoesOn
	case f.replan:
		o.OnDrift = engine.DriftReplans
		o.Replan = cmp.Or(f.reason, host.DefaultReplanReason)
	}
	return nil
}

// resume goes on with a run; an empty prefix means the newest that is not final.
func (a *app) resume(cmd *cobra.Command, prefix string, o host.Options) error {
	find := func() (plan.RunID, error) { return a.host.ResolveAt(cmd.Context(), prefix, a.dir) }
	if prefix == "" {
		named := a.namedDir(cmd) != ""
		find = func() (plan.RunID, error) { return a.host.Newest(cmd.Context(), a.dir, !named) }
	}
	id, err := find()
	if err != nil {
		return err
	}
	if info, err := a.host.Info(cmd.Context(), id); err == nil && !info.State.Final() {
		fmt.Fprintf(a.err, "plan: going on with %s\n", render.Naming(info))
	}
	return a.resumeRun(cmd.Context(), id, o)
}

// namedDir is the directory that -C names, "" where it was not given.
func (a *app) namedDir(cmd *cobra.Command) string {
	if !cmd.Flag("directory").Changed {
		return ""
	}
	return a.dir
}

// resumeRun goes on with one run. One that is final has its own exit code.
func (a *app) resumeRun(ctx context.Context, id plan.RunID, o host.Options) error {
	err := a.drive(ctx, func(ctx context.Context, face host.Face) (host.End, error) {
		return a.host.Resume(ctx, id, o, face)
	})
	var final *host.FinalError
	if errors.As(err, &final) {
		fmt.Fprintf(a.err, "plan: %s. %s\n", render.SafeLine(final.Error()), final.Hint())
		return exitWith(final.State.ExitCode())
	}
	return err
}

// resumeDue goes on with every run whose time has come, and ends as the worst of
// them did.
func (a *app) resumeDue(cmd *cobra.Command, o host.Options) error {
	worst, n, err := a.host.EachDue(cmd.Context(), a.namedDir(cmd), func(id plan.RunID) int {
		return a.resumeOneDue(cmd.Context(), id, o)
	})
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintln(a.err, "plan: no run is due")
	}
	return exitWith(worst)
}

// resumeOneDue goes on with one run and returns the exit code that it would have
// alone. What another process took in the meantime is left to it.
func (a *app) resumeOneDue(ctx context.Context, id plan.RunID, o host.Options) int {
	err := a.resumeRun(ctx, id, o)
	var held *memory.HeldError
	switch {
	case err == nil:
		return plan.ExitOK
	case errors.As(err, &held):
		fmt.Fprintf(a.err, "plan: %s\n", render.SafeLine(held.Error()))
		return plan.ExitOK
	}
	return a.ended(failed(err), "plan resume")
}
