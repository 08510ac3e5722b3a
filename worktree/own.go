package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/worktree/git"
)

// NewTree says what a work tree of its own should be like.
type NewTree struct {
	Dir    string // must not be there yet
	Branch string // checked out in it; made at Base if there is none
	Base   string // commit
	Tree   string // tree that the files are taken from
	// Written says that a model wrote the tree: nothing is fetched for its large files.
	Written bool
	// Include are globs of ignored files that are copied from the work tree it
	// is made from, because builds need them. A directory that fits is copied
	// whole.
	Include []string
}

// Add makes a linked work tree: HEAD and the index stand at the branch, and the
// files are those of the tree, so that what is not committed in the one is not
// committed in the other. Checked-out submodules are checked out again from the
// commits that are here; nothing is fetched. The notes say what could not be
// taken over. After an error nothing is left of it.
func (r *Repo) Add(ctx context.Context, spec NewTree) (tree *Repo, notes []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("make a work tree in %q: %w", spec.Dir, err)
		}
	}()
	if err := areNames(spec.Base, spec.Tree); err != nil {
		return nil, nil, err
	}
	if err := checkGlobs(spec.Include); err != nil {
		return nil, nil, err
	}
	if _, err := os.Lstat(spec.Dir); err == nil {
		return nil, nil, errors.New("there is something already")
	}
	if err := os.MkdirAll(filepath.Dir(spec.Dir), 0o700); err != nil {
		return nil, nil, err //nolint:wrapcheck // names the directory
	}
	failpoint.Hit("before a work tree")
	branch, err := r.attach(ctx, spec)
	failpoint.Hit("after a branch")
	defer failpoint.Hit("after a work tree")
	if err != nil {
		return nil, nil, refused(err)
	}
	if tree, notes, err = r.furnish(ctx, spec); err != nil {
		undo := context.WithoutCancel(ctx)
		if uerr := r.removeTree(undo, spec.Dir); uerr != nil {
			err = errors.Join(err, uerr)
		}
		if branch {
			_, _ = r.run(undo, "branch", "-q", "-D", "--", spec.Branch) // an empty branch does no harm
		}
		return nil, nil, refused(err)
	}
	return tree, notes, nil
}

// attach registers the work tree without files in it, and reports whether it
// made the branch.
func (r *Repo) attach(ctx context.Context, spec NewTree) (bool, error) {
	_, err := r.run(ctx, "rev-parse", "-q", "--verify", "refs/heads/"+spec.Branch)
	create := err != nil
	// Forced, because the folder may be gone while git still has it in its list.
	args, branch := []string{"worktree", "add", "-q", "--no-checkout", "--force"}, ""
	if create {
		branch = spec.Branch
		args = append(args, "--no-track", "-b", spec.Branch, spec.Dir, spec.Base)
	} else {
		args = append(args, spec.Dir, spec.Branch)
	}
	if err := os.Mkdir(spec.Dir, 0o700); err != nil {
		return false, err //nolint:wrapcheck // names the directory
	}
	err = r.onRefs(ctx, git.Call{
		Dir:    r.root,
		Writes: []string{spec.Dir},
		Args:   args,
	}, branch)
	if err != nil {
		_ = os.Remove(spec.Dir) // if git has made nothing in it
	}
	return err == nil && create, err
}

// removeTree removes a linked work tree with whatever is in it.
func (r *Repo) removeTree(ctx context.Context, dir string) error {
	_, err := r.git.Run(ctx, git.Call{
		Dir:    r.root,
		Writes: []string{filepath.Dir(dir)}, // or the folder itself could not go
		Args:   []string{"worktree", "remove", "--force", "--force", dir},
	})
	return err
}

// furnish puts the files into a work tree that is attached.
func (r *Repo) furnish(ctx context.Context, spec NewTree) (*Repo, []string, error) {
	tree, err := OpenOwn(ctx, spec.Dir, append(slices.Clip(r.avoid), r.holds)...)
	if err != nil {
		return nil, nil, err
	}
	tree.git = tree.git.Like(r.git)
	held := *tree
	held.git = r.git.HoldingLike(tree.git)
	notes, err := held.checkOut(ctx, spec.Tree, spec.Written)
	if err != nil {
		return nil, nil, unwritten(err, tree.root)
	}
	failpoint.Hit("after a checkout")
	more, err := r.lendSubmodules(ctx, &held, spec.Written)
	if err != nil {
		return nil, nil, err
	}
	if _, err := held.run(ctx, "reset", "-q", "--mixed"); err != nil {
		return nil, nil, err
	}
	if err := r.copyIgnored(ctx, tree, spec.Include); err != nil {
		return nil, nil, err
	}
	// The run begins in it, and neither git's own files of it nor those in it are
	// written by git so that they outlast a loss of power.
	if err := errors.Join(durable.SyncTree(tree.gitDir), durable.SyncTree(tree.root)); err != nil {
		return nil, nil, err
	}
	return tree, append(notes, more...), nil
}

// holds reports whether a path leads into the work tree.
func (r *Repo) holds(path string) bool { return git.Inside(path, r.root) }

// OpenOwn opens a work tree whose top is dir itself, not a repository around
// it. A missing directory is fs.ErrNotExist. Avoid is as for [Open].
func OpenOwn(ctx context.Context, dir string, avoid ...func(path string) bool) (*Repo, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("open the work tree: %w", err)
	}
	r, err := Open(ctx, real, avoid...)
	if err != nil {
		return nil, err
	}
	if r.root != real {
		return nil, fmt.Errorf(
			"%q is no work tree any more, its .git file is gone: move what you need out of it and remove it",
			dir,
		)
	}
	return r, nil
}

// checkOut writes the files of a tree into an empty work tree. Where large
// files cannot be had, it leaves their pointers.
func (r *Repo) checkOut(ctx context.Context, tree string, written bool) ([]string, error) {
	return r.filled(ctx, git.Call{
		Dir:  r.root,
		Open: !written,
		Args: []string{"read-tree", "--reset", "-u", tree},
	})
}

// Drop removes a linked work tree with whatever is in it, also one that was not made to
// its end, and its branch if everything on it is also on HEAD or at base. It says what
// became of the branch. The caller has made sure that nothing in it is needed.
func (r *Repo) Drop(ctx context.Context, dir, branch, base string) (branchGone bool, err error) {
	if err := r.removeTree(ctx, dir); err != nil {
		if err := r.DropLeft(ctx, dir); err != nil {
			return false, err
		}
	}
	if branch == "" {
		return true, nil
	}
	failpoint.Hit("before a branch goes")
	return r.DropBranch(ctx, branch, base)
}

// FreeBranch is the first name that no branch has: prefix with ever more of id.
func (r *Repo) FreeBranch(ctx context.Context, prefix, id string) (string, error) {
	for n := min(10, len(id)); ; n = min(n+4, len(id)) {
		name := prefix + id[:n]
		_, err := r.run(ctx, "rev-parse", "-q", "--verify", "refs/heads/"+name)
		var ge *git.Error
		switch {
		case errors.As(err, &ge) && ge.Code == 1:
			return name, nil
		case err != nil:
			return "", fmt.Errorf("find a name for the branch: %w", err)
		case n == len(id):
			return "", fmt.Errorf("find a name for the branch: %s is taken", name)
		}
	}
}
