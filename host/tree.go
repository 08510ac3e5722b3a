package host

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
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// holdTree keeps a work tree for a run that this process drives, or for a change
// that is made to it. A tree that another process holds is an error.
func (h *Host) holdTree(ctx context.Context, repo *worktree.Repo, id plan.RunID) (*worktree.Hold, error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	hold, err := repo.Hold(ctx, paths.Locks, h.holderOf(id))
	if err != nil {
		return nil, err
	}
	merge, found, err := repo.Finish(ctx, hold.Intent())
	if err != nil {
		return nil, errors.Join(err, hold.Close())
	}
	switch {
	case found && len(merge.Paths) == 0:
		h.note(fmt.Sprintf("a command stopped in its work on %s; what it left in the way is gone", repo.Root()))
	case found:
		h.note(fmt.Sprintf(
			"a command stopped while it changed the files of %s; the change is finished now (files: %d)",
			repo.Root(),
			len(merge.Paths),
		))
	}
	return hold, nil
}

// holderOf is this process, as it works for a run.
func (h *Host) holderOf(id plan.RunID) worktree.Holder {
	machine, err := os.Hostname()
	if err != nil {
		machine = "an unknown host"
	}
	return worktree.Holder{
		Run:   id,
		PID:   os.Getpid(),
		Host:  machine,
		Since: h.now().UTC(),
	}
}

// makeOwnTree makes a work tree for a new run, with the files as they are in the
// user's, dirt included: what a person asks to be changed is what they see.
func (h *Host) makeOwnTree(
	ctx context.Context,
	source *worktree.Repo,
	making *making,
	id plan.RunID,
	include []string,
) (*worktree.Repo, string, error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, "", err
	}
	spec := worktree.NewTree{
		Dir:     filepath.Join(paths.Worktrees, string(id)),
		Include: include,
	}
	if spec.Base, err = source.Head(ctx); err != nil {
		return nil, "", err
	}
	stop := h.sayReading(source.Root())
	spec.Tree, err = source.Tree(ctx)
	stop()
	if err != nil {
		return nil, "", err
	}
	return h.addTree(ctx, source, making, id, spec)
}

// addTree makes the work tree of a run on a branch of its own, and returns both.
func (h *Host) addTree(
	ctx context.Context,
	source *worktree.Repo,
	making *making,
	id plan.RunID,
	spec worktree.NewTree,
) (*worktree.Repo, string, error) {
	var err error
	if spec.Branch, err = source.FreeBranch(ctx, branchPrefix, strings.ToLower(string(id))); err != nil {
		return nil, "", err
	}
	if err := making.tree(ctx, source, spec); err != nil {
		return nil, "", err
	}
	tree, notes, err := source.Holding(making.File()).Add(ctx, spec)
	if err != nil {
		return nil, "", err
	}
	h.noteAll(notes)
	return tree, spec.Branch, nil
}

// branchPrefix is what the branches of runs begin with; the beginning of an id follows.
const branchPrefix = "plan/"

// isNamedAfter reports whether a branch has a name that [Host.addTree] gives.
func isNamedAfter(branch string, id plan.RunID) bool {
	begin, ok := strings.CutPrefix(branch, branchPrefix)
	return ok && strings.HasPrefix(strings.ToLower(string(id)), begin)
}

func (h *Host) noteAll(notes []string) {
	for _, n := range notes {
		h.note(n)
	}
}

// noteSubmodules says which submodules the run cannot see into.
func (h *Host) noteSubmodules(paths []string) {
	if len(paths) == 0 {
		return
	}
	h.note("changes inside submodules are in no snapshot, diff or review, and there are some in " +
		strings.Join(paths, ", ") + ": commit them there first if they matter")
}

// treeOf opens the work tree that a run works in. One of its own is where this home
// has it, whatever a journal from elsewhere says.
func (h *Host) treeOf(ctx context.Context, run *engine.Run) (*worktree.Repo, error) {
	if run.Start.Worktree != "" {
		if err := h.requireOwnHome(ctx, run); err != nil {
			return nil, err
		}
		return h.openOwnTree(ctx, run.Start.Worktree)
	}
	return h.OpenRepo(ctx, run.Start.Repo)
}

// reopenTree opens the work tree of a run that goes on. One of the run's own that
// is gone is made again from the last snapshot; what came after that is lost,
// and the model is told. Of a run that has moved here nothing is lost: there is a snapshot
// of all that its journal says. Its place is held meanwhile: of two processes that go on from
// the same run one would else begin with what the other has not made yet.
func (h *Host) reopenTree(
	ctx context.Context,
	db *memory.DB,
	run *engine.Run,
	include []string,
	fromElsewhere bool,
) (_ *worktree.Repo, err error) {
	if run.Start.Worktree == "" {
		return h.treeOf(ctx, run)
	}
	if err := h.requireOwnHome(ctx, run); err != nil {
		return nil, err
	}
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	hold, err := worktree.HoldPlace(ctx, run.Start.Worktree, paths.Locks, h.holderOf(run.ID))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hold.Close()) }()
	tree, err := h.treeOf(ctx, run)
	if !errors.Is(err, fs.ErrNotExist) {
		return tree, err
	}
	source, err := h.OpenRepo(ctx, run.Start.Repo)
	if err != nil {
		return nil, err
	}
	tree, notes, err := source.Add(ctx, worktree.NewTree{
		Dir:     run.Start.Worktree,
		Branch:  run.Start.WorkBranch,
		Base:    run.Start.Base,
		Tree:    run.Tree(),
		Written: true,
		Include: include,
	})
	if err != nil {
		return nil, err
	}
	last := run.Snapshots[len(run.Snapshots)-1].Label
	h.noteAll(notes)
	if fromElsewhere {
		h.note(fmt.Sprintf("taken up from another machine; the work tree was made from the snapshot %q", last))
		return tree, nil
	}
	h.note(fmt.Sprintf("the run's work tree %s was gone; it was made again from the snapshot %q",
		run.Start.Worktree, last))
	if run.State != plan.Implementing {
		return tree, nil
	}
	text := fmt.Sprintf("The work tree was lost and made again from an earlier snapshot (%s). "+
		"Edits that you made after it are gone: look at the files again before you go on.", last)
	return tree, h.post(ctx, db, run.ID, Letter{
		Kind: Steer,
		Text: text,
	})
}

// requireSnapshots refuses a repository that is not the one a run worked in: an
// imported run may find another in its place, or a clone, which has no snapshots.
func requireSnapshots(ctx context.Context, repo *worktree.Repo, run *engine.Run) error {
	if run.Tree() == "" {
		return nil
	}
	err := repo.Has(ctx, run.Start.Base+"^{commit}", run.Tree()+"^{tree}")
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return hint.New(
		fmt.Sprintf("the repository %s does not have what run %s left in it: %v", run.Start.Repo, run.ID, err),
		"A run can be resumed in the repository that it began in, with its refs/plan. Elsewhere it can be shown.",
	)
}

// keepHomeApart has git ignore a home that lies in the work tree: the journal of
// a run must not be part of its change.
func keepHomeApart(home, root string) error {
	if rel, err := filepath.Rel(root, home); err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	file := filepath.Join(home, ".gitignore")
	if _, err := os.Lstat(file); err == nil {
		return nil
	}
	if err := os.WriteFile(file, []byte("*\n"), 0o600); err != nil {
		return fmt.Errorf("keep the home out of the repository it lies in: %w", err)
	}
	return nil
}

// survey is what git says of the work tree before the first request.
type survey struct {
	standing     worktree.Standing
	instructions []worktree.Instruction
	// first is the snapshot that the run begins with; nil where it could not be
	// taken, for which there will be a reason when it is taken again.
	first *plan.Snapshot
}

// surveyTree asks git, and keeps what the run begins with, while the caller goes
// on: git is a process for each of its answers. What it returns waits for them.
func (s *session) surveyTree(ctx context.Context, b *beginning) (wait func() (survey, error)) {
	var out survey
	var group errgroup.Group
	if b.base == "" && s.repo != b.source { // with a base nothing is begun with but that commit
		group.Go(func() (err error) {
			out.standing, err = b.source.Standing(ctx)
			return err
		})
	}
	group.Go(func() error {
		survey, err := s.repo.Survey(ctx)
		if err != nil {
			return err
		}
		out.instructions = survey.Instructions
		if s.repo == b.source {
			out.standing = survey.Standing
		}
		if survey.State.Tree == "" {
			return nil
		}
		snap, err := s.repo.Holding(b.making.File()).SnapshotOf(ctx, b.id, engine.LabelStart, survey.State)
		if err == nil {
			out.first = &snap
		}
		return nil
	})
	return func() (survey, error) {
		defer s.host.sayReading(s.repo.Root())()
		err := group.Wait()
		return out, err //nolint:wrapcheck // worktree's
	}
}

// snapshots are those of a run's work tree. A reviewer is also shown what
// snapshots cannot hold.
type snapshots struct {
	*worktree.Repo
	first     *plan.Snapshot // of a run that is about to begin, if it was taken
	heartbeat *heartbeat
}

// Snapshot implements engine.Snapshots. Around an Implement it also notes the
// ignored files that a check may execute.
func (t *snapshots) Snapshot(ctx context.Context, run plan.RunID, label string) (plan.Snapshot, error) {
	if first := t.first; first != nil && first.Label == label {
		t.first = nil
		return *first, nil
	}
	defer t.heartbeat.beat(plan.Event{Run: run}, "reading the work tree for snapshot "+label, readingPatience)()
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
func (t *snapshots) Diff(ctx context.Context, from, to string) (string, error) {
	diff, err := t.Repo.Diff(ctx, from, to)
	if err != nil {
		return "", err
	}
	inside, err := t.InSubmodules(ctx)
	return diff + inside, err
}

// copyTree copies the work tree for a reviewer or a check, where no layer can be
// laid over it. Once the run is being stopped it waits for no copy, nor for its
// removal: that goes on in the background, and what it does not get done is swept
// up by a later process.
func (s *session) copyTree(ctx context.Context) (dir string, remove func() error, err error) {
	type newPlace struct {
		view *worktree.View
		err  error
	}
	done := make(chan newPlace, 1)
	go func() {
		view, err := s.repo.View(ctx)
		done <- newPlace{view, err}
	}()
	select {
	case m := <-done:
		if m.err != nil {
			return "", nil, m.err
		}
		return m.view.Dir, func() error { return s.removeCopy(ctx, m.view) }, nil
	case <-ctx.Done():
		s.cleanup.Go(func() {
			if m := <-done; m.view != nil {
				_ = m.view.Close() // swept up later
			}
		})
		return "", nil, context.Cause(ctx)
	}
}

func (s *session) removeCopy(ctx context.Context, view *worktree.View) error {
	if ctx.Err() == nil {
		return view.Close()
	}
	s.cleanup.Go(func() { _ = view.Close() }) // swept up later
	return nil
}

// describeTree writes down what a run finds: the user's commit and branch, and
// where the run works.
func (s *session) describeTree(b *beginning, now worktree.Standing, start *plan.RunStart) {
	start.Repo = b.source.Root()
	if b.base != "" {
		start.Base = b.base
		start.Worktree = s.repo.Root()
		start.WorkBranch = b.branch
		return
	}
	start.Base = now.Head
	start.Branch = now.Branch
	start.Dirty = now.Dirty
	start.DirtySubmodules = now.Submodules
	if s.repo != b.source {
		start.Worktree = s.repo.Root()
		start.WorkBranch = b.branch
	}
}
