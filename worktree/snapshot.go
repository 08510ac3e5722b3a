package worktree

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/errgroup"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/internal/scratch"
	"github.com/plan-engine/plan/internal/subpath"
	"github.com/plan-engine/plan/worktree/git"
)

// Tree writes the work tree as it is into git's object store and returns the
// id of the tree. Nothing refers to it, so git may drop it after some weeks.
// Equal work trees give equal ids.
func (r *Repo) Tree(ctx context.Context) (string, error) {
	state, err := r.tree(ctx)
	if err != nil {
		return "", fmt.Errorf("take the tree of %q: %w", r.root, refused(err))
	}
	return state.Tree, nil
}

// State is how a work tree was found.
type State struct {
	Tree string // its id; see [Repo.Tree]
	Head string // the commit that HEAD stood at
	// LeftOut are files that are not in it, sorted: untracked ones that are too large, by
	// [Large], and such as git refuses, as a link named .gitmodules.
	LeftOut []string
}

// Look takes the tree and HEAD at the same time. A tree that is as HEAD has it
// is not written anew.
func (r *Repo) Look(ctx context.Context) (state State, err error) {
	if r.differed() {
		state, err = r.look(ctx)
	} else {
		state, err = r.lookFirst(ctx)
	}
	if err != nil {
		return State{}, fmt.Errorf("take the tree of %q: %w", r.root, refused(err))
	}
	return state, nil
}

// lookFirst looks whether there is anything to write.
func (r *Repo) lookFirst(ctx context.Context) (state State, err error) {
	f, err := r.find(ctx)
	if err != nil {
		return state, err
	}
	return r.treeOf(ctx, f)
}

// look writes the tree.
func (r *Repo) look(ctx context.Context) (state State, err error) {
	var head string
	var both errgroup.Group
	both.Go(func() (err error) {
		head, err = r.Head(ctx)
		return err
	})
	both.Go(func() (err error) {
		state, err = r.tree(ctx)
		return err
	})
	err = both.Wait()
	state.Head = head
	return state, err //nolint:wrapcheck // it is git's, and the callers say what for
}

// Snapshot keeps the work tree as it is under refs/plan/RUN/LABEL, as a commit
// on top of HEAD. A snapshot of the same label is replaced. The index, HEAD
// and the files stay as they are.
func (r *Repo) Snapshot(ctx context.Context, run plan.RunID, label string) (plan.Snapshot, error) {
	state, err := r.tree(ctx)
	if err != nil {
		return plan.Snapshot{}, fmt.Errorf("snapshot %q of %q: %w", label, r.root, refused(err))
	}
	state.Head = "HEAD" // git finds the commit by itself: to ask for it is one more process
	return r.SnapshotOf(ctx, run, label, state)
}

// SnapshotOf is Snapshot of a work tree as it was found a moment ago.
func (r *Repo) SnapshotOf(ctx context.Context, run plan.RunID, label string, state State) (plan.Snapshot, error) {
	snap := plan.Snapshot{
		Label: label,
		Ref:   refOf(run, label),
		Tree:  state.Tree,

		LeftOut: state.LeftOut,
	}
	failpoint.Hit("before a snapshot")
	defer failpoint.Hit("after a snapshot")
	if err := r.keep(ctx, run, snap, state.Head); err != nil {
		return plan.Snapshot{}, fmt.Errorf("snapshot %q of %q: %w", label, r.root, refused(err))
	}
	return snap, nil
}

// keep makes a ref hold on to the snapshot's tree. The commit depends on
// nothing but HEAD, the tree and the ref's name, which holds the run's id, and
// that its date.
func (r *Repo) keep(ctx context.Context, run plan.RunID, snap plan.Snapshot, head string) error {
	commit, err := r.git.Run(ctx, git.Call{
		Dir:  r.root,
		Env:  asPlan(dateOf(run)),
		Args: []string{"commit-tree", snap.Tree, "-p", head, "-m", "Snapshot " + snap.Ref, "--no-gpg-sign"},
	})
	if err != nil {
		return err
	}
	return r.updateRef(ctx, snap.Ref, "", snap.Ref, strings.TrimSpace(commit))
}

// dateOf is when a run began, as git takes it; the epoch where its id does not
// say.
func dateOf(run plan.RunID) string {
	id, err := ulid.ParseStrict(string(run))
	if err != nil {
		return "@0 +0000"
	}
	return fmt.Sprintf("@%d +0000", id.Timestamp().Unix())
}

// refused says so when the cause is that .git cannot be written to, that a disk is
// full, or that a file cannot be read.
func refused(err error) error {
	var ge *git.Error
	switch {
	case !errors.As(err, &ge):
		return err
	case noRoom(ge):
		return fmt.Errorf("%w (%w)", syscall.ENOSPC, err)
	case readOnly(ge):
		return fmt.Errorf("%w (%w)", ErrReadOnly, err)
	case unreadable(ge):
		return fmt.Errorf("%w (%w)", fs.ErrPermission, err)
	}
	return err
}

// tree writes the tree of the work tree. It does not look at HEAD.
func (r *Repo) tree(ctx context.Context) (state State, err error) {
	err = r.indexed(ctx, func(id string, a area) error {
		state = State{Tree: id, LeftOut: a.leftOut}
		return nil
	})
	return state, err
}

// indexed brings a private index up to date with the work tree, and lends it
// and its tree to do. The private index begins as the one that was kept the
// last time, or as a copy of the user's, so that git need not read what has not
// changed.
func (r *Repo) indexed(ctx context.Context, do func(tree string, a area) error) error {
	room, err := scratch.New(r.scratch(), scratch.Index)
	if err != nil {
		return fmt.Errorf("make room for a private index: %w", err)
	}
	defer func() { _ = room.Close() }()
	t := &treeWriter{repo: r, dir: room.Dir}
	tree, s, err := r.written(ctx, t, true)
	if err == nil && tree == "" {
		tree, s, err = r.written(ctx, t, false)
	}
	if err != nil {
		return err
	}
	if s.keep != "" && !t.special {
		r.keepIndex(s.index, s.keep)
	}
	slices.Sort(t.leftOut)
	return do(tree, area{dir: r.root, index: s.index, leftOut: t.leftOut})
}

// written writes the tree by way of a private index, unless it is the one that is known.
// It is "" where a kept index turned out to be of no use, which is asked beside the work.
func (r *Repo) written(ctx context.Context, t *treeWriter, fromKept bool) (string, seed, error) {
	s, err := r.seedIndex(t, fromKept)
	if err != nil {
		return "", s, err
	}
	t.fromKept, t.leftOut = fromKept, nil
	a := area{dir: r.root, index: s.index}
	l, err := r.list(ctx, a)
	if err != nil {
		return "", s, err
	}
	if tree := r.known.of(l, r.keptMark(s.index)); tree != "" {
		t.leftOut = l.tooLarge(a)
		s.keep = "" // it was, or there is nothing in it
		return tree, s, nil
	}
	var good bool
	var asking errgroup.Group
	asking.Go(func() (err error) {
		good, err = s.good(ctx)
		return err
	})
	tree, err := t.writeListed(ctx, a, l)
	waitErr := asking.Wait()
	switch {
	case waitErr != nil:
		return "", s, waitErr //nolint:wrapcheck // plainly's
	case !good || errors.Is(err, errGrown):
		return "", s, nil
	case err == nil && !t.special:
		var kept [sha256.Size]byte
		if s.keep != "" && (s.asks || l.allThere()) {
			kept = r.keptMark(s.index)
		}
		r.known.note(l, kept, tree)
	}
	return tree, s, err
}

// scratch is where private files are kept: the system's temporary directory,
// unless that lies in the work tree, whose content it would become.
func (r *Repo) scratch() string {
	tmp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return os.TempDir()
	}
	if subpath.Within(r.root, tmp) {
		return r.gitDir
	}
	return tmp
}

// treeWriter writes the trees of an area and of the areas nested in it, each
// through an index of its own.
type treeWriter struct {
	repo    *Repo
	dir     string
	indexes int
	// special says that the area holds what an index made from this one would
	// see in another way: repositories in it, files outside a sparse part.
	special bool
	leftOut []string // see State
	// fromKept says that the area's index began as one that was kept.
	fromKept bool
}

func (t *treeWriter) newIndex() string {
	t.indexes++
	return filepath.Join(t.dir, "index-"+strconv.Itoa(t.indexes))
}

func (t *treeWriter) git(ctx context.Context, a area, stdin string, args ...string) (string, error) {
	out, err := t.repo.git.Run(ctx, t.repo.call(a, stdin, args...))
	return strings.TrimSuffix(out, "\n"), err
}

// write brings the area's index up to date and writes its tree.
func (t *treeWriter) write(ctx context.Context, a area) (string, error) {
	l, err := t.repo.list(ctx, a)
	if err != nil {
		return "", err
	}
	return t.writeListed(ctx, a, l)
}

// writeListed is write for an area whose files were just listed.
func (t *treeWriter) writeListed(ctx context.Context, a area, l listing) (string, error) {
	if t.fromKept && slices.ContainsFunc(l.entries, func(e entry) bool { return e.tag == 'G' }) {
		return "", errGrown
	}
	t.leftOut = append(t.leftOut, l.tooLarge(a)...)
	t.repo.tellLarge(a, l)
	todo := sortOut(a.dir, l.entries)
	t.special = t.special || todo.special || len(todo.nested) > 0
	for flag, paths := range todo.marks {
		if _, err := t.git(ctx, a, joinNUL(paths), "update-index", flag, "-z", "--stdin"); err != nil {
			return "", err
		}
	}
	if !l.upToDate { // else there is nothing to add
		if len(todo.links) > 0 {
			if _, err := t.git(ctx, a, joinNUL(todo.links), "update-index", "--remove", "-z", "--stdin"); err != nil {
				return "", err
			}
		}
		if err := t.add(ctx, a, todo); err != nil {
			return "", err
		}
	}
	for _, path := range todo.nested {
		if err := t.graft(ctx, a, path); err != nil {
			return "", err
		}
	}
	return t.git(ctx, a, "", "write-tree")
}

// add has git take the files into the area's index. What git refuses for its name and
// kind is left out, and is not in the index as it was before either.
func (t *treeWriter) add(ctx context.Context, a area, todo work) error {
	_, err := t.git(ctx, a, joinNUL(todo.except), todo.add...)
	if refusedPaths(err) == nil {
		return err
	}
	_, err = t.git(ctx, a, joinNUL(todo.except), append(todo.add, "--ignore-errors")...)
	paths := refusedPaths(err)
	if paths == nil {
		return err
	}
	t.special = true
	for _, path := range paths {
		t.leftOut = append(t.leftOut, a.prefix+path)
	}
	if t.repo.large.Tell != nil {
		t.repo.large.Tell(t.leftOut[len(t.leftOut)-len(paths):], Refused)
	}
	_, err = t.git(ctx, a, joinNUL(paths), "update-index", "--force-remove", "-z", "--stdin")
	return err
}

// work is what it takes to bring an index up to date.
type work struct {
	marks  map[string][]string // flag of update-index → paths
	add    []string            // arguments of git
	except []string            // patterns for what add must leave out
	nested []string            // repositories in the area
	// links are submodules with a repository in them. Add would ask git what
	// differs inside, and so run what the settings there name; to know which commit
	// they stand at it needs no such thing.
	links []string

	special bool // there are submodules, or tracked files that are not checked out
}

func sortOut(dir string, entries []entry) work {
	w := work{
		marks: map[string][]string{},
		add:   []string{"add", "-A", "--sparse"},
	} // else git refuses paths outside a sparse part
	mark := func(flag, path string) { w.marks[flag] = append(w.marks[flag], path) }
	for _, e := range entries {
		w.special = w.special || e.gitlink || e.tag == 'S'
		if e.assumed {
			mark("--no-assume-unchanged", e.path) // else changes are overlooked
		}
		switch {
		case e.tag == '?' && isNested(e.path):
			path := strings.TrimSuffix(e.path, "/")
			w.nested = append(w.nested, path)
			w.except = append(w.except, ":(exclude,literal)"+path)
			mark("--force-remove", path) // a file that was there before
		case e.tag == 'P': // git would fail, and its index has nothing for it: the file is gone
			w.except = append(w.except, ":(exclude,literal)"+e.path)
			mark("--force-remove", e.path)
		case e.gitlink && e.tag == 'H' && exists(dir, e.path+"/.git"):
			w.links = append(w.links, e.path)
			w.except = append(w.except, ":(exclude,literal)"+e.path)
		case e.tag == 'T': // what git refuses as a new file, it would take for a changed one
			mark("--force-remove", e.path)
		case e.tag == 'L':
			w.except = append(w.except, ":(exclude,literal)"+e.path)
		case e.tag == 'S':
			if exists(dir, e.path) {
				mark("--no-skip-worktree", e.path)
			}
		}
	}
	if len(w.except) > 0 {
		w.add = append(w.add, "--pathspec-from-file=-", "--pathspec-file-nul")
	}
	return w
}

// graft puts the tree of a nested repository into the area's index.
func (t *treeWriter) graft(ctx context.Context, a area, path string) error {
	if !ownGitDir(a.dir, path) {
		return nil
	}
	tree, err := t.write(ctx, a.nested(path+"/", t.newIndex()))
	if err != nil {
		return err
	}
	_, err = t.git(ctx, a, "", "read-tree", "--prefix="+path+"/", tree)
	return err
}
