package tools

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/plan-engine/plan/loop"
)

//go:embed apply_patch.md
var patchDoc string

type patchArgs struct {
	Patch string `json:"patch" jsonschema_description:"the patch: a unified diff, or the form between *** Begin Patch and *** End Patch"`
}

func (s *Set) applyPatch() loop.Tool {
	return define(writer("apply_patch", patchDoc), s.runPatch)
}

func (s *Set) runPatch(ctx context.Context, args patchArgs, _ loop.Input) (loop.Result, error) {
	return s.exclusively(ctx, func() (loop.Result, error) {
		changes, err := parsePatch(args.Patch)
		if err != nil {
			return loop.Result{}, fmt.Errorf("%w. Nothing was changed", err)
		}
		w := &working{set: s, files: map[string]*entry{}}
		for _, c := range changes {
			if err := w.apply(ctx, c); err != nil {
				return loop.Result{}, fmt.Errorf("%w\nNothing was changed, in no file", err)
			}
		}
		if err := w.commit(); err != nil {
			return loop.Result{}, err
		}
		return w.result(), nil
	})
}

// working is the files of a patch as they will be. Nothing is written before
// every change has been worked out.
type working struct {
	set   *Set
	files map[string]*entry // by where they really are
	order []*entry
	said  []string
}

// entry is one file, before and after.
type entry struct {
	was, now file
	present  bool // there is a file afterwards
	known    bool // the conversation has seen it as it was
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
	known, err := w.set.current(f)
	if err != nil {
		return nil, err
	}
	e := &entry{was: f, now: f, present: f.exists, known: known}
	w.files[f.target] = e
	w.order = append(w.order, e)
	return e, nil
}

// apply works one change out.
func (w *working) apply(ctx context.Context, c change) error {
	if c.loose {
		if to, err := w.open(c.to); err == nil && to.present {
			c.path = c.to
		}
	}
	e, err := w.open(c.path)
	if err != nil {
		return err
	}
	switch {
	case c.op == opAdd && e.present:
		return fmt.Errorf("%s exists already, so it cannot be added; update it instead", show(c.path))
	case c.op == opAdd:
		return w.add(e, c)
	case !e.present:
		return fmt.Errorf("%s does not exist%s", show(c.path), w.set.nearest(ctx, e.now.path))
	case c.op == opDelete:
		return w.drop(e, c)
	}
	return w.update(e, c)
}

// add makes a new file.
func (w *working) add(e *entry, c change) error {
	var lines []patchLine
	ragged := false
	for _, h := range c.hunks {
		for _, l := range h.lines {
			if l.kind != '+' {
				return fmt.Errorf("%s is new, so every line of its hunk begins with +, but one is %q", show(c.path), string(l.kind)+brief(l.text))
			}
			lines = append(lines, patchLine{l.text, ending(nil, 0, true, l.cr)})
		}
		ragged = h.newRagged
	}
	e.now.data, e.present = joined("", lines, ragged), true
	e.now.mode, e.now.exists = newFile|executable(c.mode, newFile), false
	w.say("added %s: %s", show(e.now.path), size(e.now.data))
	return nil
}

// drop deletes a file. Whoever deletes shows that they know what is lost.
func (w *working) drop(e *entry, c change) error {
	if len(c.hunks) == 0 && !e.known && len(e.now.data) > 0 {
		return fmt.Errorf("%s has not been read in this conversation, so it was not deleted. Read it first, or delete it with a command", show(c.path))
	}
	if len(c.hunks) > 0 {
		_, lines := patchLines(e.now.data)
		places, err := fit(texts(lines), c.hunks, e.known)
		if err != nil {
			return fmt.Errorf("%s: %w", show(c.path), err)
		}
		if rest := patched(e.now.data, places); len(bytes.TrimPrefix(rest, byteOrderMark)) > 0 {
			return fmt.Errorf("%s is to be deleted, but the patch leaves %s of it over; the file has more than the patch knows. Read it again",
				show(c.path), count(len(rest), "byte", "bytes"))
		}
	}
	e.present = false
	w.say("deleted %s", show(e.now.path))
	return nil
}

// update changes a file, and moves or copies it if the patch says so.
func (w *working) update(e *entry, c change) error {
	_, lines := patchLines(e.now.data)
	places, err := fit(texts(lines), c.hunks, e.known)
	if err != nil {
		return fmt.Errorf("%s: %w", show(c.path), err)
	}
	to := e
	if c.to != c.path {
		if to, err = w.open(c.to); err != nil {
			return err
		}
		if to != e && to.present {
			return fmt.Errorf("%s cannot take the name %s: that file exists", show(c.path), show(c.to))
		}
	}
	next := to.now
	next.data = patched(e.now.data, places)
	next.mode, next.exists = e.now.mode, e.now.exists
	if c.mode != 0 {
		next.mode = next.mode&^0o111 | executable(c.mode, next.mode)
	}
	said := "updated " + show(e.now.path)
	if to != e {
		said = "moved " + show(e.now.path) + " to " + show(next.path)
		e.present = false
		if c.op == opCopy {
			said = "copied " + show(e.now.path) + " to " + show(next.path)
			e.present = true
		}
	}
	to.now, to.present = next, true
	w.say("%s%s", said, fitted(places))
	return nil
}

// executable is the executable bits that git's mode asks for, for whoever may
// read.
func executable(git, mode fs.FileMode) fs.FileMode {
	if git&0o111 == 0 {
		return 0
	}
	return mode & 0o444 >> 2
}

func (w *working) say(format string, args ...any) {
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

// fitted says how much hunks change, and what was odd about their places.
func fitted(places []placed) string {
	if len(places) == 0 {
		return ""
	}
	added, deleted := 0, 0
	var odd []string
	for i, p := range places {
		for _, l := range p.lines {
			switch l.kind {
			case '+':
				added++
			case '-':
				deleted++
			}
		}
		if p.at > 0 && p.end > p.start && p.start != p.at-1 {
			odd = append(odd, fmt.Sprintf("hunk %d was put at line %d, the patch said %d", i+1, p.start+1, p.at))
		}
		if p.loosely {
			odd = append(odd, fmt.Sprintf("hunk %d fits but for white space at line ends", i+1))
		}
	}
	said := fmt.Sprintf(": +%d -%d lines", added, deleted)
	if len(odd) > 0 {
		said += " (" + strings.Join(odd, "; ") + ")"
	}
	return said
}

// commit writes every file, or none: when one fails, those before it get back
// what they had.
func (w *working) commit() error {
	var done []undo
	changed := false
	for _, e := range w.ordered() {
		var err error
		u := undo{file: e.was}
		switch {
		case !e.present && e.was.exists:
			err = w.set.remove(e.was.target)
		case e.present && (!e.was.exists || e.now.mode != e.was.mode || !bytes.Equal(e.now.data, e.was.data)):
			u.made, err = w.set.replace(e.now)
		default:
			continue
		}
		changed = true
		done = append(done, u)
		if err != nil {
			return w.set.rollBack(done, err)
		}
	}
	if !changed {
		return errors.New("the patch changes nothing: the files have exactly this content already")
	}
	return nil
}

// ordered returns what is to be written before what is to be deleted, so that
// a moved file is never nowhere.
func (w *working) ordered() []*entry {
	out := slices.Clone(w.order)
	slices.SortStableFunc(out, func(a, b *entry) int {
		switch {
		case a.present && !b.present:
			return -1
		case b.present && !a.present:
			return 1
		}
		return 0
	})
	return out
}

// undo is what a file was, and the directories that were made for it.
type undo struct {
	file
	made []string
}

// rollBack gives files back what they had, the last first.
func (s *Set) rollBack(done []undo, why error) error {
	var lost []string
	for _, u := range slices.Backward(done) {
		if err := s.restore(u); err != nil {
			lost = append(lost, fmt.Sprintf("%s (%v)", show(u.path), err))
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("%w. Not all that had been written could be taken back: look at %s", why, strings.Join(lost, ", "))
	}
	return fmt.Errorf("%w. What had been written before was taken back: no file is changed", why)
}

// restore takes one change back, as far as it came.
func (s *Set) restore(u undo) error {
	if !u.exists {
		err := s.root.Remove(u.target)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return fmt.Errorf("remove it again: %w", cause(err))
		}
		return s.removeDirs(u.made)
	}
	info, err := s.root.Lstat(u.target)
	if err == nil && info.Mode() == u.mode {
		if now, err := s.root.ReadFile(u.target); err == nil && bytes.Equal(now, u.data) {
			return nil
		}
	}
	_, err = s.replace(u.file)
	return err
}

// result says what was done and remembers it.
func (w *working) result() loop.Result {
	res := loop.Result{Output: clean([]byte(strings.Join(w.said, "\n"))), Files: map[string]string{}}
	for _, e := range w.order {
		for _, name := range e.now.names() {
			if e.present {
				res.Files[name] = w.set.noteText(name, e.now.data)
			} else if e.was.exists {
				w.set.note(name, "")
				res.Files[name] = ""
			}
		}
	}
	return res
}
