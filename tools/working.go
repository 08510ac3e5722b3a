package tools

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/plan-engine/plan"
)

// working is the files of a call as they will be. Nothing is written before
// every change has been worked out.
type working struct {
	set    *Set
	key    string            // of the call
	files  map[string]*entry // by where they really are
	order  []*entry
	output []string // lines of the result
	// done are the files that an earlier process has brought to where this
	// call leaves them, by where they really are. What they were is lost.
	done map[string]bool
}

// entry is one file, before and after.
type entry struct {
	before, now file
	present     bool // there is a file afterwards
	known       bool // the conversation has seen it as it was
	done        bool // nothing is left to do, and nothing is known of before
}

// put takes in what a file was and what it becomes.
func (w *working) put(before, now file) {
	e := &entry{
		before:  before,
		now:     now,
		present: true,
	}
	w.files[before.target] = e
	w.order = append(w.order, e)
}

// open finds a file, as the changes before have left it.
func (w *working) open(name string) (*entry, error) {
	f, err := w.set.load(name)
	if err != nil {
		return nil, err
	}
	if e, ok := w.files[f.target]; ok {
		return e, nil
	}
	e := &entry{
		before:  f,
		now:     f,
		present: f.exists,
		done:    w.done[f.target],
	}
	if !e.done {
		if e.known, err = w.set.current(f); err != nil {
			return nil, err
		}
	}
	w.files[f.target] = e
	w.order = append(w.order, e)
	return e, nil
}

func (w *working) report(format string, args ...any) {
	w.output = append(w.output, fmt.Sprintf(format, args...))
}

// leaks names a file into which a mark would be written that stands for a
// secret: the model has not been shown the secret, and its mark would take the
// secret's place. Marks that stood in one of the files before may stay or move.
func (w *working) leaks() (string, bool) {
	for _, mark := range []string{plan.SecretMark, addressMark} {
		stood := 0
		for _, e := range w.order {
			stood = max(stood, bytes.Count(e.before.data, []byte(mark)))
		}
		for _, e := range w.order {
			if e.changed() && e.present && bytes.Count(e.now.data, []byte(mark)) > stood {
				return e.now.path, true
			}
		}
	}
	return "", false
}

// intent says what is going to be done.
func (w *working) intent(key string) plan.Intent {
	intent := plan.Intent{Key: key, Output: clean([]byte(strings.Join(w.output, "\n")))}
	for _, e := range w.order {
		if !e.before.exists && !e.present {
			continue // made and taken away again by the changes of one patch
		}
		intent.Files = append(intent.Files, e.fate())
	}
	return intent
}

// fate is what happens to one file.
func (e *entry) fate() plan.FileChange {
	c := plan.FileChange{Path: e.now.path}
	if e.now.target != e.now.path {
		c.Target = e.now.target
	}
	if e.before.exists {
		c.Before = hashOf(e.before.data)
	}
	if e.present {
		c.After = hashOf(e.now.data)
		if e.before.exists && e.now.mode != e.before.mode {
			c.Mode = octal(e.now.mode)
		}
	}
	return c
}

// makes reports whether the work is exactly what an intent says, done files
// aside, and else names a file about which they differ.
func (w *working) makes(intent plan.Intent, done map[string]bool) (string, bool) {
	wanted := map[string]plan.FileChange{}
	for _, c := range intent.Files {
		if names := c.Names(); !done[names[len(names)-1]] {
			wanted[names[len(names)-1]] = c
		}
	}
	for _, e := range w.order {
		if e.done || (!e.before.exists && !e.present) {
			continue
		}
		if e.fate() != wanted[e.now.target] {
			return e.now.path, false
		}
		delete(wanted, e.now.target)
	}
	for name := range wanted {
		return name, false
	}
	return "", true
}

// changed reports whether anything is to be done to the file.
func (e *entry) changed() bool {
	switch {
	case e.done:
		return false
	case !e.present:
		return e.before.exists
	}
	return !e.before.exists || e.now.mode != e.before.mode || !bytes.Equal(e.now.data, e.before.data)
}

// commit writes every file, or none: when one fails, those before it get back
// what they had.
func (w *working) commit() error {
	var done []undo
	for _, e := range w.ordered() {
		var err error
		u := undo{file: e.before}
		switch {
		case !e.changed():
			continue
		case !e.present:
			err = w.set.remove(e.before.target)
		default:
			u.made, err = w.set.replace(e.now, w.key)
		}
		done = append(done, u)
		if err != nil {
			return w.rollBack(done, err)
		}
	}
	return nil
}

// remember keeps what the files have now, to explain a later change.
func (w *working) remember() {
	for _, e := range w.order {
		for _, name := range e.now.names() {
			if e.present && !e.done {
				w.set.noteText(name, e.now.data)
			}
		}
	}
}

// ordered returns new files first, then changed and then deleted ones: a moved
// file is never nowhere, and while a copy is missing, what it is made of is
// still there.
func (w *working) ordered() []*entry {
	rank := func(e *entry) int {
		switch {
		case !e.present:
			return 2
		case e.before.exists:
			return 1
		}
		return 0
	}
	out := slices.Clone(w.order)
	slices.SortStableFunc(out, func(a, b *entry) int { return rank(a) - rank(b) })
	return out
}

// undo is what a file was, and the directories that were made for it.
type undo struct {
	file
	made []string
}

// rollBack gives files back what they had, the last first.
func (w *working) rollBack(done []undo, why error) error {
	var lost []string
	for _, u := range slices.Backward(done) {
		if err := w.restore(u); err != nil {
			lost = append(lost, fmt.Sprintf("%s (%v)", show(u.path), err))
		}
	}
	switch {
	case len(lost) > 0:
		return fmt.Errorf(
			"%w. Not all that had been written could be taken back: look at %s",
			why,
			strings.Join(lost, ", "),
		)
	case len(w.done) > 0:
		return fmt.Errorf(
			"%w. This call had been cut off before, and a part of it stays done: look at all of its files",
			why,
		)
	}
	return fmt.Errorf("%w. What had been written before was taken back: no file is changed", why)
}

// restore takes one change back, as far as it came.
func (w *working) restore(u undo) error {
	if !u.exists {
		err := w.set.root.Remove(u.target)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("remove it again: %w", cause(err))
		}
		return w.set.removeDirs(u.made)
	}
	info, err := w.set.root.Lstat(u.target)
	if err == nil && info.Mode() == u.mode {
		if now, err := w.set.root.ReadFile(u.target); err == nil && bytes.Equal(now, u.data) {
			return nil
		}
	}
	_, err = w.set.replace(u.file, w.key)
	return err
}
