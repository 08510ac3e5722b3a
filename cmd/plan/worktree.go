package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// ownedTree is the work tree of a run, and whether it can go.
type ownedTree struct {
	ID     plan.RunID `json:"id"`
	State  plan.State `json:"state"` // "" when no run of that id is known
	Dir    string     `json:"worktree"`
	Branch string     `json:"work_branch"`
	Repo   string     `json:"repo"`
	// Safe says that nothing is lost with it; Why says why, or why not.
	Safe bool   `json:"safe"`
	Why  string `json:"why"`
	// Clean says that all that is in it is in a snapshot of the run as well.
	Clean   bool `json:"clean"`
	Removed bool `json:"removed"`

	base string
	repo *worktree.Repo
}

func (a *app) worktreeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worktree",
		Short: "List and remove the work trees of runs",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &cobra.Command{
		Use:     "list",
		Short:   "List the work trees of runs, and say which can go",
		Example: `  plan worktree list --json`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withDB(
				cmd,
				func(ctx context.Context, db *memory.DB) error { return a.pruneTrees(ctx, db, true) },
			)
		},
	}
	var dry bool
	prune := &cobra.Command{
		Use:   "prune",
		Short: "Remove the work trees from which nothing is needed any more",
		Long: `Prune removes the work trees of runs that are final, where nothing was changed
since and the change was brought over or is none. It says why it keeps each of
the others. Branches that have commits of their own stay.`,
		Example: `  plan worktree prune --dry-run`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error { return a.pruneTrees(ctx, db, dry) })
		},
	}
	prune.Flags().BoolVar(&dry, "dry-run", false, "only say what would be removed")
	remove := &cobra.Command{
		Use:   "remove RUN",
		Short: "Remove the work tree of a run",
		Long: `Remove also removes a work tree whose change was not brought over: the snapshots
of the run stay, and "plan apply" and "plan resume" go on from them. It never
removes one that a process works in, or that holds changes which are in no
snapshot.`,
		Example: `  plan worktree remove 01JX`,
		Args:    oneArg("the id of a run, or a prefix of it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDB(
				cmd,
				func(ctx context.Context, db *memory.DB) error { return a.removeTree(ctx, db, args[0]) },
			)
		},
	}
	cmd.AddCommand(list, prune, remove)
	return cmd
}

// ownedTrees looks at the work trees of all runs.
func (a *app) ownedTrees(ctx context.Context, db *memory.DB) ([]ownedTree, error) {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(paths.Worktrees)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list the work trees: %w", err)
	}
	var out []ownedTree
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		t := ownedTree{ID: plan.RunID(e.Name()), Dir: filepath.Join(paths.Worktrees, e.Name())}
		if err := judgeTree(ctx, db, &t); err != nil {
			t.Why = err.Error()
		}
		out = append(out, t)
	}
	return out, nil
}

// judgeTree decides whether a work tree can go.
func judgeTree(ctx context.Context, db *memory.DB, t *ownedTree) error {
	run, err := foldRun(ctx, db, t.ID, nil)
	if errors.Is(err, memory.ErrNoRun) || err == nil && run.Start == nil {
		t.Why = "no run of this id is known here; if you do not need it, `git worktree remove --force` takes it away"
		return nil
	}
	if err != nil {
		return err
	}
	t.State, t.Branch, t.Repo, t.base = run.State, run.Start.WorkBranch, run.Start.Repo, run.Start.Base
	if held, ok := db.Holder(t.ID); ok {
		t.Why = fmt.Sprintf("process %d works in it", held.PID)
		return nil
	}
	if t.repo, err = worktree.Open(ctx, run.Start.Repo); err != nil {
		return err
	}
	tree, err := worktree.OpenOwn(ctx, t.Dir)
	if err != nil {
		return err
	}
	now, err := tree.Tree(ctx)
	if err != nil {
		return err
	}
	dirty, err := tree.DirtySubmodules(ctx)
	if err != nil {
		return err
	}
	t.Clean = now == run.Tree() && len(dirty) == 0
	return t.judge(ctx, run)
}

func (t *ownedTree) judge(ctx context.Context, run *engine.Run) error {
	kept, err := t.repo.Kept(ctx, t.ID)
	if err != nil {
		return err
	}
	switch {
	case !t.Clean:
		t.Why = "it holds changes that are in no snapshot of the run"
		return nil
	case !run.State.Final():
		t.Why = "the run is not final"
		return nil
	case run.Origin() == run.Tree():
		t.Safe, t.Why = true, "the run changed nothing"
		return nil
	case applied(kept):
		t.Safe, t.Why = true, "the change was applied"
		return nil
	}
	if t.Safe, err = t.repo.Contains(ctx, run.Origin(), run.Tree()); err != nil {
		return err
	}
	t.Why = "the change is in your work tree"
	if !t.Safe {
		t.Why = "the change was not applied"
	}
	return nil
}

func (a *app) pruneTrees(ctx context.Context, db *memory.DB, dry bool) error {
	trees, err := a.ownedTrees(ctx, db)
	if err != nil {
		return failed(err)
	}
	for i := range trees {
		if t := &trees[i]; t.Safe && !dry {
			if err := a.dropTree(ctx, t); err != nil {
				t.Why = err.Error()
			}
		}
	}
	if a.json {
		return a.document(listOf(trees))
	}
	if len(trees) == 0 {
		_, err := fmt.Fprintln(a.out, "No run has a work tree. `plan run --worktree` gives it one.")
		return failed(err)
	}
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "RUN\tSTATE\tTREE\tWHY")
	for _, t := range trees {
		word := "keep"
		switch {
		case t.Removed:
			word = "removed"
		case t.Safe:
			word = "can go"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", render.SafeLine(string(t.ID)), t.State, word, render.SafeLine(t.Why))
	}
	return failed(tw.Flush())
}

// dropTree removes a work tree, while no run can begin to work in it.
func (a *app) dropTree(ctx context.Context, t *ownedTree) (err error) {
	tree, err := worktree.OpenOwn(ctx, t.Dir)
	if err != nil {
		return err
	}
	hold, err := a.occupy(tree, t.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Close()) }()
	if _, err := t.repo.Drop(ctx, t.Dir, t.Branch, t.base); err != nil {
		return err
	}
	t.Removed = true
	return nil
}

func (a *app) removeTree(ctx context.Context, db *memory.DB, name string) error {
	run, err := namedRun(ctx, db, name)
	if err != nil {
		return err
	}
	t := ownedTree{ID: run.ID, Dir: run.Start.Worktree}
	if t.Dir == "" {
		return failed(fmt.Errorf("run %s has no work tree of its own; it works in %s", run.ID, run.Start.Repo))
	}
	if _, err := os.Lstat(t.Dir); errors.Is(err, fs.ErrNotExist) {
		return a.said(run.ID, "its work tree is gone already")
	}
	if err := judgeTree(ctx, db, &t); err != nil {
		return failed(err)
	}
	if !t.Clean {
		return failed(&advice{
			fmt.Sprintf("the work tree of run %s stays: %s", run.ID, t.Why),
			"Take what you need out of " + t.Dir + ", or commit it there; `plan cancel` takes a last snapshot of a run that is not final.",
		})
	}
	if err := a.dropTree(ctx, &t); err != nil {
		return failed(err)
	}
	return a.said(run.ID, "its work tree is removed; its snapshots stay")
}

// worktreeDir is where the work tree of a run is, "" if there is none.
func (a *app) worktreeDir(id plan.RunID) string {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return ""
	}
	dir := filepath.Join(paths.Worktrees, string(id))
	if _, err := os.Lstat(dir); err != nil {
		return ""
	}
	return dir
}
