package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
	"github.com/spf13/cobra"
)

func (a *app) diffCommand() *cobra.Command {
	var stat bool
	cmd := &cobra.Command{
		Use:   "diff RUN",
		Short: "Show what a run changed",
		Long: `Diff shows the run's own changes: from the tree as the run found it, dirt
included, to the tree as the run left it. For a run that is not final that is
the tree as it is now.`,
		Example: `  plan diff 01JX
  plan diff 01JX --stat
  plan diff 01JX | git apply --check -`,
		Args: oneArg("the id of a run, or a prefix of it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				id, err := findRun(ctx, db, args[0])
				if err != nil {
					return err
				}
				run, err := foldRun(ctx, db, id, nil)
				if err != nil {
					return failed(err)
				}
				return a.diff(ctx, run, stat)
			})
		},
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "only say how much changed")
	return cmd
}

func (a *app) diff(ctx context.Context, run *engine.Run, stat bool) error {
	repo, from, to, err := endsOf(ctx, run)
	if err != nil {
		return failed(err)
	}
	size, err := repo.Stat(ctx, from, to)
	if err != nil {
		return failed(err)
	}
	if stat && !a.json {
		_, err := fmt.Fprintln(a.out, render.DiffWords(size))
		return failed(err)
	}
	text, err := repo.Diff(ctx, from, to)
	if err != nil {
		return failed(err)
	}
	if a.json {
		return a.document(map[string]any{"id": run.ID, "stat": size, "diff": text})
	}
	if a.onTerminal() {
		text = render.SafeText(text)
	}
	_, err = fmt.Fprint(a.out, text)
	return failed(err)
}

// endsOf names the trees between which a run's change lies.
func endsOf(ctx context.Context, run *engine.Run) (repo *worktree.Repo, from, to string, err error) {
	if run.Start == nil {
		return nil, "", "", fmt.Errorf("run %s has no beginning in its journal", run.ID)
	}
	if repo, err = worktree.Open(ctx, run.Start.Repo); err != nil {
		return nil, "", "", err
	}
	from, to = run.Origin(), run.Tree()
	if run.State.Final() || run.Attempt(plan.Implement) == 0 {
		return repo, from, to, nil
	}
	tree, err := treeOf(ctx, run)
	if run.Start.Worktree != "" && errors.Is(err, fs.ErrNotExist) {
		return repo, from, to, nil // only the snapshots are left
	}
	if err == nil {
		to, err = tree.Tree(ctx)
	}
	return repo, from, to, err
}

// sizeOf is the size of a run's change so far.
func sizeOf(ctx context.Context, run *engine.Run) (plan.DiffStat, error) {
	if run.Outcome != nil {
		return run.Outcome.Diff, nil
	}
	repo, from, to, err := endsOf(ctx, run)
	if err != nil {
		return plan.DiffStat{}, err
	}
	return repo.Stat(ctx, from, to)
}
