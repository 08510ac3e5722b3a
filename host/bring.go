package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/worktree"
)

// Patch is the change of a run that was made on another machine.
type Patch struct {
	Run     plan.RunID
	URL     string // of the repository
	Base    string // commit that it is a change of
	Branch  string // to be committed on
	Message string // of the commit
	Text    []byte
}

// Brought is a patch that is committed in a clone of its repository.
type Brought struct {
	Commit string
	Tree   *worktree.Repo // at that commit
	Into   string         // the branch that the repository itself has checked out
	drop   func() error
}

// Close removes the work tree. The branch stays in the clone.
func (b *Brought) Close() error { return b.drop() }

// Bring clones the repository of a patch into the home, with this user's own git, or
// brings the clone up to date, and commits the patch on its branch there, in a work tree.
// Doing so twice does no harm. One process at a time does it for a run.
func (h *Host) Bring(ctx context.Context, p Patch) (*Brought, error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cloneTimeout)
	defer cancel()
	repo, err := h.openClone(ctx, p.URL)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(paths.Home, "cache", "brought", string(p.Run))
	if _, err := repo.Drop(ctx, dir, "", ""); err != nil { // a process that was killed may have left it
		return nil, err
	}
	tree, err := repo.Patched(ctx, p.Base, p.Text)
	if err != nil {
		return nil, err
	}
	b := &Brought{}
	b.Commit, err = repo.CommitTo(ctx, p.Branch, p.Base, p.Base, tree, p.Message, false)
	if errors.Is(err, worktree.ErrNothing) {
		b.Commit, err = repo.Commit(ctx, "refs/heads/"+p.Branch, false)
	}
	if err == nil {
		b.Into, err = repo.Branch(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("bring the change to a clone of %s: %w", p.URL, err)
	}
	var notes []string
	b.Tree, notes, err = repo.Add(ctx, worktree.NewTree{
		Dir:     dir,
		Branch:  p.Branch,
		Base:    b.Commit,
		Tree:    b.Commit,
		Written: true,
	})
	if err != nil {
		return nil, err
	}
	h.noteAll(notes)
	b.drop = func() error {
		_, err := repo.Drop(context.WithoutCancel(ctx), dir, "", "")
		return err
	}
	return b, nil
}
