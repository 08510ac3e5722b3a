package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan/worktree/git"
)

// ErrOldGit says that the git program cannot merge without a work tree.
var ErrOldGit = errors.New("this needs git 2.38 or newer: install one, or use the change as a patch")

// ErrNothing says that what was to be committed is there already.
var ErrNothing = errors.New("it is there already, so there is nothing to commit")

// merged brings the change from base to theirs into ours, all of them trees or
// commits, and returns the tree and the paths that have conflicts in it, sorted.
// A path that ours has as it was in base, or as it is in theirs already, needs
// no merging; only the others are given to git, for which those are then the
// same everywhere, so that they are taken for no part of a rename.
func (r *Repo) merged(ctx context.Context, base, ours, theirs string) (string, []string, error) {
	changes, err := r.deltas(ctx, base, theirs)
	if err != nil {
		return "", nil, err
	}
	differ, err := r.deltas(ctx, base, ours)
	if err != nil {
		return "", nil, err
	}
	is := make(map[string]entryState, len(differ))
	for _, c := range differ {
		is[c.path] = c.to
	}
	easy := slices.DeleteFunc(slices.Clone(changes), func(c delta) bool {
		at, differs := is[c.path]
		return differs && at != c.to
	})
	// A file in the place of a directory does not fit into an index.
	if ours, err := r.patched(ctx, ours, easy); err == nil {
		if len(easy) == len(changes) {
			return ours, nil, nil
		}
		if base, err := r.patched(ctx, base, easy); err == nil {
			return r.mergeTrees(ctx, base, ours, theirs)
		}
	}
	return r.mergeTrees(ctx, base, ours, theirs)
}

// mergeTrees lets git merge three trees.
func (r *Repo) mergeTrees(ctx context.Context, base, ours, theirs string) (string, []string, error) {
	root, err := r.commitTree(ctx, base, "base")
	if err != nil {
		return "", nil, err
	}
	var sides []string
	for _, tree := range []string{ours, theirs} {
		side, err := r.commitTree(ctx, tree, "side", root)
		if err != nil {
			return "", nil, err
		}
		sides = append(sides, side)
	}
	out, err := r.run(
		ctx,
		append([]string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"}, sides...)...)
	var ge *git.Error
	if errors.As(err, &ge) {
		switch ge.Code {
		case 1:
			out, err = ge.Stdout, nil
		case 129: // it does not know the option
			err = ErrOldGit
		}
	}
	if err != nil {
		return "", nil, err
	}
	fields := splitNUL(out)
	if len(fields) == 0 {
		return "", nil, errors.New("git merge-tree printed nothing")
	}
	conflicts := fields[1:]
	slices.Sort(conflicts)
	return fields[0], slices.Compact(conflicts), nil
}

// commitTree makes a commit that no ref holds and that is the same each time.
func (r *Repo) commitTree(ctx context.Context, tree, message string, parents ...string) (string, error) {
	return r.commitDated(ctx, "@0 +0000", tree, message, parents...)
}

// commitDated is commitTree with another date than the epoch.
func (r *Repo) commitDated(ctx context.Context, date, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", tree + "^{tree}", "-m", message, "--no-gpg-sign"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, err := r.git.Run(ctx, git.Call{
		Dir:  r.root,
		Env:  asPlan(date),
		Args: args,
	})
	return strings.TrimSpace(out), err
}

// asPlan makes git take the program for who commits, at the given date.
func asPlan(date string) []string {
	return []string{
		"GIT_AUTHOR_NAME=plan", "GIT_AUTHOR_EMAIL=plan@localhost", "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=plan", "GIT_COMMITTER_EMAIL=plan@localhost", "GIT_COMMITTER_DATE=" + date,
	}
}

const conflicting = "the change conflicts with what is there"

// Merge brings the change between two trees into the files of the work tree,
// and leaves index and commits alone. With conflicts it is a [*Conflict] and
// changes nothing, unless opts.Force is set: then markers are left in the files
// and named in the result.
func (r *Repo) Merge(ctx context.Context, base, theirs string, opts Options) (MergeResult, error) {
	var out MergeResult
	err := r.indexed(ctx, func(now string, a area) error {
		target, conflicts, err := r.merged(ctx, base, now, theirs)
		if err != nil {
			return err
		}
		if len(conflicts) > 0 && !opts.Force {
			return &Conflict{Paths: conflicts, Why: conflicting}
		}
		out, err = r.apply(ctx, a, now, target, opts)
		out.Conflicts = conflicts
		return err
	})
	if err != nil {
		return out, fmt.Errorf("bring the change into %q: %w", r.root, refused(err))
	}
	return out, nil
}

// Contains reports whether the change between two trees is in the work tree.
func (r *Repo) Contains(ctx context.Context, base, theirs string) (bool, error) {
	m, err := r.Merge(ctx, base, theirs, Options{Check: true})
	var conflict *Conflict
	if errors.As(err, &conflict) {
		return false, nil
	}
	return err == nil && m.Before == m.After, err
}

// MergeCommit is [Repo.Merge], and commits the change, and nothing else, on the
// branch that is checked out; the index follows in the files of the change. It
// is a [*Conflict], and nothing is changed, if the change does not fit on HEAD
// without what is not committed, or if one of its files is staged: the commit
// would take part of that back. Hooks do not run.
func (r *Repo) MergeCommit(
	ctx context.Context,
	base, theirs, message string,
	opts Options,
) (string, MergeResult, error) {
	commit, out, err := r.mergeCommit(ctx, base, theirs, message, opts)
	if err != nil {
		return "", out, fmt.Errorf("commit the change in %q: %w", r.root, refused(err))
	}
	return commit, out, nil
}

func (r *Repo) mergeCommit(
	ctx context.Context,
	base, theirs, message string,
	opts Options,
) (string, MergeResult, error) {
	head, err := r.Head(ctx)
	if err != nil {
		return "", MergeResult{}, err
	}
	commit, err := r.commitMerged(ctx, base, theirs, head, message)
	if err != nil {
		return "", MergeResult{}, err
	}
	changes, err := r.unstaged(ctx, head, commit)
	if err != nil {
		return "", MergeResult{}, err
	}
	opts.Force = false // markers are not committed
	out, err := r.Merge(ctx, base, theirs, opts)
	if err != nil || opts.Check {
		return commit, out, err
	}
	if out.Before == out.After && opts.Keep != nil { // the files had it: what is taken back is the change itself
		if err := opts.Keep(base, theirs); err != nil {
			return commit, out, err
		}
	}
	if err := r.advance(ctx, head, commit, changes, opts.Intent); err != nil {
		return "", out, &uncommittedError{files: pathsOf(changes), err: err}
	}
	return commit, out, nil
}

// unstaged lists the changes between two commits, none of which may be staged.
func (r *Repo) unstaged(ctx context.Context, from, to string) ([]delta, error) {
	changes, err := r.deltas(ctx, from, to)
	if err != nil {
		return nil, err
	}
	staged, err := r.staged(ctx, from)
	if err != nil {
		return nil, err
	}
	var both []string
	for _, c := range changes {
		if slices.Contains(staged, c.path) {
			both = append(both, c.path)
		}
	}
	if len(both) > 0 {
		return nil, &Conflict{Paths: both, Why: "these files have staged changes; commit or unstage them first"}
	}
	return changes, nil
}

// staged lists the paths that the user's index has otherwise than a commit.
func (r *Repo) staged(ctx context.Context, commit string) ([]string, error) {
	out, err := r.git.Run(ctx, git.Call{
		Dir:  r.root,
		Args: []string{"diff-index", "--cached", "--name-only", "--no-renames", "-z", commit},
	})
	return splitNUL(out), err
}

// commitMerged makes a commit on top of another that adds the change, in the
// user's name. It is an error of [ErrNothing] if that one has it already.
func (r *Repo) commitMerged(ctx context.Context, base, theirs, parent, message string) (string, error) {
	tree, conflicts, err := r.merged(ctx, base, parent, theirs)
	if err != nil {
		return "", err
	}
	if len(conflicts) > 0 {
		return "", &Conflict{Paths: conflicts, Why: "the change conflicts with what is committed there"}
	}
	parentTree, err := r.run(ctx, "rev-parse", "-q", "--verify", parent+"^{tree}")
	if err != nil || parentTree == tree {
		return "", errors.Join(err, ErrNothing)
	}
	commit, err := r.run(ctx, "commit-tree", tree, "-p", parent, "-m", message)
	var ge *git.Error
	if errors.As(err, &ge) && strings.Contains(ge.Stderr, "tell me who you are") {
		return "", &AnonymousError{Err: err}
	}
	return commit, err
}

// AnonymousError says that git does not know in whose name to commit.
type AnonymousError struct{ Err error }

// Error implements error.
func (e *AnonymousError) Error() string {
	return "git does not know in whose name to commit (" + e.Err.Error() + ")"
}

// Unwrap returns git's own error.
func (e *AnonymousError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *AnonymousError) Hint() string {
	return `Nothing was changed. Tell git who you are, with "git config --global user.name NAME" and ` +
		`"git config --global user.email ADDRESS", and do it again.`
}

// CommitTo adds the change between two trees, as one commit in the user's name,
// to a branch that is not checked out anywhere; one that is not there begins at
// start. Files and index stay as they are.
func (r *Repo) CommitTo(
	ctx context.Context,
	branch, start, base, theirs, message string,
	check bool,
) (string, error) {
	commit, err := r.commitTo(ctx, branch, start, base, theirs, message, check)
	if err != nil {
		return "", fmt.Errorf("commit to branch %q: %w", branch, refused(err))
	}
	return commit, nil
}

func (r *Repo) commitTo(
	ctx context.Context,
	branch, start, base, theirs, message string,
	check bool,
) (string, error) {
	if _, err := r.run(ctx, "check-ref-format", "--branch", branch); err != nil {
		return "", errors.New("git takes no branch of this name")
	}
	ref, old := "refs/heads/"+branch, ""
	if id, err := r.run(ctx, "rev-parse", "-q", "--verify", ref+"^{commit}"); err == nil {
		start, old = id, id
	}
	trees, err := r.run(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return "", err
	}
	if slices.Contains(strings.Split(trees, "\n"), "branch "+ref) {
		return "", errors.New("it is checked out in a work tree: commit there with --commit, or name another branch")
	}
	commit, err := r.commitMerged(ctx, base, theirs, start, message)
	if err != nil || check {
		return commit, err
	}
	if old == "" {
		old = strings.Repeat("0", len(commit))
	}
	return commit, r.updateRef(ctx, ref, branch, "-m", "plan apply", ref, commit, old)
}
