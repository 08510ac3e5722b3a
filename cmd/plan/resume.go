package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
)

func (a *app) resumeCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Go on with a run where its journal ends",
		Long: `Resume goes on with a run that parked, was interrupted or was killed: in the
same phase, turn and conversation. Without RUN it takes the newest run that is
not final. A flag that is given
replaces what the run was started with; what is not given stays as it was,
whatever default is shown below.`,
		Example: `  plan resume
  plan resume 01JX --max-turns 200
  plan resume 01JX --model another-model`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			given, err := flags.said(cmd)
			if err != nil {
				return err
			}
			id := ""
			if len(args) == 1 {
				id = args[0]
			}
			return a.resume(cmd.Context(), id, given)
		},
	}
	flags.register(cmd)
	return cmd
}

// resume goes on with a run; an empty prefix means the newest that is not
// final.
func (a *app) resume(ctx context.Context, prefix string, flags said) (err error) {
	db, _, err := a.openDB(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(db.Close())) }()
	id, err := pick(ctx, db, prefix)
	if err != nil {
		return err
	}
	writer, err := db.Own(ctx, id)
	if err != nil {
		return failed(err)
	}
	defer func() { err = errors.Join(err, failed(writer.Close())) }()
	t := &tally{}
	run, err := foldRun(ctx, db, id, t)
	if err != nil {
		return failed(err)
	}
	if run.Start == nil {
		return failed(fmt.Errorf("run %s has no beginning in its journal; it cannot be resumed", id))
	}
	if run.State.Final() {
		fmt.Fprintf(a.err, "plan: run %s is final: %s. See `plan show %s`.\n", id, run.State, id)
		return finalExit(run.State)
	}
	return a.goOn(ctx, db, writer, run, t, flags)
}

// goOn drives a run that is owned and folded.
func (a *app) goOn(ctx context.Context, db *memory.DB, writer *memory.Writer, run *engine.Run, t *tally, flags said) (err error) {
	was, cfg, err := a.resumeSettings(run, flags)
	if err != nil {
		return err
	}
	repo, err := openRepo(ctx, run.Start.Repo)
	if err != nil {
		return err
	}
	if err := knowsRun(ctx, repo, run); err != nil {
		return err
	}
	w, err := a.openWorkshop(ctx, cfg, flags, repo, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(w.close())) }()
	w.writer = writer
	kit, err := w.loadKit(ctx, run.Start)
	if err != nil {
		return failed(err)
	}
	frozen, err := w.loadContext(ctx, run.Start)
	if err != nil {
		return failed(err)
	}
	ph, err := w.newPhases(ctx, kit, run.Start.Base)
	if err != nil {
		return failed(err)
	}
	return a.drive(ctx, w, driving{
		id: run.ID, phases: ph, run: run, tally: t, context: frozen,
		planOnly: was.PlanOnly, checksByFlag: was.ChecksByFlag || len(flags.Checks.Required) > 0,
	})
}

func pick(ctx context.Context, db *memory.DB, prefix string) (plan.RunID, error) {
	if prefix != "" {
		return findRun(ctx, db, prefix)
	}
	id, err := db.Latest(ctx)
	if errors.Is(err, memory.ErrNoRun) {
		return "", failed(&advice{"there is no run to resume: none is unfinished", "`plan list` shows all runs; `plan run \"…\"` starts one."})
	}
	return id, failed(err)
}

// finalExit is the exit of a command that found a run at its end.
func finalExit(s plan.State) error {
	if code := s.ExitCode(); code != plan.ExitOK {
		return &exit{code: code}
	}
	return nil
}

// resumeSettings are those the run was started with, under what the
// environment says of the connection and what the flags say now.
func (a *app) resumeSettings(run *engine.Run, flags said) (stored, config.Config, error) {
	var was stored
	if err := json.Unmarshal(run.Start.Config, &was); err != nil {
		return was, was.Config, failed(fmt.Errorf("read the settings the run was started with: %w", err))
	}
	cfg := was.Config
	if url := a.getenv("OPENAI_BASE_URL"); url != "" {
		cfg.BaseURL = url
	}
	return was, flags.over(cfg), nil
}

// foldRun reads a run's journal, once, for the engine and for people.
func foldRun(ctx context.Context, db *memory.DB, id plan.RunID, t *tally) (*engine.Run, error) {
	return engine.Fold(func(yield func(plan.Event, error) bool) {
		for ev, err := range db.Events(ctx, id, memory.Query{}) {
			if err == nil && t != nil {
				t.Add(ev)
			}
			if !yield(ev, err) {
				return
			}
		}
	})
}
