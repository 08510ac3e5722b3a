package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/internal/failpoint"
)

// intent is a move of a work tree whose files are being renamed. It is on the disk
// before the first of them is, and until the last has its name.
type intent struct {
	Root  string `json:"root"`
	From  string `json:"from"` // trees
	To    string `json:"to"`
	Stage string `json:"stage"` // the folder at the top of the tree that things wait in
	// Branch is the ref that is being moved, from one commit to another, with the index;
	// the files have the change already. "" while files are renamed.
	Branch string `json:"branch,omitempty"`
}

// write puts it on the disk.
func (in intent) write(file string) error {
	text, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("say what is to be done: %w", err)
	}
	return durable.Replace(file, append(text, '\n'), 0o600)
}

// Intent is the file in which stands what the holder of the tree is doing to its files.
func (h *Hold) Intent() string { return intentOf(h.lock.Path()) }

func intentOf(lock string) string { return strings.TrimSuffix(lock, ".lock") + ".move" }

// shift makes the files of the work tree, whose tree is now and whose index is
// a, those of another tree. Only files that differ are touched, and nothing is
// if one of them is not what the index says, if a file that git ignores is in the
// way, or if anything fails. Submodules are not moved.
func (r *Repo) shift(ctx context.Context, a area, now, to string, opts Options) error {
	if opts.Intent != "" { // the tree is held, so the move that left it is over
		if err := r.clearStages("", nil); err != nil {
			return err
		}
	}
	m, err := r.prepare(ctx, now, to)
	if err != nil {
		return err
	}
	defer m.close()
	if opts.Keep != nil {
		if err := opts.Keep(now, to); err != nil {
			return err
		}
	}
	if err := m.unchanged(ctx, a); err != nil {
		return err
	}
	if opts.Intent == "" {
		return m.rename()
	}
	failpoint.Hit("before an intent")
	if err := (intent{Root: r.root, From: now, To: to, Stage: m.stage}).write(opts.Intent); err != nil {
		return m.leftAlone(err, removeIfExists(opts.Intent))
	}
	return m.renameAs(opts.Intent)
}

// prepare writes what is needed to move the work tree, and touches none of its
// files.
func (r *Repo) prepare(ctx context.Context, now, to string) (*mover, error) {
	changes, err := r.deltas(ctx, now, to)
	if err != nil {
		return nil, err
	}
	if err := r.inTheWay(changes); err != nil {
		return nil, err
	}
	m, err := r.newMover(changes)
	if err == nil {
		if err = m.fill(ctx, to); err != nil {
			m.close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the work tree was left as it is: %w", err)
	}
	return m, nil
}

// renameAs renames the files, and drops the intent once that is done or taken back.
func (m *mover) renameAs(intent string) error {
	err := m.rename()
	if Halfway(err) {
		return err
	}
	failpoint.Hit("before an intent goes")
	dropErr := dropIntent(intent)
	if err != nil {
		return m.leftAlone(err, dropErr)
	}
	if dropErr != nil {
		return &halfwayError{
			err:     dropErr,
			changed: pathsOf(m.changes),
			all:     len(m.changes),
		}
	}
	failpoint.Hit("after an intent")
	return nil
}

// leftAlone says that no file was changed, and why. Where the intent could not be
// removed, the next command makes the change all the same.
func (m *mover) leftAlone(err, intent error) error {
	if intent != nil {
		return &halfwayError{err: err, back: intent, all: len(m.changes)}
	}
	return fmt.Errorf("the work tree was left as it is: %w", err)
}

func dropIntent(file string) error {
	if err := os.Remove(file); err != nil {
		return fmt.Errorf("note that a change of a work tree is over: %w", err)
	}
	return durable.SyncDir(filepath.Dir(file))
}

// Unfinished reports whether a process died while it moved the work tree, or is
// moving it, given the directory of the lock files.
func (r *Repo) Unfinished(locks string) bool {
	_, err := os.Lstat(intentOf(lockPath(r.root, locks)))
	return err == nil
}

// Finish brings a move of the work tree to its end that a process died in, given its
// intent, and says what it did; it reports false where there is none. The caller
// holds the tree. A file that is neither what it was before nor what it becomes is a
// [*Conflict], and then no file is touched.
func (r *Repo) Finish(ctx context.Context, file string) (MergeResult, bool, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return MergeResult{}, false, nil
	}
	var in intent
	if err == nil {
		err = json.Unmarshal(text, &in)
	}
	if err == nil && in.Root != r.root {
		err = fmt.Errorf("it speaks of %s", in.Root)
	}
	var out MergeResult
	if err == nil {
		out, err = r.finish(ctx, in, file)
	}
	if err != nil {
		return out, true, &UnfinishedError{
			Root: r.root,
			File: file,
			From: in.From,
			To:   in.To,
			err:  refused(err),
		}
	}
	return out, true, nil
}

func (r *Repo) finish(ctx context.Context, in intent, file string) (out MergeResult, err error) {
	if in.Branch != "" {
		return r.finishCommit(ctx, in, file)
	}
	changes, err := r.deltas(ctx, in.From, in.To)
	if err != nil {
		return out, err
	}
	if err := r.clearStages(in.Stage, changes); err != nil {
		return out, err
	}
	err = r.indexed(ctx, func(now string, a area) error {
		left, err := r.leftOf(ctx, now, in.From, changes)
		if err != nil {
			return err
		}
		target, err := r.patched(ctx, now, left)
		if err != nil {
			return err
		}
		if out, err = r.moveResult(ctx, now, target); err != nil {
			return err
		}
		if now == target {
			return dropIntent(file)
		}
		m, err := r.prepare(ctx, now, target)
		if err != nil {
			return err
		}
		defer m.close()
		if err := m.unchanged(ctx, a); err != nil {
			return err
		}
		in.Stage = m.stage
		if err := in.write(file); err != nil {
			return err
		}
		if err := m.rename(); err != nil {
			return err // the intent stays
		}
		return dropIntent(file)
	})
	return out, err
}

// leftOf are the changes that were not made yet.
func (r *Repo) leftOf(ctx context.Context, now, from string, changes []delta) ([]delta, error) {
	since, err := r.deltas(ctx, from, now)
	if err != nil {
		return nil, err
	}
	is := make(map[string]entryState, len(since))
	for _, c := range since {
		is[c.path] = c.to
	}
	var left []delta
	var odd []string
	for _, c := range changes {
		switch at, differs := is[c.path]; {
		case !differs:
			left = append(left, c)
		case at != c.to && (c.from.isFile() || c.to.isFile()):
			odd = append(odd, c.path)
		}
	}
	if len(odd) > 0 {
		slices.Sort(odd)
		return nil, &Conflict{Paths: odd, Why: "these files are neither what they were nor what they were to become"}
	}
	return left, nil
}

// clearStages removes what moves have left behind, once the files of which nothing
// else is left have their names again: those that were taken out into one of the
// folders, where a disk has no links, and whose new content has not come.
func (r *Repo) clearStages(last string, changes []delta) error {
	root, err := os.OpenRoot(r.root)
	if err != nil {
		return err //nolint:wrapcheck // names the path
	}
	defer root.Close() //nolint:errcheck // nothing is written through it
	for _, c := range changes {
		old := path.Join(last, "old", c.path)
		_, statErr := root.Lstat(c.path)
		_, oldErr := root.Lstat(old)
		if c.from.isFile() && c.to.isFile() && errors.Is(statErr, fs.ErrNotExist) && oldErr == nil {
			if err := root.Rename(old, c.path); err != nil {
				return err //nolint:wrapcheck // names the paths
			}
		}
	}
	stages, err := fs.Glob(root.FS(), stagePrefix+"*")
	if err != nil {
		return err //nolint:wrapcheck // names the pattern
	}
	for _, stage := range stages {
		if !isStage(filepath.Join(r.root, stage)) {
			continue
		}
		if err := removeStage(root, stage); err != nil {
			return err
		}
	}
	return nil
}

// UnfinishedError says that a move of a work tree that a process stopped in cannot be
// brought to its end.
type UnfinishedError struct {
	Root, File string
	From, To   string
	err        error
}

// Error implements error.
func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("a command stopped while it changed the files of %s, and the change cannot be finished: %v",
		e.Root, e.err)
}

// Unwrap returns the cause.
func (e *UnfinishedError) Unwrap() error { return e.err }

// Hint says what to do about it.
func (e *UnfinishedError) Hint() string {
	return fmt.Sprintf("Mend the cause and do it again. `git show %s:FILE` is a file as it was, `git show %s:FILE` as "+
		"it was to become: make it one of them. To leave all as it is, remove %s.", e.From, e.To, e.File)
}
