package worktree

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Survey is what a run wants to know of a work tree before it begins.
type Survey struct {
	Standing
	Instructions []Instruction
	// State is the tree at the commit that Standing names; zero where the tree
	// could not be taken, which [Repo.Snapshot] then gives the reason for.
	State State
}

// Survey looks at the work tree once for all of it. Where nothing differs from
// HEAD, which two questions asked at the same time tell, the tree is HEAD's own
// and is not written anew: each call of git takes longer to start than to answer.
func (r *Repo) Survey(ctx context.Context) (Survey, error) {
	var s Survey
	var f findings
	var group errgroup.Group
	group.Go(func() (err error) {
		f, err = r.find(ctx)
		return err
	})
	if r.differed() {
		group.Go(func() error {
			s.State, _ = r.tree(ctx)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return s, err //nolint:wrapcheck // find's
	}
	s.Standing = f.standing
	var err error
	if s.Instructions, err = r.instructions(ctx, f.entries); err != nil {
		return s, err
	}
	if s.State.Tree == "" {
		s.State, _ = r.treeOf(ctx, f)
	} else if f.clean() {
		r.dropIndexes("") // the next time there will be nothing to write
	}
	if s.State.Tree != "" {
		s.State.Head = s.Head
	}
	return s, nil
}

// findings are what status and the list of the files say of a work tree.
type findings struct {
	standing Standing
	listing
}

// clean reports whether the work tree is what HEAD has.
func (f findings) clean() bool { return f.upToDate && !f.standing.Dirty }

// find asks for both at the same time.
func (r *Repo) find(ctx context.Context) (f findings, err error) {
	var both errgroup.Group
	both.Go(func() (err error) {
		f.standing, err = r.Standing(ctx)
		return err
	})
	both.Go(func() (err error) {
		f.listing, err = r.list(ctx, area{dir: r.root})
		return err
	})
	err = both.Wait()
	return f, err //nolint:wrapcheck // Standing's or list's
}

// treeOf is the tree of a work tree that was just looked at.
func (r *Repo) treeOf(ctx context.Context, f findings) (state State, err error) {
	switch {
	case !f.clean():
		state, err = r.tree(ctx)
	case f.standing.Head == r.head:
		state.Tree = r.headTree
	default:
		state.Tree, err = r.run(ctx, "rev-parse", "-q", "--verify", f.standing.Head+"^{tree}")
		if err != nil {
			err = fmt.Errorf("read the tree of HEAD: %w", err)
		}
	}
	state.Head = f.standing.Head
	if err == nil && f.clean() && !slices.ContainsFunc(f.entries, func(e entry) bool { return e.gitlink }) {
		r.known.note(f.listing, [sha256.Size]byte{}, state.Tree)
	}
	return state, err
}
