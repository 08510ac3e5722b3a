package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/cmd/plan/pager"
	"github.com/plan-engine/plan/face/render"
)

func (a *app) diffCommand() *cobra.Command {
	var stat, thread bool
	cmd := &cobra.Command{
		Use:   "diff [RUN]",
		Short: "Show what a run changed",
		Long: `Diff shows the run's own changes, of the newest run of this repository where none
is named: from the tree as the run found it, dirt included, to the tree as the run left
it, or as it is now if the run is not final. On a terminal it comes in colours through
PAGER (less, unless set). In a pipe it is a patch that git apply takes; a file with
characters that act on a terminal is in it as git writes binary files.`,
		Example: `  plan diff 01JX
  plan diff 01JX --stat
  plan diff 01JX | git -C ../other apply --check`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := a.runOf(cmd.Context(), args)
			if err != nil {
				return err
			}
			return a.diff(cmd.Context(), id, stat, thread)
		},
	}
	cmd.Flags().BoolVar(&thread, "thread", false, "with what the runs changed that this one goes on from")
	cmd.Flags().BoolVar(&stat, "stat", false, "only say how much changed")
	return cmd
}

func (a *app) diff(ctx context.Context, id plan.RunID, stat, thread bool) error {
	run, err := a.host.Load(ctx, id)
	if err != nil {
		return err
	}
	c, err := a.host.ChangeOf(ctx, run)
	if thread {
		c, _, err = a.host.ThreadChangeOf(ctx, run)
	}
	if err != nil {
		return err
	}
	size, err := c.Stat(ctx)
	if err != nil {
		return err
	}
	if stat && !a.json {
		_, err := fmt.Fprintln(a.out, render.DiffWords(size))
		return err
	}
	text, err := c.Diff(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.document(map[string]any{"id": run.ID, "stat": size, "diff": text})
	}
	if !a.onTerminal() {
		if text, err = c.Inert(ctx, text); err == nil {
			_, err = fmt.Fprint(a.out, text)
		}
		return err
	}
	reader, opts := a.pager(ctx), a.viewing()
	opts.Color = opts.Color && !pager.Colours(reader)
	return pager.Through(ctx, a.out, reader, a.outward(ctx), func(w io.Writer) error {
		return render.WriteDiff(w, text, opts)
	})
}
