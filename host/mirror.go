package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/internal/subpath"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// Mirror keeps the journal of a run in another place, from which another machine can go
// on with the run. Nothing is done that it does not have.
type Mirror interface {
	// Append returns once a part of the journal is kept, and the snapshots that it speaks
	// of. Errors: memory.ErrNewLetters, and [ErrUnreachable], which parks the run.
	Append(ctx context.Context, p memory.Part, b worktree.Bundle) error
	// Kept are the snapshots that it has: commits by ref.
	Kept() map[string]string
}

// ErrUnreachable is a [Mirror]'s: it does not answer.
var ErrUnreachable = errors.New("the run's journal cannot be kept where other machines find it")

// mirrored keeps a run's journal in a mirror, together with its snapshots.
type mirrored struct {
	to   Mirror
	repo *worktree.Repo
	run  plan.RunID
	base string // commit that every machine has
}

// Append implements memory.Mirror.
func (m mirrored) Append(ctx context.Context, p memory.Part) (err error) {
	var bundle worktree.Bundle
	if slices.ContainsFunc(p.Events, speaksOfTrees) {
		if bundle, err = m.repo.Bundle(ctx, m.run, m.base, m.to.Kept()); err != nil {
			return err
		}
	}
	failpoint.Hit("before a part is kept")
	defer failpoint.Hit("after a part is kept")
	return m.to.Append(ctx, p, bundle)
}

// speaksOfTrees reports whether a snapshot may have been taken for an event. For a verdict
// there is one, which no event names unless the tree has changed.
func speaksOfTrees(ev plan.Event) bool {
	return ev.Type() == plan.TypeSnapshot || ev.Type() == plan.TypeDrift || ev.Type() == plan.TypeVerdict
}

// mirrorTo has the journal of the run kept by a mirror, if there is one.
func (s *session) mirrorTo(m Mirror, run plan.RunID, base string) {
	if m != nil {
		s.writer.MirrorTo(mirrored{
			to:   m,
			repo: s.repo,
			run:  run,
			base: base,
		})
	}
}

// parkUnmirrored parks a run whose mirror does not answer, in this home alone. What is
// open stays as it is, as where a process is killed.
func (s *session) parkUnmirrored(ctx context.Context, run *engine.Run, cause error) (engine.End, error) {
	park := plan.Parked{Reason: plan.ParkUnreachable, Detail: cause.Error()}
	stored, err := s.writer.AppendHere(context.WithoutCancel(ctx), plan.Event{
		Run:  run.ID,
		Job:  run.Job,
		Time: s.host.now(),
		Body: park,
	})
	for _, ev := range stored {
		s.heartbeat.event(ev)
	}
	return engine.End{
		State:    run.State,
		Parked:   &park,
		ExitCode: park.Reason.ExitCode(),
	}, err
}

// placeHere has a run of a queue work where it does in this home, whichever it began in:
// its clone and its tree have the same names in each.
func placeHere(db *memory.DB, run *engine.Run) {
	if run.Start == nil || !run.Start.Mirrored || isHere(db, run.Start.Worktree) {
		return
	}
	start := *run.Start
	start.Repo = cloneHere(db, start.Repo)
	start.Worktree = filepath.Join(filepath.Dir(db.Path()), "worktrees", string(run.ID))
	run.Start = &start
}

// isHere reports whether a path is in the home of a database.
func isHere(db *memory.DB, path string) bool {
	home := filepath.Dir(db.Path())
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	return subpath.Within(home, path)
}

// cloneHere is where this home has the clone that another one has at a path.
func cloneHere(db *memory.DB, elsewhere string) string {
	return filepath.Join(filepath.Dir(db.Path()), clones, filepath.Base(elsewhere))
}

// clones is the folder of a home with the repositories that jobs name by URLs.
const clones = "cache/repos"

// placeListed is [placeHere] for runs in a list, which has of each what it began with.
func placeListed(ctx context.Context, db *memory.DB, runs []memory.RunInfo) error {
	for i, r := range runs {
		if r.Job == "" || !strings.HasSuffix(filepath.Dir(r.Repo), clones) || isHere(db, r.Repo) {
			continue
		}
		for ev, err := range db.Events(ctx, r.ID, memory.Query{}) {
			if err != nil && !memory.IsDamage(err) { // what can be read of a damaged one is listed
				return err
			}
			if start, ok := ev.Body.(plan.RunStart); ok && start.Mirrored {
				runs[i].Repo = cloneHere(db, r.Repo)
			}
			break // that was the first
		}
	}
	return nil
}

// ResumeJob is [Host.Resume] of a job's run that another machine has driven since this
// one did, if it ever did. The snapshots that came from there are taken in, and its work
// tree is made anew from the last one. Settings are those of this home and of the job.
func (h *Host) ResumeJob(
	ctx context.Context,
	repos *Repos,
	j Job,
	snapshots []worktree.Bundle,
	face Face,
) (End, error) {
	if err := h.TakeOver(ctx, repos, j, snapshots); err != nil {
		return End{}, err
	}
	return h.resume(ctx, j.ID, j.Options, true, face)
}

// TakeOver makes ready what the run of a job needs here that another machine has driven.
func (h *Host) TakeOver(ctx context.Context, repos *Repos, j Job, snapshots []worktree.Bundle) error {
	from, err := repos.open(ctx, h, j)
	if err != nil {
		return err
	}
	paths, err := h.Paths()
	if err != nil {
		return err
	}
	from.mu.Lock()
	defer from.mu.Unlock()
	takeIn := func() error {
		for _, b := range snapshots {
			if err := from.repo.Unbundle(ctx, j.ID, b); err != nil {
				return err
			}
		}
		return nil
	}
	if err := takeIn(); err != nil { // the run began at what the repository did not have yet
		if err := errors.Join(from.repo.Fetch(ctx), takeIn()); err != nil {
			return err
		}
	}
	dir := filepath.Join(paths.Worktrees, string(j.ID))
	if _, err := os.Lstat(dir); err != nil {
		return nil //nolint:nilerr // there is none yet
	}
	_, err = from.repo.Drop(ctx, dir, "", "")
	return err
}

// settingsHere are those under which a run goes on that another machine has driven: those
// of this home, and what the job asks for.
func (h *Host) settingsHere(
	run *engine.Run,
	tree string,
	o Options,
) (previous stored, cfg config.Config, changed *plan.SettingsChanged, err error) {
	files, err := h.Settings(tree, config.Config{})
	if err != nil {
		return previous, cfg, nil, err
	}
	previous, cfg, changed, err = h.foreignSettings(run, files, o)
	if err != nil {
		return previous, cfg, nil, err
	}
	if changed == nil {
		changed = &plan.SettingsChanged{Models: connect.PhaseModels(cfg)}
		if _, changed.Config, err = flattenSettings(previous); err != nil {
			return previous, cfg, nil, err
		}
	}
	if changed.Machine, err = os.Hostname(); err != nil {
		changed.Machine = "another"
	}
	changed.Changed = append([]string{"machine: taken up on " + changed.Machine}, changed.Changed...)
	return previous, cfg, changed, nil
}

// turnLabel is what the labels of snapshots after a turn begin with.
const turnLabel = "turn-"

// turnSnapshots takes a snapshot before it is written down that a call of the implementer
// has ended which may have changed the tree: what is claimed to be done can be had then,
// wherever the run goes on.
type turnSnapshots struct {
	repo  *worktree.Repo
	calls map[string]bool // that may change the tree
	tree  string          // of the last snapshot
	count int             // of snapshots of turns
}

func newTurnSnapshots(repo *worktree.Repo, past []plan.Event) *turnSnapshots {
	t := &turnSnapshots{repo: repo, calls: map[string]bool{}}
	t.observe(past...)
	return t
}

func (t *turnSnapshots) observe(events ...plan.Event) {
	if t == nil {
		return
	}
	for _, ev := range events {
		switch b := ev.Body.(type) {
		case plan.ToolStart:
			if ev.Phase == plan.Implement && b.Effect != plan.EffectReplay {
				t.calls[b.Call] = true
			}
		case plan.Snapshot:
			t.tree = b.Tree
			if strings.HasPrefix(b.Label, turnLabel) {
				t.count++
			}
		}
	}
}

// with adds a snapshot to events, where they need one.
func (t *turnSnapshots) with(ctx context.Context, events []plan.Event) ([]plan.Event, error) {
	if t == nil {
		return events, nil
	}
	at := -1
	for i, ev := range events {
		if end, ok := ev.Body.(plan.ToolEnd); ok && ev.Phase == plan.Implement && t.calls[end.Call] {
			at = i
		}
	}
	if at < 0 {
		return events, nil
	}
	state, err := t.repo.Look(ctx)
	if err != nil || state.Tree == t.tree {
		return events, err
	}
	snap, err := t.repo.SnapshotOf(ctx, events[at].Run, turnLabel+strconv.Itoa(t.count+1), state)
	if err != nil {
		return events, err
	}
	ev := events[at]
	ev.Body, ev.Blobs = snap, nil
	ev.Conv, ev.Parent, ev.Turn = "", "", nil // it is none of the conversation's
	return slices.Insert(slices.Clone(events), at+1, ev), nil
}
