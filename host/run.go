package host

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/worktree"
)

// ErrNotBegun says that a run was interrupted before its first event: nothing was
// done.
var ErrNotBegun = errors.New("interrupted before the run began; nothing was done")

// Run begins a run and drives it until it is final or parks. An error means that
// it did not begin, or that its journal could not be written; all else that can
// go wrong is in the [End].
//
// Cancelling ctx with engine.ErrInterrupted as the cause parks the run as
// interrupted, within 100 ms; [Host.Resume] goes on with it.
func (h *Host) Run(ctx context.Context, r Request, face Face) (_ End, err error) {
	h = h.withNotes(face.Note)
	b := beginning{id: r.ID}
	if b.id == "" {
		b.id = h.NewRunID()
	}
	db, err := h.openWith(ctx, r.Dir, &b)
	if err != nil {
		return End{}, err
	}
	cfg, err := h.Settings(b.source.Root(), r.Settings)
	if err != nil {
		return End{}, err
	}
	paths, err := h.Paths()
	if err != nil {
		return End{}, err
	}
	if err := keepHomeApart(paths.Home, b.source.Root()); err != nil {
		return End{}, err
	}
	cfg = r.applyTo(cfg)
	if r.Aim == plan.AimReview {
		if b.since, err = b.source.Since(ctx, r.Review.Base); err != nil {
			return End{}, err
		}
		r.takeRequest(b.since)
	}
	if r.Aim == plan.AimAsk || r.Aim == plan.AimReview && !r.Review.Fix {
		cfg.Worktree = nil // nothing is changed
		cfg.MaxReviewCycles = new(0)
	}
	s, err := h.openSession(ctx, cfg, r.Options, face, b.source, b.source.Root(), db, nil)
	if err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, s.closeModel()) }()
	if b.making, err = h.beginMaking(ctx, db, b.id, b.source); err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, b.making.end(ctx)) }()
	release, err := s.takePlace(ctx, &b)
	if err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, release()) }()
	return s.begin(ctx, r, b)
}

// openWith opens the database and a repository at the same time: the one is work
// for this process, the other for git.
func (h *Host) openWith(ctx context.Context, dir string, b *beginning) (*memory.DB, error) {
	if dir == "" {
		dir = "."
	}
	var opened errgroup.Group
	opened.Go(func() (err error) {
		b.source, err = h.OpenRepo(ctx, dir)
		return err
	})
	db, err := h.DB(ctx)
	if wrong := opened.Wait(); wrong != nil {
		return nil, wrong //nolint:wrapcheck // worktree's
	}
	if names, _ := b.source.Unheeded(ctx); len(names) > 0 {
		h.note("git runs nothing of the tree for plan, so it reads and writes files as if these settings were not " +
			"there: " + strings.Join(names, ", "))
	}
	return db, err
}

// beginning is a run that is about to begin, as far as it is known.
type beginning struct {
	id     plan.RunID
	job    string         // of a batch
	source *worktree.Repo // the user's tree
	branch string         // that the run works on, in a tree of its own
	making *making        // what is kept for it before it has begun
	// base is the commit that a job of a batch begins at; "" is what the user's
	// tree holds.
	base string
	// sibling is a plan that was approved for another repository's job.
	sibling string
	since   worktree.Since // of a review
	// before is the final run that this one continues, by a letter to it.
	before *engine.Run
	letter int64

	survey
	start plan.RunStart
	doc   *plan.PlanDoc
	kit   phases.Kit
	blobs []plan.Blob
}

// takePlace finds the place where a new run works: the user's tree, or one of its
// own. What it returns gives the place up; the tree of a run that never began
// goes with it.
func (s *session) takePlace(ctx context.Context, b *beginning) (release func() error, err error) {
	drop := func() error { return nil }
	if isSet(s.cfg.Worktree) {
		s.repo, b.branch, err = s.host.makeOwnTree(ctx, b.source, b.making, b.id, s.cfg.WorktreeInclude)
		if err != nil {
			return nil, err
		}
		drop = func() error {
			ctx := context.WithoutCancel(ctx)
			if _, err := s.db.Run(ctx, b.id); !errors.Is(err, memory.ErrNoRun) {
				return nil
			}
			_, err := b.source.Drop(ctx, s.repo.Root(), b.branch, "HEAD")
			return err
		}
	}
	hold, err := s.host.holdTree(ctx, s.repo, b.id)
	if err != nil {
		return nil, errors.Join(err, drop())
	}
	return func() error { return errors.Join(hold.Close(), drop()) }, nil
}

// begin writes the first events of a run and drives it.
func (s *session) begin(ctx context.Context, r Request, b beginning) (_ End, err error) {
	// From here on something is kept, and a caller who interrupts must not leave it.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if s.cfg.Hooks, err = pinHooks(s.repo.Root(), s.host.Getenv("PATH"), s.cfg.Hooks); err != nil {
		return End{}, err
	}
	if s.guard, err = s.newGuard(); err != nil { // rules and hooks speak of this tree now
		return End{}, err
	}
	surveyed := s.surveyTree(ctx, &b)
	defer func() {
		if err == nil {
			return
		}
		if errors.Is(context.Cause(ctx), engine.ErrInterrupted) && !s.began(ctx, b.id) {
			err = ErrNotBegun
		}
		err = errors.Join(err, s.forgetBeginning(ctx, b, surveyed))
	}()
	if s.writer, err = s.db.Own(ctx, b.id); err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, s.writer.Close()) }()
	if b.before != nil && s.began(ctx, b.id) {
		return End{}, errBegun
	}
	s.mirrorTo(r.Mirror, b.id, b.base)
	s.mail = mailbox{writer: s.writer}
	r.Context = redactMessages(r.Context, s.redactRead)
	if err = s.prepare(ctx, r, &b, surveyed); err != nil {
		return End{}, err
	}
	ph, err := s.newPhases(b.kit, b.start.Base, b.instructions, r.PlanOnly)
	if err != nil {
		return End{}, err
	}
	return s.drive(ctx, stop, driving{
		id:           b.id,
		base:         b.start.OriginCommit(),
		view:         b.start.View,
		phases:       ph,
		run:          &engine.Run{},
		planOnly:     r.PlanOnly,
		checksByFlag: len(r.Settings.Checks.Required) > 0,
		context:      r.Context,
		first:        b.first,
		options:      r.Options,
		begin: func(ctx context.Context, e *engine.Engine) error {
			if err := e.Begin(ctx, b.id, b.job, b.start, b.doc, b.blobs); err != nil || b.before == nil {
				return err
			}
			return s.db.SettleAfter(ctx, b.letter)
		},
	})
}

// began reports whether a run has a journal.
func (s *session) began(ctx context.Context, id plan.RunID) bool {
	_, err := s.db.Run(context.WithoutCancel(ctx), id)
	return !errors.Is(err, memory.ErrNoRun)
}

// forgetBeginning removes what was kept for a run, if it did not begin.
func (s *session) forgetBeginning(ctx context.Context, b beginning, surveyed func() (survey, error)) error {
	ctx = context.WithoutCancel(ctx)
	survey, _ := surveyed()
	if s.began(ctx, b.id) {
		return nil
	}
	if refs, err := b.source.Kept(ctx, b.id); survey.first == nil && (err != nil || len(refs) == 0) {
		return nil // git may have been stopped when it had kept it, and before it said so
	}
	labels := []string{engine.LabelStart}
	if b.start.Against != nil {
		labels = append(labels, labelBase)
	}
	return b.source.Forget(ctx, b.id, labels...)
}

// prepare collects what a run is started with.
func (s *session) prepare(ctx context.Context, r Request, b *beginning, surveyed func() (survey, error)) (err error) {
	if s.cfg.Way == plan.WayDirect && s.wantsPlan(r) && r.Plan == "" && r.Aim == plan.AimChange {
		s.cfg.Way = plan.WayShort
		s.host.note("the direct way makes no plan that could be shown, approved or looked at again, so this run goes " +
			"the short way: Explore hands one over")
	}
	if b.kit, err = s.newKit(ctx, r.Text); err != nil {
		return err
	}
	b.kit = b.kit.WithSkills(s.learn.OffersSkills(ctx, r.Text)...)
	kit, err := b.kit.Encode()
	if err != nil {
		return err
	}
	b.blobs = []plan.Blob{kit}
	b.start = plan.RunStart{
		Request:   s.redactRead(r.Text),
		Aim:       r.Aim,
		Continues: r.Continues,
		Title:     s.redactRead(FirstLine(r.Title)),
		Sibling:   s.redactRead(b.sibling),
		Models:    connect.PhaseModels(s.cfg),
		Config:    startConfig(s.cfg, r),
		Kit:       kit.Hash,
		Version:   s.host.version,
		View:      plan.ViewSnapshot,
		Mirrored:  r.Mirror != nil,
	}
	if b.survey, err = surveyed(); err != nil {
		return err
	}
	s.describeTree(b, b.standing, &b.start)
	if b.before != nil {
		if err := s.describeBefore(ctx, b, &b.start); err != nil {
			return err
		}
	}
	s.host.noteSubmodules(b.start.DirtySubmodules)
	if r.Aim == plan.AimReview {
		if err := s.compareWith(ctx, r.Review, b); err != nil {
			return err
		}
	}
	if len(r.Context) > 0 {
		blob, err := contextBlob(r.Context)
		if err != nil {
			return err
		}
		b.start.Context = blob.Hash
		b.blobs = append(b.blobs, blob)
	}
	b.start.Way, b.doc = s.chooseWay(r, b.start)
	if r.Plan != "" {
		b.doc, err = s.parsePlan(ctx, r.Plan, b.start.Base)
	}
	return err
}

// chooseWay decides whether a run begins with Implement, as far as that is decided
// before anything was looked at, and says so.
func (s *session) chooseWay(r Request, start plan.RunStart) (string, *plan.PlanDoc) {
	doc := phases.DirectPlan()
	doc.Base = start.Base
	switch {
	case r.Plan != "", r.Aim != plan.AimChange:
	case s.cfg.Way == plan.WayDirect:
		return "direct: as asked", &doc
	case r.Auto && !s.wantsPlan(r) && s.cfg.Way == plan.WayAuto:
		c := phases.Candidate(start.Request)
		way := "phased: " + c.Why()
		chosen := (*plan.PlanDoc)(nil)
		if c.Certain {
			way, chosen = "direct: "+c.Why(), &doc
		}
		s.host.note("auto: " + way)
		return way, chosen
	}
	return "", nil
}

// wantsPlan reports whether a person asked for what only a plan can be used for.
func (s *session) wantsPlan(r Request) bool {
	return r.PlanOnly || isSet(s.cfg.ApprovePlan) || isSet(s.cfg.Critique)
}
