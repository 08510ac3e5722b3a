package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/intent"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/worktree"
)

// making is the note of what this process makes for a run before the journal has
// it: snapshots, and perhaps a work tree with a branch.
type making struct {
	*intent.Intent
	db    *memory.DB
	avoid func(path string) bool // see worktree.Open
}

// beginMaking writes down that things will be made for a run, once what killed processes
// have left that made some for others of its repository is gone.
func (h *Host) beginMaking(ctx context.Context, db *memory.DB, id plan.RunID, repo *worktree.Repo) (*making, error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	if err := h.endNotes(ctx, db, repo); err != nil {
		h.note(fmt.Sprintf("what a killed process has left stays for `plan journal gc`: %v", err))
	}
	i, err := intent.Begin(ctx, paths.Making, "run-"+string(id), intent.Note{
		Run:   string(id),
		Repo:  repo.Root(),
		PID:   os.Getpid(),
		Since: h.now().UTC(),
	})
	if err != nil {
		return nil, err
	}
	return &making{Intent: i, db: db, avoid: h.Avoid(ctx)}, nil
}

// tree writes down a work tree that is about to be made. A branch that is there
// already is no part of it.
func (m *making) tree(ctx context.Context, repo *worktree.Repo, spec worktree.NewTree) error {
	there, _, err := repo.HasBranch(ctx, spec.Branch, "")
	if err != nil {
		return err
	}
	return m.Change(func(n *intent.Note) {
		n.Dir, n.Base, n.Tree = spec.Dir, spec.Base, spec.Tree
		if !there {
			n.Branch = spec.Branch
		}
	})
}

// end takes the note away once the journal has the run, or nothing of it is left. What
// could not be taken back is left to a sweep.
func (m *making) end(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if _, err := m.db.Run(ctx, plan.RunID(m.Note.Run)); err == nil {
		return m.Done()
	} else if !errors.Is(err, memory.ErrNoRun) {
		return errors.Join(err, m.Leave())
	}
	repo, err := worktree.Open(ctx, m.Note.Repo, m.avoid)
	if err != nil {
		return errors.Join(err, m.Leave())
	}
	if left, err := thingsOf(ctx, repo, m.Note); err != nil || len(left) > 0 {
		return errors.Join(err, m.Leave())
	}
	return m.Done()
}

// announce writes down a file that is about to be made in a folder of the user's.
func (h *Host) announce(ctx context.Context, file string) (done func() error, err error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	i, err := intent.Begin(ctx, paths.Making, "file-"+rand.Text(), intent.Note{
		File:  file,
		PID:   os.Getpid(),
		Since: h.now().UTC(),
	})
	if err != nil {
		return nil, err
	}
	return i.Done, nil
}

// dropNoted removes the work tree of a run and its branch, which is written down
// first: what is begun of it is ended by a sweep.
func (h *Host) dropNoted(ctx context.Context, t *OwnedTree) error {
	paths, err := h.Paths()
	if err != nil {
		return err
	}
	i, err := intent.Begin(ctx, paths.Making, "drop-"+filepath.Base(t.Dir), intent.Note{
		Run:    string(t.ID),
		Repo:   t.repo.Root(),
		Dir:    t.Dir,
		Branch: t.Branch,
		Base:   t.base,
		Tree:   t.tree,
		Drop:   true,
		PID:    os.Getpid(),
		Since:  h.now().UTC(),
	})
	if err != nil {
		return err
	}
	if _, err := t.repo.Holding(i.File()).Drop(ctx, t.Dir, t.Branch, t.base); err != nil {
		return errors.Join(err, i.Leave())
	}
	return i.Done()
}
