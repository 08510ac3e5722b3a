package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

func (a *app) resumeCommand() *cobra.Command {
	var flags runFlags
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
			given, err := flags.said(cmd)
			if err != nil {
				return err
			}
			if err := choice.over(&given); err != nil {
				return err
			}
			given.here = cmd.Flag("directory").Changed
			switch {
			case due && len(args) > 0:
				return usage("--due takes all runs that are due, and no RUN")
			case due:
				return a.resumeDue(cmd.Context(), given)
			}
			return a.resume(cmd.Context(), strings.Join(args, ""), given)
		},
	}
	flags.register(cmd)
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
	cmd.Flags().BoolVar(
		&f.accept,
		"accept-drift",
		false,
		"go on although the work tree changed; the model is told which files",
	)
	cmd.Flags().BoolVar(&f.replan, "replan", false, "give the plan up and make another one")
	cmd.Flags().StringVar(&f.reason, "reason", "", "with --replan: a `TEXT` that the planner reads")
	cmd.MarkFlagsMutuallyExclusive("accept-drift", "replan")
}

func (f *driftFlags) over(s *said) error {
	switch {
	case f.reason != "" && !f.replan:
		return usage("--reason belongs to --replan")
	case f.accept:
		s.onDrift = engine.DriftGoesOn
	case f.replan:
		s.onDrift, s.replan = engine.DriftReplans, personReplans
		if f.reason != "" {
			s.replan = f.reason
		}
	}
	return nil
}

// resume goes on with a run; an empty prefix means the newest that is not
// final.
func (a *app) resume(ctx context.Context, prefix string, flags said) (err error) {
	db, _, err := a.openDB(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(db.Close())) }()
	id, err := a.pick(ctx, db, prefix, flags.here)
	if err != nil {
		return err
	}
	return a.resumeRun(ctx, db, id, flags)
}

// resumeRun goes on with one run.
func (a *app) resumeRun(ctx context.Context, db *memory.DB, id plan.RunID, flags said) (err error) {
	writer, err := db.Own(ctx, id)
	if err != nil {
		return failed(err)
	}
	defer func() { err = errors.Join(err, failed(writer.Close())) }()
	t := &render.Tally{}
	past, err := db.ReadAll(ctx, id) // once, for all who have to do with it
	if err != nil {
		return failed(fmt.Errorf("read the journal: %w", err))
	}
	run := &engine.Run{}
	for _, ev := range past {
		run.Apply(ev)
		t.Add(ev)
	}
	if run.Start == nil {
		return failed(fmt.Errorf("run %s has no beginning in its journal; it cannot be resumed", id))
	}
	if run.State.Final() {
		fmt.Fprintf(a.err, "plan: run %s is final: %s. See `plan show %s`.\n", id, run.State, id)
		return finalExit(run.State)
	}
	if flags.replan != "" && run.State != plan.Implementing && run.State != plan.Reviewing {
		return failed(&advice{
			fmt.Sprintf("run %s is %s: it has no plan yet that could be given up", id, run.State),
			fmt.Sprintf(
				"`plan steer %s TEXT` gives it guidance; `plan resume %s --accept-drift` goes on with a changed tree.",
				id,
				id,
			),
		})
	}
	return a.goOn(ctx, db, writer, run, t, past, flags)
}

// goOn drives a run that is owned and folded from its past.
func (a *app) goOn(
	ctx context.Context,
	db *memory.DB,
	writer *memory.Writer,
	run *engine.Run,
	t *render.Tally,
	past []plan.Event,
	flags said,
) (err error) {
	was, cfg, changed, err := a.resumeSettings(run, flags)
	if err != nil {
		return err
	}
	repo, err := a.backTree(ctx, db, run, cfg.WorktreeInclude)
	if err != nil {
		return err
	}
	var head string
	var instructions []worktree.Instruction
	var asked errgroup.Group // each is a git process, and most of its time is spent in starting
	asked.Go(func() error { return knowsRun(ctx, repo, run) })
	asked.Go(func() (err error) { head, err = repo.Head(ctx); return failed(err) })
	asked.Go(func() (err error) { instructions, err = repo.Instructions(ctx); return failed(err) })
	if err := asked.Wait(); err != nil {
		return err //nolint:wrapcheck // it is our own
	}
	hold, err := a.occupy(repo, run.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(hold.Close())) }()
	w, err := a.openWorkshop(ctx, cfg, flags, repo, run.Start.Repo, db, run.Adjusted)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(w.close())) }()
	w.writer = writer
	flags.replan = w.redact(flags.replan)
	w.guard.learn(past...)
	kit, err := w.loadKit(ctx, run.Start)
	if err != nil {
		return failed(err)
	}
	frozen, err := w.loadContext(ctx, run.Start)
	if err != nil {
		return failed(err)
	}
	ph, err := w.newPhases(kit, head, instructions)
	if err != nil {
		return failed(err)
	}
	return a.drive(ctx, w, driving{
		id:           run.ID,
		base:         run.Start.Base,
		view:         run.Start.View,
		phases:       ph,
		run:          run,
		tally:        t,
		past:         past,
		context:      frozen,
		planOnly:     was.PlanOnly,
		checksByFlag: was.ChecksByFlag || len(flags.Checks.Required) > 0,
		said:         flags,
		settings:     changed,
	})
}

// pick finds a run by a prefix of its id. Without one it is the newest that is
// not final, of the repository that -C names if it was said.
func (a *app) pick(ctx context.Context, db *memory.DB, prefix string, here bool) (plan.RunID, error) {
	if prefix != "" {
		return findRun(ctx, db, prefix)
	}
	filter := memory.Filter{
		Limit:  1,
		States: []plan.State{plan.Exploring, plan.Planning, plan.Implementing, plan.Reviewing},
	}
	where := ""
	if here {
		repo, err := openRepo(ctx, a.dir)
		if err != nil {
			return "", err
		}
		filter.Repo, where = repo.Root(), " in "+repo.Root()
	}
	runs, err := db.Runs(ctx, filter)
	if err != nil {
		return "", failed(err)
	}
	if len(runs) == 0 {
		return "", failed(
			&advice{
				"there is no run to resume" + where + ": none is unfinished",
				"`plan list` shows all runs; `plan run \"…\"` starts one.",
			},
		)
	}
	return runs[0].ID, nil
}

// finalExit is the exit of a command that found a run at its end.
func finalExit(s plan.State) error {
	if code := s.ExitCode(); code != plan.ExitOK {
		return &exit{code: code}
	}
	return nil
}

// resumeSettings are those the run goes on with, under the rules and hooks that
// hold now.
func (a *app) resumeSettings(
	run *engine.Run,
	flags said,
) (was stored, cfg config.Config, changed *plan.SettingsChanged, err error) {
	files, err := a.settings(run.Start.Repo, config.Config{})
	if err != nil {
		return was, cfg, nil, err
	}
	was, cfg, changed, err = a.keptSettings(run, files, flags)
	return was, withRules(cfg, files), changed, err
}

// keptSettings are those the run went on with before, under what the flags say
// now. How servers are reached comes from the files and the environment as they
// are now, for no key is kept with a run. Changed is nil where nothing is
// different.
func (a *app) keptSettings(
	run *engine.Run, files config.Config, flags said,
) (was stored, cfg config.Config, changed *plan.SettingsChanged, err error) {
	data := run.Start.Config
	if run.Settings != nil {
		data = run.Settings.Config
	}
	if err := json.Unmarshal(data, &was); err != nil {
		return was, cfg, nil, failed(fmt.Errorf("read the settings the run was started with: %w", err))
	}
	cfg = reachedNow(was.Config, files)
	now := was
	now.Config = flags.over(cfg)
	now.ChecksByFlag = was.ChecksByFlag || len(flags.Checks.Required) > 0
	if changed, err = settingsChanged(was, now); err != nil {
		return was, cfg, nil, failed(err)
	}
	if url := a.getenv("OPENAI_BASE_URL"); url != "" {
		cfg.BaseURL = url
	}
	cfg = flags.over(cfg)
	return was, cfg, changed, failed(missingProvider(was.Config, cfg))
}

// foldRun reads a run's journal, once, for the engine and for people.
func foldRun(ctx context.Context, db *memory.DB, id plan.RunID, t *render.Tally) (*engine.Run, error) {
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
