package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// FinalError says that a run is final: it cannot be resumed.
type FinalError struct {
	Run   plan.RunID
	State plan.State
}

// Error implements error.
func (e *FinalError) Error() string { return fmt.Sprintf("run %s is final: %s", e.Run, e.State) }

// Hint says where to look.
func (e *FinalError) Hint() string { return fmt.Sprintf("See `plan show %s`.", e.Run) }

// Resume goes on with a run where its journal ends, and drives it as [Host.Run]
// does. A run that is final is a [FinalError], one that another process drives a
// memory.HeldError.
func (h *Host) Resume(ctx context.Context, id plan.RunID, o Options, face Face) (End, error) {
	return h.resume(ctx, id, o, false, face)
}

// resume is [Host.Resume], also of a run that another machine has driven (fromElsewhere).
func (h *Host) resume(ctx context.Context, id plan.RunID, o Options, fromElsewhere bool, face Face) (_ End, err error) {
	h = h.withNotes(face.Note)
	db, err := h.DB(ctx)
	if err != nil {
		return End{}, err
	}
	writer, err := db.Own(ctx, id)
	if err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, writer.Close()) }()
	past, err := db.ReadAll(ctx, id) // once, for all who have to do with it
	if errors.Is(err, memory.ErrNoRun) {
		if cerr := writer.Close(); cerr != nil {
			return End{}, cerr
		}
		if end, found, err := h.resumeContinuation(ctx, db, id, o, face); found || err != nil {
			return end, err
		}
	}
	if err != nil {
		return End{}, wrap("read the journal", err)
	}
	from, err := readStory(ctx, db, id, past)
	if err != nil {
		return End{}, err
	}
	run := &engine.Run{}
	for i, ev := range past {
		past[i] = from.tell(ev)
		run.Apply(past[i])
	}
	placeHere(db, run)
	switch {
	case run.Start == nil:
		return End{}, fmt.Errorf("run %s has no beginning in its journal; it cannot be resumed", id)
	case run.State.Final():
		return End{}, &FinalError{Run: id, State: run.State}
	case run.Start.Mirrored && o.Mirror == nil:
		return End{}, mirroredError(run)
	case o.Replan != "" && (run.State != plan.Implementing && run.State != plan.Reviewing || run.Plan() == nil):
		return End{}, hint.New(
			fmt.Sprintf("run %s is %s: it has no plan yet that could be given up", id, run.State),
			fmt.Sprintf("`plan tell %s TEXT` gives it guidance; "+
				"`plan resume %s --accept-drift` goes on with a changed tree.", id, id),
		)
	}
	own := ownedRun{
		db:            db,
		writer:        writer,
		run:           run,
		past:          past,
		story:         from,
		fromElsewhere: fromElsewhere,
	}
	return h.resumeOwned(ctx, own, o, face)
}

// mirroredError refuses to go on with a run that goes on by the workers of a queue alone.
func mirroredError(run *engine.Run) error {
	return hint.New(
		fmt.Sprintf("run %s is that of job %s in a queue, whose workers go on with it", run.ID, run.Job),
		"plan batch resume --queue URL gives the job out again, and plan batch cancel --queue URL ends it; a run "+
			"of your own goes on from it with plan fork.",
	)
}

// lookAgain asks the tree of a run for what it is to know when it goes on, and that its
// snapshots are there.
func (h *Host) lookAgain(
	ctx context.Context,
	repo *worktree.Repo,
	run *engine.Run,
) (head string, instructions []worktree.Instruction, err error) {
	var group errgroup.Group // each is a git process, and most of its time is spent in starting
	group.Go(func() error { return requireSnapshots(ctx, repo, run) })
	group.Go(func() (err error) {
		head, err = repo.Head(ctx)
		return err
	})
	group.Go(func() (err error) {
		instructions, err = repo.Instructions(ctx)
		return err
	})
	if err := group.Wait(); err != nil {
		return "", nil, err //nolint:wrapcheck // it is our own
	}
	if a := run.Start.Against; a != nil {
		instructions, err = h.fromBefore(ctx, repo, a.Tree, instructions)
	}
	return head, instructions, err
}

// ownedRun is a run that this process owns, folded from its journal.
type ownedRun struct {
	db            *memory.DB
	writer        *memory.Writer
	run           *engine.Run
	past          []plan.Event
	story         story // what of past was written elsewhere
	fromElsewhere bool  // another machine has driven it
}

// isForeign reports whether the settings of the run come from elsewhere.
func (r ownedRun) isForeign() bool {
	return r.story.isForeign() && !hasOwnSettings(r.past, r.story.upTo)
}

// resumePlace opens the tree that a run goes on in, and says with which settings.
func (h *Host) resumePlace(
	ctx context.Context,
	r ownedRun,
	o Options,
) (repo *worktree.Repo, previous stored, cfg config.Config, changed *plan.SettingsChanged, err error) {
	if previous, cfg, changed, err = h.resumeSettings(r.run, r.isForeign(), o); err != nil {
		return nil, previous, cfg, nil, err
	}
	if repo, err = h.reopenTree(ctx, r.db, r.run, cfg.WorktreeInclude, r.fromElsewhere); err != nil {
		return nil, previous, cfg, nil, err
	}
	if r.fromElsewhere {
		previous, cfg, changed, err = h.settingsHere(r.run, repo.Root(), o)
	}
	return repo, previous, cfg, changed, err
}

// resumeOwned drives a run that is owned.
func (h *Host) resumeOwned(ctx context.Context, r ownedRun, o Options, face Face) (_ End, err error) {
	db, run, from := r.db, r.run, r.story
	repo, previous, cfg, changed, err := h.resumePlace(ctx, r, o)
	if err != nil {
		return End{}, err
	}
	if r.isForeign() {
		if err := h.requireTrustIn(ctx, repo, run, changed, face); err != nil {
			return End{}, err
		}
	}
	head, instructions, err := h.lookAgain(ctx, repo, run)
	if err != nil {
		return End{}, err
	}
	hold, err := h.holdTree(ctx, repo, run.ID)
	if err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, hold.Close()) }()
	s, err := h.openSession(ctx, cfg, o, face, repo, run.Start.Repo, db, run.Adjusted)
	if err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, s.closeModel()) }()
	s.writer = r.writer
	s.mirrorTo(o.Mirror, run.ID, run.Start.Base)
	if s.mail, err = h.openMailbox(ctx, db, r.writer, run.ID); err != nil {
		return End{}, err
	}
	o.Replan = s.redactRead(o.Replan)
	s.guard.observe(r.past...)
	if from.isForeign() {
		s.guard.began.restartAt(head)
	}
	kit, err := s.kitOf(ctx, run.Start, from)
	if err != nil {
		return End{}, err
	}
	frozen, err := s.loadContext(ctx, run.Start)
	if err != nil {
		return End{}, err
	}
	ph, err := s.newPhases(kit, head, instructions, previous.PlanOnly)
	if err != nil {
		return End{}, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	return s.drive(ctx, stop, driving{
		id:           run.ID,
		base:         run.Start.OriginCommit(),
		view:         run.Start.View,
		phases:       ph,
		run:          run,
		past:         r.past,
		story:        from,
		context:      frozen,
		planOnly:     previous.PlanOnly,
		checksByFlag: previous.ChecksByFlag || len(o.Settings.Checks.Required) > 0,
		options:      o,
		settings:     changed,
	})
}

// resumeSettings are those the run goes on with, under the rules and hooks that
// hold now.
func (h *Host) resumeSettings(
	run *engine.Run,
	isForeign bool,
	o Options,
) (previous stored, cfg config.Config, changed *plan.SettingsChanged, err error) {
	files, err := h.Settings(run.Start.Repo, config.Config{})
	if err != nil {
		return previous, cfg, nil, err
	}
	if isForeign {
		return h.foreignSettings(run, files, o)
	}
	previous, cfg, changed, err = h.keptSettings(run, files, o)
	return previous, withRules(cfg, previous.Config, files), changed, err
}

// keptSettings are those the run went on with before, under what the options say
// now. How servers are reached comes from the files and the environment as they
// are now, for no key is kept with a run. Changed is nil where nothing is
// different.
func (h *Host) keptSettings(
	run *engine.Run,
	files config.Config,
	o Options,
) (previous stored, cfg config.Config, changed *plan.SettingsChanged, err error) {
	if previous, err = storedSettings(run); err != nil {
		return previous, cfg, nil, err
	}
	cfg = connect.KeepServers(previous.Config, files)
	now := previous
	now.Config = o.applyTo(cfg)
	now.ChecksByFlag = previous.ChecksByFlag || len(o.Settings.Checks.Required) > 0
	if changed, err = compareSettings(previous, now); err != nil {
		return previous, cfg, nil, err
	}
	if url := h.Getenv("OPENAI_BASE_URL"); url != "" {
		cfg.BaseURL = url
	}
	cfg = o.applyTo(cfg)
	return previous, cfg, changed, connect.RequireProviders(previous.Config, cfg)
}

// storedSettings are those that the run went on with before.
func storedSettings(run *engine.Run) (previous stored, err error) {
	err = json.Unmarshal(settingsData(run), &previous)
	return previous, wrap("read the settings the run was started with", err)
}

func settingsData(run *engine.Run) json.RawMessage {
	if run.Settings != nil {
		return run.Settings.Config
	}
	return run.Start.Config
}
