// Package machines has the commands by which batches are run on several machines:
// `plan queue serve`, `plan worker`, and --queue of the commands of `plan batch`.
package machines

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/cmd/plan/runflags"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/hint"
)

// Program is what these commands need of the program that they are of.
type Program struct {
	host          *host.Host
	out           io.Writer
	view          func() *render.BatchView
	answer        func(document any, text func(io.Writer) error) error
	confirm       func(id plan.RunID, what string) error
	interruptible func(context.Context) (context.Context, func())
	note          func(text string)
}

// New makes the commands of a program.
func New(
	h *host.Host,
	out io.Writer,
	view func() *render.BatchView,
	answer func(document any, text func(io.Writer) error) error,
	confirm func(id plan.RunID, what string) error,
	interruptible func(context.Context) (context.Context, func()),
	note func(text string),
) Program {
	return Program{
		host:          h,
		out:           out,
		view:          view,
		answer:        answer,
		confirm:       confirm,
		interruptible: interruptible,
		note:          note,
	}
}

// Queue makes `plan queue`.
func (p Program) Queue() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Serve a queue from which workers on several machines take jobs",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.serve(), p.gc())
	return cmd
}

// Worker makes `plan worker`.
func (p Program) Worker() *cobra.Command {
	var url string
	var how batches.Work
	var flags runflags.Flags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Take jobs from a queue and run them on this machine",
		Long: `Worker runs jobs of a queue with the keys, settings and git credentials of this
machine, until it is interrupted: then it gives back what it was at. A home has one
worker. What jobs may ask for is bounded; see docs/machines.md.`,
		Example: `  plan worker --queue nats://127.0.0.1:4222 --concurrency 8
  plan worker --queue nats://127.0.0.1:4222 --drain`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if url == "" {
				return hint.Usage("name the queue: --queue URL")
			}
			o, err := flags.Options(cmd)
			if err != nil {
				return err
			}
			store, err := p.open(cmd.Context(), url)
			if err != nil {
				return err
			}
			defer store.Close()
			ctx, release := p.interruptible(cmd.Context())
			defer release()
			view := p.view()
			err = batches.New(p.host).Work(ctx, store, how, o, view.View())
			return errors.Join(err, view.Close())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&url, "queue", "", queueUsage)
	fl.IntVar(&how.Concurrency, "concurrency", 0,
		"run `N` jobs at the same time (default: twice the cores, at least 4)")
	fl.BoolVar(&how.Drain, "drain", false, "end once no job is left to take")
	fl.StringArrayVar(&how.Repos, "repo", nil,
		"take jobs whose repository begins with `URL` (repeatable; default: https:// and ssh://)")
	flags.RegisterLooking(cmd)
	return cmd
}

// at lets a command of `plan batch` do its work on a queue. Of its own flags, those
// that are named count there, and others are refused.
func (p Program) at(
	cmd *cobra.Command,
	count []string,
	do func(ctx context.Context, q *batches.Queued, args []string) error,
) *cobra.Command {
	var url string
	cmd.Flags().StringVar(&url, "queue", "", queueUsage)
	here := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if url == "" {
			return here(cmd, args)
		}
		if given := otherFlags(cmd, count); len(given) > 0 {
			return hint.Usage("%s: not with --queue, where a job runs as it was put into the queue; leave it out, or "+
				"start another batch: plan batch run --new --queue", strings.Join(given, ", "))
		}
		return p.with(cmd.Context(), url, func(q *batches.Queued) error { return do(cmd.Context(), q, args) })
	}
	return cmd
}

func (p Program) with(ctx context.Context, url string, do func(*batches.Queued) error) error {
	store, err := p.open(ctx, url)
	if err != nil {
		return err
	}
	defer store.Close()
	return do(batches.New(p.host).Queued(store))
}

// Add puts a batch into the queue at a URL. The command is that which was given it.
func (p Program) Add(cmd *cobra.Command, url string, add batches.NewBatch) error {
	var theirs, none []string
	for _, name := range otherFlags(cmd, []string{
		"new", "repos", "request", "model", "check", "max-turns", "max-review-cycles", "way", "plan-size",
		"critique", "wait", "phase-model", "phase-limit", "max-cost", "max-tokens",
	}) {
		if slices.Contains([]string{
			"--auto-approve", "--base-url", "--compaction", "--concurrency", "--force", "--sandbox",
		}, name) {
			theirs = append(theirs, name)
			continue
		}
		none = append(none, name)
	}
	switch {
	case theirs != nil:
		return hint.Usage("%s: workers say that of the jobs that they run; give it to plan worker",
			strings.Join(theirs, ", "))
	case none != nil:
		return hint.Usage("%s: not there with --queue yet; leave it out, or bound each job by the limits of the list",
			strings.Join(none, ", "))
	}
	return p.with(cmd.Context(), url, func(q *batches.Queued) error {
		id, err := q.Add(cmd.Context(), add)
		if err != nil {
			return err
		}
		return p.confirm(plan.RunID(id), render.Count(len(add.Jobs), "job")+" queued")
	})
}

// otherFlags are the flags that a command of its own was given, beside --queue and
// those that are named.
func otherFlags(cmd *cobra.Command, named []string) (given []string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "queue" && !slices.Contains(named, f.Name) && cmd.InheritedFlags().Lookup(f.Name) == nil {
			given = append(given, "--"+f.Name)
		}
	})
	return given
}

// AddFlag adds --queue to the command that starts a batch.
func AddFlag(cmd *cobra.Command, url *string) {
	cmd.Flags().StringVar(url, "queue", "", queueUsage)
}

// List gives `plan batch list` --queue.
func (p Program) List(cmd *cobra.Command) *cobra.Command {
	return p.at(cmd, nil, func(ctx context.Context, q *batches.Queued, _ []string) error {
		list, err := q.List(ctx)
		if err != nil {
			return err
		}
		return p.answer(list, func(w io.Writer) error {
			return render.UnlessReaderLeft(render.Batches(w, list, p.host.Now()))
		})
	})
}

// Show gives `plan batch show` and `status` --queue.
func (p Program) Show(cmd *cobra.Command) *cobra.Command {
	return p.at(cmd, nil, func(ctx context.Context, q *batches.Queued, args []string) error {
		b, err := q.Show(ctx, strings.Join(args, ""))
		if err != nil {
			return err
		}
		return p.answer(b, func(w io.Writer) error {
			return render.UnlessReaderLeft(render.Batch(w, b, cmd.Name() == "status"))
		})
	})
}

// Report gives `plan batch report` --queue.
func (p Program) Report(cmd *cobra.Command) *cobra.Command {
	return p.at(cmd, []string{"format", "output"}, func(ctx context.Context, q *batches.Queued, args []string) error {
		format, _ := cmd.Flags().GetString("format") // it has both flags
		file, _ := cmd.Flags().GetString("output")
		if asJSON, _ := cmd.Flags().GetBool("json"); asJSON && !cmd.Flags().Changed("format") {
			format = "json"
		}
		if !slices.Contains(batch.Formats(), format) {
			return hint.Usage("--format %q: the formats are %s", format, strings.Join(batch.Formats(), ", "))
		}
		report, err := q.Report(ctx, strings.Join(args, ""))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := report.Write(&out, format); err != nil {
			return err
		}
		if file != "" && file != "-" {
			return os.WriteFile(file, out.Bytes(), 0o644)
		}
		_, err = io.Copy(p.out, &out)
		return render.UnlessReaderLeft(err)
	})
}

// Cancel gives `plan batch cancel` --queue.
func (p Program) Cancel(cmd *cobra.Command) *cobra.Command {
	return p.at(cmd, []string{"only"}, func(ctx context.Context, q *batches.Queued, args []string) error {
		only, _ := cmd.Flags().GetStringSlice("only") // it has the flag
		id, n, err := q.Cancel(ctx, args[0], only)
		if err != nil {
			return err
		}
		return p.confirm(plan.RunID(id), render.Count(n, "job")+" cancelled")
	})
}

// Export gives `plan batch export` --queue.
func (p Program) Export(cmd *cobra.Command) *cobra.Command {
	count := []string{"patches", "branches", "anyway"}
	return p.at(cmd, count, func(ctx context.Context, q *batches.Queued, args []string) error {
		dir, _ := cmd.Flags().GetString("patches") // it has the flags
		every, _ := cmd.Flags().GetBool("anyway")
		if dir == "" || cmd.Flags().Changed("branches") {
			return hint.Usage("with --queue the branches are on the workers: write patches with --patches DIR, " +
				"and bring one to a clone with git apply --3way")
		}
		exported, err := q.ExportPatches(ctx, strings.Join(args, ""), dir, every)
		if exported == nil {
			return err
		}
		return errors.Join(err, p.answer(exported, func(w io.Writer) error { return render.JobsExported(w, exported) }))
	})
}
