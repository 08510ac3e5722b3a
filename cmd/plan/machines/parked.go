package machines

import (
	"context"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// Resume gives `plan batch resume` --queue.
func (p Program) Resume(cmd *cobra.Command) *cobra.Command {
	count := []string{"max-cost", "max-tokens"}
	return p.at(cmd, count, func(ctx context.Context, q *batches.Queued, args []string) error {
		raise, err := raised(cmd)
		if err != nil {
			return err
		}
		id, n, err := q.Resume(ctx, strings.Join(args, ""), raise)
		if err != nil {
			return err
		}
		return p.confirm(plan.RunID(id), render.Count(n, "job")+" queued again")
	})
}

// Tell gives `plan tell` and `plan answer` --queue, where a run is that of a job. Letter is
// what the command was given.
func (p Program) Tell(cmd *cobra.Command, letter func(text []string) host.Letter) *cobra.Command {
	return p.at(cmd, []string{"after", "replan"}, func(ctx context.Context, q *batches.Queued, args []string) error {
		run, again, err := q.Tell(ctx, args[0], letter(args[1:]))
		if err != nil {
			return err
		}
		outcome := "it is in the queue for the worker that has the run"
		if again {
			outcome = "answered; its job is queued again"
		}
		return p.confirm(run, outcome)
	})
}

// Events gives `plan events` and `plan show --events` --queue, where a run is that of a job.
// Check looks at the command's own flags.
func (p Program) Events(
	cmd *cobra.Command,
	check func() error,
	show func(iter.Seq2[memory.Line, error]) error,
) *cobra.Command {
	own := []string{"events", "follow", "after"}
	return p.at(cmd, own, func(ctx context.Context, q *batches.Queued, args []string) error {
		if err := check(); err != nil {
			return err
		}
		only := cmd.Flags().Lookup("events") // one of several views, or all that there is
		if only != nil && !only.Changed || len(args) == 0 {
			return hint.Usage("the queue has the events of a job's run: plan show RUN --events --queue URL")
		}
		after, _ := cmd.Flags().GetInt64("after") // it has the flags
		follow, _ := cmd.Flags().GetBool("follow")
		ctx, stop := p.interruptible(ctx)
		defer stop()
		return show(q.Events(ctx, args[0], after, follow))
	})
}

// Retry gives `plan batch retry` --queue.
func (p Program) Retry(cmd *cobra.Command) *cobra.Command {
	count := []string{"only", "failed", "max-cost", "max-tokens"}
	return p.at(cmd, count, func(ctx context.Context, q *batches.Queued, args []string) error {
		only, _ := cmd.Flags().GetStringSlice("only") // it has the flag
		raise, err := raised(cmd)
		if err != nil {
			return err
		}
		id, n, err := q.Retry(ctx, strings.Join(args, ""), only, raise)
		if err != nil {
			return err
		}
		return p.confirm(plan.RunID(id), render.Count(n, "job")+" queued again")
	})
}

// raised is the budget that a command gives a batch.
func raised(cmd *cobra.Command) (to batches.Settings, err error) {
	to.MaxCost, _ = cmd.Flags().GetFloat64("max-cost") // it has the flags
	to.MaxTokens, _ = cmd.Flags().GetInt64("max-tokens")
	given := cmd.Flags().Changed
	if given("max-cost") && to.MaxCost <= 0 || given("max-tokens") && to.MaxTokens <= 0 {
		return to, hint.Usage("--max-cost and --max-tokens give a batch of a queue another budget, more than 0")
	}
	return to, nil
}

// Decide gives `plan batch approve` and `deny` --queue, where a decision is about what one
// job waits with. Decision reads the command's own flags.
func (p Program) Decide(
	cmd *cobra.Command,
	decision func() (host.Decision, error),
	display func(plan.WaitingCall),
) *cobra.Command {
	var job, digest string
	var show bool
	own := []string{"job", "digest", "show"}
	here := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.ContainsFunc(own, cmd.Flags().Changed) {
			return hint.Usage(
				"--job, --digest and --show go with --queue; here one run is decided about with: plan %s RUN",
				cmd.Name(),
			)
		}
		return here(cmd, args)
	}
	count := append([]string{"reason", "plan", "comment", "reject"}, own...)
	cmd = p.at(cmd, count, func(ctx context.Context, q *batches.Queued, args []string) error {
		prefix := strings.Join(args, "")
		if show {
			_, waiting, err := q.Waiting(ctx, prefix, job)
			if err != nil {
				return err
			}
			return p.answer(waiting, func(w io.Writer) error { return render.WaitingJobs(w, waiting) })
		}
		d, err := decision()
		if err != nil {
			return err
		}
		d.Digest = digest
		d.Show = display
		id, decided, err := q.Decide(ctx, prefix, job, d)
		if err != nil {
			return err
		}
		return p.confirm(plan.RunID(id), "it is decided; job "+decided+" is queued again")
	})
	fl := cmd.Flags()
	fl.StringVar(&job, "job", "", "with --queue: the job `ID` that is meant, where several wait")
	fl.StringVar(&digest, "digest", "", "with --queue: decide only if what waits has this `DIGEST`")
	fl.BoolVar(&show, "show", false, "with --queue: show what waits, and decide nothing")
	return cmd
}

// Publish gives `plan batch publish` --queue. Publish is what the command does, with
// another batch.
func (p Program) Publish(
	cmd *cobra.Command,
	publish func(prefix string, do Publisher) error,
) *cobra.Command {
	count := []string{"publish", "dry-run", "retry", "run-hooks", "interval", "keep-going", "only"}
	return p.at(cmd, count, func(_ context.Context, q *batches.Queued, args []string) error {
		return publish(strings.Join(args, ""), q.Publish)
	})
}

// Publisher publishes a batch.
type Publisher func(ctx context.Context, prefix string, how batches.Publish) ([]batches.Published, error)
