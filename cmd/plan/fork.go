package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

func (a *app) forkCommand() *cobra.Command {
	var at int64
	var request string
	cmd := &cobra.Command{
		Use:   "fork RUN --at SEQ",
		Short: "Begin a new run in the middle of another one",
		Long: `Fork makes a run whose journal begins as that of RUN does, up to an event, and
gives it a work tree of its own with the files as they were then. It is cut at
the last moment before that event from which a run can go on: a move from one
phase to the next, or the end of a turn of a phase that only reads. What RUN
spent until then is shown, but does not count towards the new run.

The new run is parked; "plan resume" goes on with it, "plan steer" or --request
sends it another way.`,
		Example: `  plan events 01JX                       find the moment
  plan fork 01JX --at 57
  plan fork 01JX --at 57 --request "Keep the old flag working as well"`,
		Args: oneArg("the id of a run, or a prefix of it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at < 1 {
				return usage("fork needs --at SEQ: the seq of an event, as `plan events` shows it")
			}
			return a.withDB(cmd, func(ctx context.Context, db *memory.DB) error {
				id, err := findRun(ctx, db, args[0])
				if err != nil {
					return err
				}
				return a.fork(ctx, db, id, at, strings.TrimSpace(request))
			})
		},
	}
	cmd.Flags().Int64Var(&at, "at", 0, "the `SEQ` of the event to begin at")
	cmd.Flags().StringVar(
		&request,
		"request",
		"",
		"a further request, given to the implementer when it would otherwise be done",
	)
	return cmd
}

// prefix is the part of a journal that a fork begins with.
type prefix struct {
	run    *engine.Run // at its end
	events []plan.Event
}

// cut finds the last boundary at or before an event, and what stands before it.
func cut(ctx context.Context, db *memory.DB, id plan.RunID, at int64) (prefix, error) {
	var all []plan.Event
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
			end = len(all) + 1
		}
		all = append(all, ev)
	}
	switch {
	case at > run.Head:
		return prefix{}, &advice{
			fmt.Sprintf("run %s has no event %d; its last is %d", id, at, run.Head),
			"`plan events " + string(id) + "` lists them.",
		}
	case end == 0 && next > 0:
		return prefix{}, &advice{
			fmt.Sprintf("no run can go on from event %d of run %s", at, id),
			fmt.Sprintf("The first moment from which one can is event %d.", next),
		}
	case end == 0:
		return prefix{}, fmt.Errorf("run %s has no moment from which a run could go on", id)
	}
	p := prefix{run: &engine.Run{}, events: all[:end]}
	for _, ev := range p.events {
		p.run.Apply(ev)
	}
	return p, nil
}

// forked is what fork did, as --json says it.
type forked struct {
	ID       plan.RunID `json:"id"`
	From     plan.Fork  `json:"forked_from"`
	State    plan.State `json:"state"`
	Tree     string     `json:"tree"` // label of the snapshot that its files are taken from
	Worktree string     `json:"worktree"`
	Branch   string     `json:"work_branch"`
}

func (a *app) fork(ctx context.Context, db *memory.DB, from plan.RunID, at int64, request string) error {
	p, err := cut(ctx, db, from, at)
	if err != nil {
		return failed(err)
	}
	repo, err := openRepo(ctx, p.run.Start.Repo)
	if err != nil {
		return err
	}
	id := newRunID(a.now)
	start := *p.run.Start
	start.ForkedFrom = &plan.Fork{
		Run:  from,
		Seq:  p.run.Head,
		Time: a.now().UTC(),
	}
	tree, err := a.forkTree(ctx, repo, id, p.run, &start)
	if err != nil {
		return err
	}
	if err := a.beginFork(ctx, db, repo, id, start, p); err != nil {
		if _, rerr := db.Run(ctx, id); errors.Is(rerr, memory.ErrNoRun) {
			_, derr := repo.Drop(context.WithoutCancel(ctx), tree.Root(), start.WorkBranch, start.Base)
			err = errors.Join(err, derr)
		}
		return failed(err)
	}
	if request != "" {
		if err := a.post(ctx, db, id, loop.FollowUp, letterText{Text: request}); err != nil {
			return err
		}
	}
	out := forked{
		ID:       id,
		From:     *start.ForkedFrom,
		State:    p.run.State,
		Tree:     p.run.Snapshots[len(p.run.Snapshots)-1].Label,
		Worktree: start.Worktree,
		Branch:   start.WorkBranch,
	}
	if a.json {
		return a.document(out)
	}
	fmt.Fprintf(
		a.out,
		"%s: forked from %s after event %d (%s), with the tree as of %q\n",
		id,
		from,
		out.From.Seq,
		out.State,
		out.Tree,
	)
	_, err = fmt.Fprintf(
		a.out,
		"  work tree  %s\n  branch     %s\nGo on with: plan resume %s\n",
		render.SafeLine(out.Worktree),
		out.Branch,
		id,
	)
	return failed(err)
}

// forkTree makes the work tree of a fork.
func (a *app) forkTree(
	ctx context.Context,
	repo *worktree.Repo,
	id plan.RunID,
	run *engine.Run,
	start *plan.RunStart,
) (*worktree.Repo, error) {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return nil, failed(err)
	}
	var was stored
	if err := json.Unmarshal(start.Config, &was); err != nil {
		return nil, failed(fmt.Errorf("read the settings the run was started with: %w", err))
	}
	tree, branch, err := a.addTree(ctx, repo, id, worktree.NewTree{
		Dir:     filepath.Join(paths.Worktrees, string(id)),
		Base:    start.Base,
		Tree:    run.Tree(),
		Include: was.WorktreeInclude,
	})
	if err != nil {
		return nil, err
	}
	start.Worktree, start.WorkBranch = tree.Root(), branch
	return tree, nil
}

// beginFork writes the journal of a fork in one commit, and parks it.
func (a *app) beginFork(
	ctx context.Context,
	db *memory.DB,
	repo *worktree.Repo,
	id plan.RunID,
	start plan.RunStart,
	p prefix,
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
	if _, err := writer.Append(ctx, events...); err != nil {
		return err
	}
	run, err := foldRun(ctx, db, id, nil)
	if err != nil {
		return err
	}
	eng, err := engine.New(engine.Config{
		Runner:    noRunner{},
		Checker:   &checker{},
		Snapshots: repo,
		Now:       a.now,
		Journal: &journal{
			db:     db,
			writer: writer,
			run:    id,
			taken:  func() []int64 { return nil },
		},
	}, run)
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
			ev.Body = start
		case plan.UsageReport:
			b.Inherited = true
			ev.Body = b
		case plan.Snapshot:
			kept, err := repo.Keep(ctx, id, b.Label, b.Tree)
			if err != nil {
				return nil, err
			}
			ev.Body = kept
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
