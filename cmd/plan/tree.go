package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// occupy keeps a work tree for a run that this process drives, or for a command
// that writes to it.
func (a *app) occupy(repo *worktree.Repo, id plan.RunID) (*worktree.Hold, error) {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return nil, failed(err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	hold, err := repo.Hold(paths.Locks, worktree.Holder{
		Run:   id,
		PID:   os.Getpid(),
		Host:  host,
		Since: a.now().UTC(),
	})
	return hold, failed(err)
}

// ownTree makes a work tree for a new run, with the files as they are in the
// user's, dirt included: what somebody asks to be changed is what they see.
func (a *app) ownTree(
	ctx context.Context,
	source *worktree.Repo,
	id plan.RunID,
	include []string,
) (*worktree.Repo, string, error) {
	paths, err := config.FindHome(a.getenv)
	if err != nil {
		return nil, "", failed(err)
	}
	spec := worktree.NewTree{Dir: filepath.Join(paths.Worktrees, string(id)), Include: include}
	if spec.Base, err = source.Head(ctx); err != nil {
		return nil, "", failed(err)
	}
	if spec.Tree, err = source.Tree(ctx); err != nil {
		return nil, "", failed(err)
	}
	return a.addTree(ctx, source, id, spec)
}

// addTree makes the work tree of a run on a branch of its own.
func (a *app) addTree(
	ctx context.Context,
	source *worktree.Repo,
	id plan.RunID,
	spec worktree.NewTree,
) (*worktree.Repo, string, error) {
	var err error
	if spec.Branch, err = source.FreeBranch(ctx, "plan/", strings.ToLower(string(id))); err != nil {
		return nil, "", failed(err)
	}
	tree, notes, err := source.Add(ctx, spec)
	if err != nil {
		return nil, "", failed(err)
	}
	a.note(notes...)
	return tree, spec.Branch, nil
}

// note tells people what they should know and can do without.
func (a *app) note(notes ...string) {
	for _, n := range notes {
		fmt.Fprintf(a.err, "plan: note: %s\n", render.SafeLine(n))
	}
}

// noteSubmodules says which submodules the run cannot see into.
func (a *app) noteSubmodules(paths []string) {
	if len(paths) > 0 {
		a.note(
			fmt.Sprintf(
				"changes inside submodules are in no snapshot, diff or review, and there are some in %s: commit them there first if they matter",
				strings.Join(paths, ", "),
			),
		)
	}
}

// treeOf opens the work tree that a run works in.
func treeOf(ctx context.Context, run *engine.Run) (*worktree.Repo, error) {
	if run.Start.Worktree != "" {
		return worktree.OpenOwn(ctx, run.Start.Worktree)
	}
	return worktree.Open(ctx, run.Start.Repo)
}

// backTree opens the work tree of a run that goes on. One of the run's own that
// is gone is made again from the last snapshot; what came after that is lost,
// and the model is told.
func (a *app) backTree(
	ctx context.Context,
	db *memory.DB,
	run *engine.Run,
	include []string,
) (*worktree.Repo, error) {
	if err := a.ownsTree(run); err != nil {
		return nil, err
	}
	tree, err := treeOf(ctx, run)
	if run.Start.Worktree == "" || !errors.Is(err, fs.ErrNotExist) {
		return tree, failed(err)
	}
	source, err := openRepo(ctx, run.Start.Repo)
	if err != nil {
		return nil, err
	}
	tree, notes, err := source.Add(ctx, worktree.NewTree{
		Dir:     run.Start.Worktree,
		Branch:  run.Start.WorkBranch,
		Base:    run.Start.Base,
		Tree:    run.Tree(),
		Include: include,
	})
	if err != nil {
		return nil, failed(err)
	}
	last := run.Snapshots[len(run.Snapshots)-1].Label
	a.note(
		append(
			notes,
			fmt.Sprintf(
				"the run's work tree %s was gone; it was made again from the snapshot %q",
				run.Start.Worktree,
				last,
			),
		)...)
	if run.State == plan.Implementing {
		err = a.post(ctx, db, run.ID, loop.Steer, letterText{Text: fmt.Sprintf(
			"The work tree was lost and made again from an earlier snapshot (%s). Edits that you made after it are gone: look at the files again before you go on.",
			last,
		)})
	}
	return tree, err
}

// ownsTree refuses to work in a tree of another home, which a run that was
// imported names: the run may be going on there.
func (a *app) ownsTree(run *engine.Run) error {
	paths, err := config.FindHome(a.getenv)
	if err != nil || run.Start.Worktree == "" {
		return failed(err)
	}
	if rel, err := filepath.Rel(paths.Worktrees, run.Start.Worktree); err == nil && filepath.IsLocal(rel) {
		return nil
	}
	return failed(&advice{
		fmt.Sprintf("run %s works in %s, which belongs to another PLAN_HOME", run.ID, run.Start.Worktree),
		fmt.Sprintf("Go on with it there, or with a run of its own here: plan fork %s --at %d", run.ID, run.Head),
	})
}

// settle finds the place where a new run works: the user's tree, or one of its
// own. What it returns gives the place up; the tree of a run that never began
// goes with it.
func (a *app) settle(ctx context.Context, w *workshop, opts *startOptions) (leave func() error, err error) {
	drop := func() error { return nil }
	if w.cfg.Worktree != nil && *w.cfg.Worktree {
		if w.repo, opts.branch, err = a.ownTree(ctx, opts.source, opts.id, w.cfg.WorktreeInclude); err != nil {
			return nil, err
		}
		drop = func() error {
			ctx := context.WithoutCancel(ctx)
			if _, err := w.db.Run(ctx, opts.id); !errors.Is(err, memory.ErrNoRun) {
				return nil
			}
			_, err := opts.source.Drop(ctx, w.repo.Root(), opts.branch, "HEAD")
			return failed(err)
		}
		if w.guard, err = a.newGuard(w); err != nil { // the rules speak of this tree now
			return nil, errors.Join(failed(err), drop())
		}
	}
	hold, err := a.occupy(w.repo, opts.id)
	if err != nil {
		return nil, errors.Join(err, drop())
	}
	return func() error { return errors.Join(failed(hold.Close()), drop()) }, nil
}

// found is what git says of the work tree before the first request.
type found struct {
	standing     worktree.Standing
	instructions []worktree.Instruction
	// first is the snapshot that the run begins with; nil where it could not be
	// taken, for which there will be a reason when it is taken again.
	first *plan.Snapshot
}

// lookAround asks git, and keeps what the run begins with, while the caller goes
// on: git is a process for each of its answers.
func (w *workshop) lookAround(ctx context.Context, opts startOptions) func() (found, error) {
	var f found
	var asked errgroup.Group
	if opts.base == "" && w.repo != opts.source { // with a base nothing is begun with but that commit
		asked.Go(func() (err error) {
			f.standing, err = opts.source.Standing(ctx)
			return err
		})
	}
	asked.Go(func() error {
		survey, err := w.repo.Survey(ctx)
		if err != nil {
			return err
		}
		if f.instructions = survey.Instructions; w.repo == opts.source {
			f.standing = survey.Standing
		}
		if survey.Sighting.Tree != "" {
			if snap, err := w.repo.SnapshotOf(ctx, opts.id, engine.LabelStart, survey.Sighting); err == nil {
				f.first = &snap
			}
		}
		return nil
	})
	return func() (found, error) {
		err := asked.Wait()
		return f, err //nolint:wrapcheck // worktree's
	}
}

// surveyTree writes down what a run finds: the user's commit and branch, and
// where the run works.
func (w *workshop) surveyTree(opts startOptions, now worktree.Standing, start *plan.RunStart) {
	start.Repo = opts.source.Root()
	if opts.base != "" {
		start.Base, start.Worktree, start.WorkBranch = opts.base, w.repo.Root(), opts.branch
		return
	}
	start.Base, start.Branch, start.Dirty, start.DirtySubmodules = now.Head, now.Branch, now.Dirty, now.Submodules
	if w.repo != opts.source {
		start.Worktree, start.WorkBranch = w.repo.Root(), opts.branch
	}
}

// trees are the snapshots of a run's work tree. A reviewer is also shown what
// snapshots cannot hold.
type trees struct {
	*worktree.Repo
	first *plan.Snapshot // of a run that is about to begin, if it was taken
}

// Snapshot implements engine.Snapshots. Around an Implement it also notes the
// ignored files that a check may execute.
func (t *trees) Snapshot(ctx context.Context, run plan.RunID, label string) (plan.Snapshot, error) {
	if first := t.first; first != nil && first.Label == label {
		t.first = nil
		return *first, nil
	}
	if !strings.Contains(label, "implement") {
		return t.Repo.Snapshot(ctx, run, label)
	}
	var snap plan.Snapshot
	var tools map[string]string
	var both errgroup.Group
	both.Go(func() (err error) {
		snap, err = t.Repo.Snapshot(ctx, run, label)
		return err
	})
	both.Go(func() (err error) {
		tools, err = t.Tools(ctx)
		return err
	})
	err := both.Wait()
	snap.Tools = tools
	return snap, err //nolint:wrapcheck // worktree's
}

// Diff implements engine.Snapshots.
func (t *trees) Diff(ctx context.Context, from, to string) (string, error) {
	diff, err := t.Repo.Diff(ctx, from, to)
	if err != nil {
		return "", err
	}
	inside, err := t.InSubmodules(ctx)
	return diff + inside, err
}
