package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/scratch"
)

// entryState is what a tree holds under a path: nothing, if the mode is absent.
type entryState struct{ mode, id string }

const (
	absentMode  = "000000"
	gitlinkMode = "160000"
)

// delta is how one path differs between two trees.
type delta struct {
	path     string
	from, to entryState
}

// deltas lists how two trees differ, by path.
func (r *Repo) deltas(ctx context.Context, from, to string) ([]delta, error) {
	out, err := r.diffTree(ctx, from, to, "--raw", "--no-renames", "--no-abbrev", "-z")
	if err != nil {
		return nil, err
	}
	fields := splitNUL(out)
	if len(fields)%2 != 0 {
		return nil, fmt.Errorf("compare trees of %q: git printed half an entry", r.root)
	}
	deltas := make([]delta, 0, len(fields)/2)
	for i := 0; i < len(fields); i += 2 {
		parts := strings.Fields(strings.TrimPrefix(fields[i], ":")) // MODE MODE ID ID STATUS
		if len(parts) != 5 {
			return nil, fmt.Errorf("compare trees of %q: git printed %q, which is not an entry", r.root, fields[i])
		}
		deltas = append(deltas, delta{
			path: fields[i+1],
			from: entryState{parts[0], parts[2]},
			to:   entryState{parts[1], parts[3]},
		})
	}
	return deltas, nil
}

// reversed are the deltas of the way back.
func reversed(deltas []delta) []delta {
	back := make([]delta, len(deltas))
	for i, d := range deltas {
		back[i] = delta{path: d.path, from: d.to, to: d.from}
	}
	return back
}

// patched is the tree with the given paths as they are on the to side. Another
// file in the place of one of them, or of a directory that one is in, is a
// [*Conflict].
func (r *Repo) patched(ctx context.Context, tree string, changes []delta) (string, error) {
	out, err := r.overlaid(ctx, tree, changes)
	if err != nil {
		return "", err
	}
	return out, r.only(ctx, tree, out, changes)
}

// overlaid is the tree with the given paths as they are on the to side. What is
// in their way goes.
func (r *Repo) overlaid(ctx context.Context, tree string, changes []delta) (string, error) {
	room, err := scratch.New(r.scratch(), scratch.Index)
	if err != nil {
		return "", fmt.Errorf("make room for a private index: %w", err)
	}
	defer func() { _ = room.Close() }()
	a := area{dir: r.root, index: filepath.Join(room.Dir, "index")}
	if _, err := r.git.Run(ctx, r.call(a, "", "read-tree", tree)); err != nil {
		return "", err
	}
	if _, err := r.git.Run(ctx, r.call(a, indexInfo(changes), "update-index", "-z", "--index-info")); err != nil {
		return "", err
	}
	out, err := r.git.Run(ctx, r.call(a, "", "write-tree"))
	return strings.TrimSuffix(out, "\n"), err
}

// indexInfo says the to side of changes as git update-index reads it. What goes
// goes first, for a directory may come in the place of a file.
func indexInfo(changes []delta) string {
	var deleted, updated strings.Builder
	for _, c := range changes {
		to := &updated
		if c.to.mode == absentMode {
			to = &deleted
		}
		fmt.Fprintf(to, "%s %s\t%s\x00", c.to.mode, c.to.id, c.path)
	}
	return deleted.String() + updated.String()
}

// only makes sure that two trees differ in the paths of the changes alone: git
// takes what is in the place of another entry out of an index.
func (r *Repo) only(ctx context.Context, from, to string, changes []delta) error {
	actual, err := r.deltas(ctx, from, to)
	if err != nil {
		return err
	}
	meant := make(map[string]bool, len(changes))
	for _, c := range changes {
		meant[c.path] = true
	}
	var lost []string
	for _, c := range actual {
		if !meant[c.path] {
			lost = append(lost, c.path)
		}
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		return &Conflict{Paths: lost, Why: "these are in the way of files of other names; move them first"}
	}
	return nil
}

// inTheWay finds ignored files in the places of files that would be made.
func (r *Repo) inTheWay(changes []delta) error {
	goes := map[string]bool{}
	letters := map[string]string{} // names that go, by what they are where letters are all the same
	for _, c := range changes {
		if c.to.mode == absentMode {
			goes[c.path] = true
			letters[strings.ToLower(c.path)] = c.path
		}
	}
	var paths []string
	for _, c := range changes {
		if c.from.mode != absentMode || c.to.mode == gitlinkMode {
			continue
		}
		info, err := os.Lstat(filepath.Join(r.root, c.path))
		if errors.Is(err, fs.ErrNotExist) || err != nil && underFile(r.root, c.path, goes) ||
			err == nil && info.IsDir() {
			continue // one with something in it is refused when it is to go
		}
		if name, ok := letters[strings.ToLower(c.path)]; ok && err == nil && r.isFile(name, info) {
			continue // it is the file that goes, in other letters
		}
		paths = append(paths, c.path)
	}
	if len(paths) > 0 {
		return &Conflict{Paths: paths, Why: "ignored files are in the way; move them first"}
	}
	return nil
}

// isFile reports whether the file of a name is the one that was found.
func (r *Repo) isFile(name string, listed fs.FileInfo) bool {
	info, err := os.Lstat(filepath.Join(r.root, name))
	return err == nil && os.SameFile(info, listed)
}

// underFile reports whether a path cannot be because a part of it is a file that
// goes.
func underFile(root, path string, goes map[string]bool) bool {
	for at := filepath.Dir(path); at != "."; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(root, at)); err == nil {
			return info.IsDir() || goes[filepath.ToSlash(at)]
		}
	}
	return true
}

// Conflict says which paths stand in the way of a change. Nothing was changed.
type Conflict struct {
	Paths []string // sorted
	Why   string
}

// Error implements error.
func (c *Conflict) Error() string {
	return fmt.Sprintf("%s: %s", c.Why, listed(c.Paths))
}

// MergeResult is what became of a work tree.
type MergeResult struct {
	Before, After string   // trees; equal where there was nothing to do
	Paths         []string // that were changed, sorted
	// Conflicts are the paths with conflict markers in them.
	Conflicts []string
	// Submodules are those that should stand at another commit now and were
	// left where they are.
	Submodules []string
}

// moveResult sums a move up.
func (r *Repo) moveResult(ctx context.Context, now, to string) (MergeResult, error) {
	m := MergeResult{Before: now, After: to}
	changes, err := r.deltas(ctx, now, to)
	if err != nil {
		return m, err
	}
	for _, c := range changes {
		m.Paths = append(m.Paths, c.path)
		if c.from.mode == gitlinkMode || c.to.mode == gitlinkMode {
			m.Submodules = append(m.Submodules, c.path)
		}
	}
	slices.Sort(m.Paths)
	return m, nil
}

// Options of a change to a work tree.
type Options struct {
	// Check only says what would be done.
	Check bool
	// Force overwrites files that differ from what was expected (Restore), or
	// leaves conflict markers in files (Merge).
	Force bool
	// Keep is called with the tree as it is before anything is changed, and may
	// refuse.
	Keep func(before, after string) error
	// Intent is the file in which stands what is being done, while it is; see
	// [Hold.Intent] and [Repo.Finish]. Without one, a move that a process dies in
	// stays half done.
	Intent string
}

// Restore undoes the change from one tree to another (left): each file that
// differs between them becomes what it was in to, if it is still what it is in
// left; other files are not touched, and neither is the user's index. Files
// that others changed since are a [*Conflict], and then nothing is changed,
// unless opts.Force is set. A snapshot of the work tree as it was is the
// caller's to keep, in opts.Keep.
func (r *Repo) Restore(ctx context.Context, left, to string, opts Options) (MergeResult, error) {
	var out MergeResult
	err := r.indexed(ctx, func(now string, a area) error {
		undo, err := r.undoing(ctx, now, left, to, opts.Force)
		if err != nil {
			return err
		}
		target, err := r.patched(ctx, now, undo)
		if err != nil {
			return err
		}
		out, err = r.apply(ctx, a, now, target, opts)
		return err
	})
	if err != nil {
		return out, fmt.Errorf("restore %q: %w", r.root, refused(err))
	}
	return out, nil
}

// undoing chooses what is to be changed in now so that the change from to to
// left is undone.
func (r *Repo) undoing(ctx context.Context, now, left, to string, force bool) ([]delta, error) {
	changes, err := r.deltas(ctx, left, to)
	if err != nil {
		return nil, err
	}
	since, err := r.deltas(ctx, left, now)
	if err != nil {
		return nil, err
	}
	is := make(map[string]entryState, len(since))
	for _, c := range since {
		is[c.path] = c.to
	}
	var undo []delta
	var changed []string
	for _, c := range changes {
		switch at, differs := is[c.path]; {
		case differs && at == c.to: // it is undone already
		case differs && !force:
			changed = append(changed, c.path)
		default:
			undo = append(undo, c)
		}
	}
	if len(changed) > 0 {
		slices.Sort(changed)
		return nil, &Conflict{Paths: changed, Why: "these files were changed since the run left them"}
	}
	return undo, nil
}

// apply moves the work tree from now to target, after it was kept.
func (r *Repo) apply(ctx context.Context, a area, now, target string, opts Options) (MergeResult, error) {
	out, err := r.moveResult(ctx, now, target)
	if err != nil || opts.Check || now == target {
		return out, err
	}
	return out, r.shift(ctx, a, now, target, opts)
}

// Carry is the tree with what differs between two others as well, file by file.
// A file in which it differs from the first of them stays as it is: both sides
// have changed it. The result is kept for the run under the label.
func (r *Repo) Carry(ctx context.Context, run plan.RunID, label, onto, from, to string) (string, error) {
	changes, err := r.deltas(ctx, from, to)
	if err != nil {
		return "", err
	}
	own, err := r.deltas(ctx, from, onto)
	if err != nil {
		return "", err
	}
	mine := map[string]bool{}
	for _, d := range own {
		mine[d.path] = true
	}
	changes = slices.DeleteFunc(changes, func(d delta) bool { return mine[d.path] })
	tree := onto
	if len(changes) > 0 {
		if tree, err = r.patched(ctx, onto, changes); err != nil {
			return "", err
		}
	}
	snap, err := r.Keep(ctx, run, label, tree)
	return snap.Tree, err
}
