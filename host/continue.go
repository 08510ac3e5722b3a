package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/memory"
)

// kindContinue is a letter to a final run. It names the run that goes on from it, so
// that one letter begins one run, however often and by whichever process that is tried.
const kindContinue = memory.KindContinue

// continuation is such a letter: what was said, to which run, and which run it begins.
type continuation struct {
	Text string     `json:"text"`
	Run  plan.RunID `json:"run"`

	from   plan.RunID
	letter int64
}

// postContinuation writes down that a run is to go on from a final one.
func (h *Host) postContinuation(ctx context.Context, db *memory.DB, from plan.RunID, text string) (plan.RunID, error) {
	c := continuation{Text: text, Run: h.NewRunID()}
	data, err := plan.MarshalCompact(c)
	if err != nil {
		return "", fmt.Errorf("write the letter: %w", err)
	}
	if _, err = db.PostAfter(ctx, from, kindContinue, data); err != nil {
		return "", err
	}
	failpoint.Hit("before a continuation begins")
	return c.Run, nil
}

// requireTreeOf refuses to have a run go on from a final one that has no tree here in
// which one could: what was said would wait for ever.
func (h *Host) requireTreeOf(ctx context.Context, from plan.RunID) error {
	before, err := h.Load(ctx, from)
	if err != nil {
		return err
	}
	if err := h.requireStanding(ctx, before, fmt.Sprintf("tell %s TEXT", from)); err != nil {
		return err
	}
	if _, err := h.OpenRepo(ctx, before.Start.Repo); err != nil {
		return err
	}
	return h.requireOwnHome(ctx, before)
}

// continuations reads which runs go on from which, oldest first. Waiting leaves out
// those that have begun.
func continuations(ctx context.Context, db *memory.DB, waiting bool) ([]continuation, error) {
	letters, err := db.After(ctx, kindContinue, waiting)
	if err != nil {
		return nil, err
	}
	var out []continuation
	for _, l := range letters {
		c := continuation{from: l.Run, letter: l.ID}
		if json.Unmarshal(l.Data, &c) != nil || c.Run == "" {
			continue // of a later version
		}
		_, err := db.Run(ctx, c.Run)
		if begun := err == nil; begun == waiting || err != nil && !errors.Is(err, memory.ErrNoRun) {
			continue
		}
		out = append(out, c)
	}
	return out, nil
}

// errBegun says that another process has begun the run meanwhile.
var errBegun = errors.New("the run has begun already")

// resumeContinuation begins a run that was asked for after the end of another, and
// drives it. Found is false where id is none of these.
func (h *Host) resumeContinuation(
	ctx context.Context,
	db *memory.DB,
	id plan.RunID,
	o Options,
	face Face,
) (_ End, found bool, err error) {
	waiting, err := continuations(ctx, db, true)
	if err != nil {
		return End{}, false, err
	}
	for _, c := range waiting {
		if c.Run != id {
			continue
		}
		end, err := h.beginOrResume(ctx, db, c, o, face)
		return end, true, err
	}
	return End{}, false, nil
}

// beginOrResume is continueFrom, for a run that another process may have begun meanwhile.
func (h *Host) beginOrResume(ctx context.Context, db *memory.DB, c continuation, o Options, face Face) (End, error) {
	end, err := h.continueFrom(ctx, db, c, o, face)
	if errors.Is(err, errBegun) {
		return h.Resume(ctx, c.Run, o, face)
	}
	return end, err
}

// continueFrom begins the run of a continuation in the tree of the run that it goes on
// from, and drives it.
func (h *Host) continueFrom(
	ctx context.Context,
	db *memory.DB,
	c continuation,
	o Options,
	face Face,
) (_ End, err error) {
	h = h.withNotes(face.Note)
	before, err := h.Load(ctx, c.from)
	if err != nil {
		return End{}, err
	}
	r := Request{
		Dir:       before.Start.Repo,
		Text:      c.Text,
		Continues: c.from,
		Options:   o,
	}
	if before.Start.Aim == plan.AimAsk {
		if IsQuestion(c.Text) {
			r.AsQuestion()
		}
		if r.Context, err = h.conversationOf(ctx, c.from); err != nil {
			return End{}, err
		}
	}
	cfg, known, err := h.settingsAfter(ctx, db, before, r)
	if err != nil {
		return End{}, err
	}
	b := beginning{id: c.Run, before: before, letter: c.letter}
	if b.source, err = h.OpenRepo(ctx, before.Start.Repo); err != nil {
		return End{}, err
	}
	tree, err := h.reopenTree(ctx, db, before, cfg.WorktreeInclude, false)
	if err != nil {
		return End{}, err
	}
	if before.Start.Worktree == "" {
		tree = b.source
	}
	if err := requireSnapshots(ctx, tree, before); err != nil {
		return End{}, err
	}
	hold, err := h.holdTree(ctx, tree, c.Run)
	if err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, hold.Close()) }()
	s, err := h.openSession(ctx, cfg, o, face, tree, before.Start.Repo, db, known)
	if err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, s.closeModel()) }()
	if b.making, err = h.beginMaking(ctx, db, c.Run, b.source); err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, b.making.end(ctx)) }()
	return s.begin(ctx, r, b)
}

// settingsAfter are the settings of a run that goes on from another: those of that one,
// with a budget and a way of its own. Known is what that one found out about its servers.
func (h *Host) settingsAfter(
	ctx context.Context,
	db *memory.DB,
	before *engine.Run,
	r Request,
) (cfg config.Config, known []plan.Adjusted, err error) {
	files, err := h.Settings(before.Start.Repo, config.Config{})
	if err != nil {
		return cfg, nil, err
	}
	imported, err := importedUpTo(ctx, db, before.ID, before.Start)
	if err != nil {
		return cfg, nil, err
	}
	if imported > 0 { // what a journal from elsewhere says of settings counts for nothing
		cfg = r.applyTo(files)
	} else {
		var previous stored
		if previous, cfg, _, err = h.keptSettings(before, files, r.Options); err != nil {
			return cfg, nil, err
		}
		cfg, known = withRules(cfg, previous.Config, files), before.Adjusted
	}
	cfg.Way = cmp.Or(r.Settings.Way, files.Way)
	cfg.Worktree = nil // it works where that one did
	if before.Start.Aim != plan.AimChange && r.Settings.MaxReviewCycles == nil {
		cfg.MaxReviewCycles = files.MaxReviewCycles
	}
	if r.Aim == plan.AimAsk {
		cfg.MaxReviewCycles = new(0)
	}
	return cfg, known, nil
}

// describeBefore writes down where a run goes on from, and what came of that one.
func (s *session) describeBefore(ctx context.Context, b *beginning, start *plan.RunStart) error {
	previous := b.before
	if previous.Start.Worktree != "" {
		start.Worktree, start.WorkBranch = previous.Start.Worktree, previous.Start.WorkBranch
		start.Base, start.Branch = previous.Start.Base, previous.Start.Branch
	}
	text, err := s.host.outcomeText(ctx, previous)
	if err != nil {
		return err
	}
	start.Before = s.redactRead(text)
	if b.first == nil || b.first.Tree == previous.Tree() {
		return nil
	}
	changed, err := s.repo.Changed(ctx, previous.Tree(), b.first.Tree)
	if err != nil || len(changed) == 0 {
		return wrap("compare the tree with how the earlier run left it", err)
	}
	s.host.note(fmt.Sprintf("since run %s ended, %s: what is there now is where this run begins",
		previous.ID, filesChanged(changed)))
	start.Before += fmt.Sprintf("\n\nSince then others have changed the tree: %s. It is as they left it.",
		s.redactRead(filesChanged(changed)))
	return nil
}
