package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
	"github.com/spf13/cobra"
)

// withDB runs a reading command with the database open.
func (a *app) withDB(cmd *cobra.Command, do func(ctx context.Context, db *memory.DB) error) (err error) {
	return a.readDB(cmd.Context(), func(db *memory.DB) error { return do(cmd.Context(), db) })
}

// readDB does something with the database open.
func (a *app) readDB(ctx context.Context, do func(db *memory.DB) error) (err error) {
	db, _, err := a.openDB(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(db.Close())) }()
	return do(db)
}

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run for good",
		Long: `Cancel ends a run: it becomes final and cannot be resumed. What it changed stays
in the work tree. A run that another process drives is asked to stop.`,
		Example: `  plan cancel 01JX`,
		Args:    oneArg("the id of a run, or a prefix of it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				id, err := findRun(ctx, db, args[0])
				if err != nil {
					return err
				}
				return a.cancel(ctx, db, id)
			})
		},
	}
}

func (a *app) cancel(ctx context.Context, db *memory.DB, id plan.RunID) (err error) {
	writer, err := db.Own(ctx, id)
	var held *memory.HeldError
	if errors.As(err, &held) {
		if _, err := db.Post(ctx, id, letterCancel, nil); err != nil {
			return failed(err)
		}
		return a.said(id, "asked process "+fmt.Sprint(held.PID)+" to cancel it")
	}
	if err != nil {
		return failed(err)
	}
	defer func() { err = errors.Join(err, failed(writer.Close())) }()
	run, err := foldRun(ctx, db, id, nil)
	if err != nil {
		return failed(err)
	}
	if run.State.Final() {
		return a.said(id, "it is final already: "+string(run.State))
	}
	var trees engine.Snapshots = noTrees{}
	if run.Start != nil {
		if repo, err := treeOf(ctx, run); err == nil {
			trees = repo
		}
	}
	eng, err := engine.New(engine.Config{
		Runner:    noRunner{},
		Checker:   &checker{},
		Snapshots: trees,
		Now:       a.now,
		Journal: &journal{
			db:     db,
			writer: writer,
			run:    id,
			taken:  func() []int64 { return nil },
		},
	}, run)
	if err != nil {
		return failed(err)
	}
	if err := eng.Cancel(ctx); err != nil {
		return failed(err)
	}
	return a.said(id, "cancelled")
}

// noRunner stands where no phase is run.
type noRunner struct{}

// Describe implements engine.Runner.
func (noRunner) Describe(plan.Phase) plan.PhaseStart { return plan.PhaseStart{} }

// Run implements engine.Runner.
func (noRunner) Run(context.Context, plan.Brief, plan.Emit) (plan.Outcome, error) {
	return plan.Outcome{}, errors.New("no phase runs here")
}

// noTrees stands where the repository is gone.
type noTrees struct{}

var errNoTrees = errors.New("the repository is gone")

// Snapshot implements engine.Snapshots.
func (noTrees) Snapshot(context.Context, plan.RunID, string) (plan.Snapshot, error) {
	return plan.Snapshot{}, errNoTrees
}

// Diff implements engine.Snapshots.
func (noTrees) Diff(context.Context, string, string) (string, error) { return "", errNoTrees }

// Stat implements engine.Snapshots.
func (noTrees) Stat(context.Context, string, string) (plan.DiffStat, error) {
	return plan.DiffStat{}, errNoTrees
}

// said answers a command that acts on a run.
func (a *app) said(id plan.RunID, what string) error {
	if a.json {
		return a.document(map[string]any{"id": id, "result": what})
	}
	_, err := fmt.Fprintf(a.out, "%s: %s\n", id, what)
	return failed(err)
}
