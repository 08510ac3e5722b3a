// Package worktree knows git: what the work tree of a repository holds, how it
// differs from what it held before, and how to make a throw-away copy of it.
//
// It runs the git program, with the repository's hooks and monitors switched
// off. It never touches the user's index, HEAD, branches or files: snapshots
// go through a private copy of the index and are kept under refs/plan/.
//
// What counts as the work tree: tracked files, and untracked files that are
// not ignored. A directory that has a .git directory of its own and is not
// tracked (git init or git clone was run in it) counts with its files,
// like any other directory. A directory whose .git is a file is another
// checkout (a linked worktree); it does not count. A submodule counts with the
// commit it stands at, not with what was changed inside it.
//
// The package must not know phases, models, the journal or what a run is
// beyond its id.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/worktree/git"
)

// What can be wrong with a directory that should be a repository. The errors
// that this package returns wrap them.
var (
	// ErrNoGit: there is no git program in PATH.
	ErrNoGit = errors.New("git is not installed: install it and see that it is in PATH")
	// ErrNotRepo: the directory belongs to no repository.
	ErrNotRepo = errors.New("not a git repository: run `git init && git add -A && git commit -m start` there")
	// ErrNoCommits: the repository has nothing to compare with.
	ErrNoCommits = errors.New("the repository has no commit yet: run `git add -A && git commit -m start` there")
	// ErrBare: the repository has no work tree.
	ErrBare = errors.New("the repository is bare: use a checkout of it, made with `git clone` or `git worktree add`")
	// ErrUnreadable: there is a repository, but git refuses to read it.
	ErrUnreadable = errors.New("git cannot read the repository: see what `git status` and `git fsck` say there")
	// ErrReadOnly: the .git directory cannot be written to.
	ErrReadOnly = errors.New(
		"snapshots are kept in .git, which cannot be written to: make it writable, or work on a clone",
	)
)

// Repo is one work tree of a git repository. It holds nothing that changes
// and is safe for concurrent use.
type Repo struct {
	git    git.Program
	root   string // top of the work tree, absolute, without symbolic links
	gitDir string // of this work tree
	common string // shared by all work trees of the repository

	// A commit and its tree, which never change: what HEAD stood at when the
	// repository was opened, since that is what is asked for most. They may be "".
	head, headTree string

	large Large
	known *knownTree
	avoid []func(path string) bool // see Open
}

// Open finds the repository that dir belongs to; dir may be any directory of
// its work tree, linked worktrees included. No git is taken where one of avoid
// reports that an absolute path leads.
func Open(ctx context.Context, dir string, avoid ...func(path string) bool) (*Repo, error) {
	r, err := open(ctx, dir, avoid)
	if err != nil {
		return nil, fmt.Errorf("open repository %q: %w", dir, err)
	}
	return r, nil
}

func open(ctx context.Context, dir string, avoid []func(path string) bool) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory: %w", err)
	}
	program, ok := git.Find(git.Around(dir), avoid...)
	if !ok {
		return nil, ErrNoGit
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err //nolint:wrapcheck // names the path and what is wrong
	}
	if !info.IsDir() {
		return nil, errors.New("it is not a directory")
	}
	r := &Repo{
		git:   program,
		root:  dir,
		known: new(knownTree),
		avoid: avoid,
	}
	if !r.atOnce(ctx) {
		if err := r.oneByOne(ctx); err != nil {
			return nil, err
		}
	}
	if r.git, err = r.git.Guard(ctx, r.root, r.GitDirs()...); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return r, nil
}

// atOnce asks git for all that open wants to know in one call, since a call
// costs more than its answer. It is false where anything is out of the ordinary,
// which oneByOne then tells apart.
func (r *Repo) atOnce(ctx context.Context) bool {
	out, err := r.run(ctx, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--is-inside-work-tree",
		"--show-toplevel", "--absolute-git-dir", "--git-common-dir", "HEAD^{commit}", "HEAD^{tree}")
	lines := strings.Split(out, "\n")
	if err != nil || len(lines) != 7 || lines[0] != "false" || lines[1] != "true" {
		return false
	}
	r.root, r.gitDir, r.common, r.head, r.headTree = lines[2], lines[3], lines[4], lines[5], lines[6]
	return true
}

func (r *Repo) oneByOne(ctx context.Context) error {
	out, err := r.run(ctx, "rev-parse", "--is-bare-repository", "--is-inside-work-tree")
	if err != nil {
		return whyClosed(ctx, err)
	}
	switch out {
	case "false\ntrue":
	case "false\nfalse":
		return fmt.Errorf("it lies inside a .git directory: %w", ErrNotRepo)
	default:
		return ErrBare
	}
	if r.root, err = r.run(ctx, "rev-parse", "--show-toplevel"); err != nil {
		return whyClosed(ctx, err)
	}
	if err := r.findDirs(ctx); err != nil {
		return whyClosed(ctx, err)
	}
	if _, err := r.run(ctx, "rev-parse", "-q", "--verify", "HEAD^{commit}"); err != nil {
		return r.whyNoHead(ctx, err)
	}
	return nil
}

func (r *Repo) findDirs(ctx context.Context) error {
	var err error
	if r.gitDir, err = r.run(ctx, "rev-parse", "--absolute-git-dir"); err != nil {
		return err
	}
	if r.common, err = r.run(ctx, "rev-parse", "--git-common-dir"); err != nil {
		return err
	}
	if !filepath.IsAbs(r.common) {
		r.common = filepath.Join(r.root, r.common)
	}
	return nil
}

// whyClosed sorts the reasons for which git does not open a repository.
func whyClosed(ctx context.Context, err error) error {
	var ge *git.Error
	switch {
	case ctx.Err() != nil:
		return err
	case !errors.As(err, &ge):
		return err
	case strings.Contains(ge.Stderr, "cannot use bare repository"):
		return whyBare(ge)
	case strings.Contains(ge.Stderr, "not a git repository"):
		return ErrNotRepo
	case strings.Contains(ge.Stderr, "dubious ownership"):
		return fmt.Errorf(
			"it belongs to another user, trust it with `git config --global --add safe.directory DIR`: %w",
			ErrUnreadable,
		)
	}
	return fmt.Errorf("%w: %w", ErrUnreadable, err)
}

// whyBare tells a bare repository from the data of one that has a work tree: git
// refuses both.
func whyBare(e *git.Error) error {
	_, rest, _ := strings.Cut(e.Stderr, "cannot use bare repository '")
	dir, _, _ := strings.Cut(rest, "' (")
	if slices.Contains(strings.Split(filepath.ToSlash(dir), "/"), ".git") {
		return fmt.Errorf("it lies inside a .git directory: %w", ErrNotRepo)
	}
	return ErrBare
}

// whyNoHead tells a repository without commits from a broken one.
func (r *Repo) whyNoHead(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	_, refErr := r.run(ctx, "rev-parse", "-q", "--verify", "HEAD")
	var stuck *git.NoFileError
	switch {
	case errors.As(err, &stuck) || errors.As(refErr, &stuck):
		return fmt.Errorf("read its HEAD: %w", stuck)
	case refErr == nil:
		return fmt.Errorf("its HEAD names a commit that is not there: %w", ErrUnreadable)
	}
	return ErrNoCommits
}

// Root is the top of the work tree, an absolute path without symbolic links.
func (r *Repo) Root() string { return r.root }

// Head is the id of the commit that HEAD stands at.
func (r *Repo) Head(ctx context.Context) (string, error) {
	id, err := r.run(ctx, "rev-parse", "-q", "--verify", "HEAD^{commit}")
	if err != nil {
		return "", fmt.Errorf("read HEAD: %w", err)
	}
	return id, nil
}

// Has says what is wrong if one of the objects is not there. They are named as
// git names them, with a type behind: ID^{tree}.
func (r *Repo) Has(ctx context.Context, names ...string) error {
	if _, err := r.run(ctx, append([]string{"rev-parse", "--end-of-options"}, names...)...); err != nil {
		return fmt.Errorf("look for what the run left: %w", err)
	}
	return nil
}

// Branch is the name of the branch that is checked out, "" when HEAD is
// detached.
func (r *Repo) Branch(ctx context.Context) (string, error) {
	ref, err := r.headRef(ctx)
	if err != nil {
		return "", fmt.Errorf("read the branch: %w", err)
	}
	return strings.TrimPrefix(ref, "refs/heads/"), nil
}
