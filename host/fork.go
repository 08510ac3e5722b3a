package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// prefix is the part of a journal that a fork begins with.
type prefix struct {
	run    *engine.Run // at its end
	events []plan.Event
}

// cutJournal finds the last boundary at or before an event, and what stands before it.
func cutJournal(ctx context.Context, db *memory.DB, id plan.RunID, at int64) (prefix, error) {
	var events []plan.Event
	run, end, next := &engine.Run{}, 0, int64(0)
	for ev, err := range db.Events(ctx, id, memory.Query{}) {
		if err != nil {
			return prefix{}, err
		}
		run.Apply(ev)
		if boundary := run.Boundary(ev); ev.Seq > at && (boundary || end > 0) {
			next = ev.Seq
			break
		} else if boundary {
			end = len(events) + 1
		}
		events = append(events, ev)
	}
	switch {
	case at > run.Head:
		return prefix{}, hint.New(
			fmt.Sprintf("run %s has no event %d; its last is %d", id, at, run.Head),
			"`plan show "+string(id)+" --events` lists them.",
		)
	case end == 0 && next > 0:
		return prefix{}, hint.New(
			fmt.Sprintf("no run can go on from event %d of run %s", at, id),
			fmt.Sprintf("The first moment from which one can is event %d.", next),
		)
	case end == 0:
		return prefix{}, fmt.Errorf("run %s has no moment from which a run could go on", id)
	}
	p := prefix{run: &engine.Run{}, events: events[:end]}
	for _, ev := range p.events {
		p.run.Apply(ev)
	}
	placeHere(db, p.run)
	return p, nil
}

// Forked is a new run that begins as another one does.
type Forked struct {
	ID       plan.RunID `json:"id"`
	From     plan.Fork  `json:"forked_from"`
	State    plan.State `json:"state"`
	Tree     string     `json:"tree"` // label of the snapshot that its files are taken from
	Worktree string     `json:"worktree"`
	Branch   string     `json:"work_branch"`
}

// Fork makes a run whose journal begins as that of another does, up to an event,
// with a work tree of its own and the files as they were then. It is cut at the
// last moment before that event from which a run can go on. Request, if it is not
// "", is a further one. The new run is parked.
func (h *Host) Fork(ctx context.Context, from plan.RunID, at int64, request string) (_ Forked, err error) {
	db, err := h.DB(ctx)
	if err != nil {
		return Forked{}, err
	}
	p, err := cutJournal(ctx, db, from, at)
	if err != nil {
		return Forked{}, err
	}
	if err := h.requireStanding(ctx, p.run, fmt.Sprintf("fork %s --at %d", from, at)); err != nil {
		return Forked{}, err
	}
	repo, err := h.OpenRepo(ctx, p.run.Start.Repo)
	if err != nil {
		return Forked{}, err
	}
	id := h.NewRunID()
	start := *p.run.Start
	start.Mirrored = false
	start.ForkedFrom = &plan.Fork{
		Run:  from,
		Seq:  p.run.Head,
		Time: h.now().UTC(),
	}
	upTo, err := importedUpTo(ctx, db, from, &start)
	if err != nil {
		return Forked{}, err
	}
	making, err := h.beginMaking(ctx, db, id, repo)
	if err != nil {
		return Forked{}, err
	}
	defer func() { err = errors.Join(err, making.end(ctx)) }()
	tree, err := h.forkTree(ctx, repo, making, id, p.run, &start, upTo > 0)
	if err != nil {
		return Forked{}, err
	}
	if err := h.beginFork(ctx, db, repo, id, start, p, min(upTo, p.run.Head)); err != nil {
		if _, rerr := db.Run(ctx, id); errors.Is(rerr, memory.ErrNoRun) {
			_, derr := repo.Drop(context.WithoutCancel(ctx), tree.Root(), start.WorkBranch, start.Base)
			err = errors.Join(stopped(ctx, err), derr)
		}
		return Forked{}, err
	}
	if request != "" {
		err = h.post(ctx, db, id, Letter{
			Kind: FollowUp,
			Text: request,
		})
	}
	return Forked{
		ID:       id,
		From:     *start.ForkedFrom,
		State:    p.run.State,
		Tree:     p.run.Snapshots[len(p.run.Snapshots)-1].Label,
		Worktree: start.Worktree,
		Branch:   start.WorkBranch,
	}, err
}

// forkTree makes the work tree of a fork. Which ignored files are copied into one that
// begins as a run did elsewhere is what the settings say here.
func (h *Host) forkTree(
	ctx context.Context,
	repo *worktree.Repo,
	making *making,
	id plan.RunID,
	run *engine.Run,
	start *plan.RunStart,
	isForeign bool,
) (*worktree.Repo, error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	var previous stored
	if err := json.Unmarshal(start.Config, &previous); err != nil {
		return nil, wrap("read the settings the run was started with", err)
	}
	if isForeign {
		if previous.Config, err = h.Settings(repo.Root(), config.Config{}); err != nil {
			return nil, err
		}
	}
	tree, branch, err := h.addTree(ctx, repo, making, id, worktree.NewTree{
		Dir:     filepath.Join(paths.Worktrees, string(id)),
		Base:    start.Base,
		Tree:    run.Tree(),
		Written: true,
		Include: previous.WorktreeInclude,
	})
	if err != nil {
		return nil, err
	}
	start.Worktree, start.WorkBranch = tree.Root(), branch
	return tree, nil
}

// beginFork writes the journal of a fork in one commit, with a note of how much of it
// was written elsewhere, and parks it.
func (h *Host) beginFork(
	ctx context.Context,
	db *memory.DB,
	repo *worktree.Repo,
	id plan.RunID,
	start plan.RunStart,
	p prefix,
	imported int64,
) (err error) {
	events, err := inherit(ctx, repo, id, start, p.events)
	if err != nil {
		return err
	}
	if events[0].Blobs, err = inheritBlobs(ctx, db, start.ForkedFrom.Run, events); err != nil {
		return err
	}
	writer, err := db.Own(ctx, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, writer.Close()) }()
	failpoint.Hit("before a fork begins")
	if _, err := writer.AppendImported(ctx, imported, events...); err != nil {
		return err
	}
	run, err := Fold(ctx, db, id, nil)
	if err != nil {
		return err
	}
	eng, err := h.idleEngine(db, writer, run, repo)
	if err != nil {
		return err
	}
	return eng.Park(ctx, plan.Parked{
		Reason: plan.ParkInterrupted,
		Detail: fmt.Sprintf("forked from run %s after event %d", start.ForkedFrom.Run, start.ForkedFrom.Seq),
	})
}

// inherit makes another run's events those of a fork, with snapshots that the
// fork keeps for itself.
func inherit(
	ctx context.Context,
	repo *worktree.Repo,
	id plan.RunID,
	start plan.RunStart,
	from []plan.Event,
) ([]plan.Event, error) {
	events := make([]plan.Event, 0, len(from))
	for _, ev := range from {
		ev.Run, ev.Seq = id, 0
		switch b := ev.Body.(type) {
		case plan.RunStart:
			if a := start.Against; a != nil {
				snapshot, err := repo.Keep(ctx, id, labelBase, a.Tree)
				if err != nil {
					return nil, err
				}
				own := *a
				own.Kept, start.Against = snapshot.Ref, &own
			}
			ev.Body = start
		case plan.UsageReport:
			b.Inherited = true
			ev.Body = b
		case plan.Snapshot:
			snapshot, err := repo.Keep(ctx, id, b.Label, b.Tree)
			if err != nil {
				return nil, err
			}
			ev.Body = snapshot
		}
		events = append(events, ev)
	}
	return events, nil
}

// hashLike fits the hash of a blob.
var hashLike = lazy.Regexp(`\b[0-9a-f]{64}\b`)

// inheritBlobs loads what the events refer to, so that it is kept for as long
// as the fork is.
func inheritBlobs(ctx context.Context, db *memory.DB, from plan.RunID, events []plan.Event) ([]plan.Blob, error) {
	hashes, err := db.BlobRefs(ctx, from)
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for _, ev := range events {
		line, err := ev.AppendJSON(nil)
		if err != nil {
			return nil, fmt.Errorf("copy event: %w", err)
		}
		for _, hash := range hashLike().FindAll(line, -1) {
			needed[string(hash)] = true
		}
	}
	var blobs []plan.Blob
	for _, hash := range hashes {
		if !needed[hash] {
			continue
		}
		data, err := db.Blob(ctx, hash)
		if err != nil {
			return nil, err
		}
		blobs = append(blobs, plan.NewBlob(data))
	}
	return blobs, nil
}
