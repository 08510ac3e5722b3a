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
)

//go:embed apply_patch.md
var patchDoc string

type patchArgs struct {
	Patch string `json:"patch"`
}

func applyPatchTool() builtin {
	return builtin{
		info:    changeInfo("apply_patch", patchDoc),
		purpose: Modify,
		describe: described(func(_ string, a patchArgs) Call {
			files, _ := patchFiles(a.Patch) // what cannot be read changes nothing
			return Call{
				Paths:   files,
				Title:   strings.Join(files, " "),
				Preview: func() string { return a.Patch },
			}
		}),
		open: changes(workPatch),
	}
}

// patchFiles are the files that a patch is about, as the tool that carries it out
// reads it. A patch that it cannot read changes nothing.
func patchFiles(patch string) ([]string, error) {
	changes, err := parsePatch(patch)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, c := range changes {
		for _, name := range []string{c.path, c.to} {
			if name != "" && !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
	}
	return files, nil
}

// workPatch works out every change of a patch.
func workPatch(ctx context.Context, w *working, args patchArgs) error {
	changes, err := parsePatch(args.Patch)
	if err != nil {
		return fmt.Errorf("%w. Nothing was changed", err)
	}
	for _, c := range changes {
		if err := w.apply(ctx, c); err != nil {
			return fmt.Errorf("%w\nNothing was changed, in no file", err)
		}
	}
	if len(w.done) == 0 && !slices.ContainsFunc(w.order, (*entry).changed) {
		return errors.New("the patch changes nothing: the files have exactly this content already")
	}
	return nil
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
	case e.done:
		return nil
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
				return fmt.Errorf(
					"%s is new, so every line of its hunk begins with +, but one is %q",
					show(c.path),
					string(l.kind)+brief(l.text),
				)
			}
			lines = append(lines, patchLine{l.text, ending(nil, 0, true, l.cr)})
		}
		ragged = h.newRagged
	}
	e.now.data, e.present = joined("", lines, ragged), true
	e.now.mode, e.now.exists = newFile|executable(c.mode, newFile), false
	w.report("added %s: %s", show(e.now.path), size(e.now.data))
	return nil
}

// drop deletes a file. A model that deletes must show that it knows what is lost.
func (w *working) drop(e *entry, c change) error {
	if len(c.hunks) == 0 && !e.known && len(e.now.data) > 0 {
		return fmt.Errorf(
			"%s has not been read in this conversation, so it was not deleted. Read it first, or delete it with a "+
				"command",
			show(c.path),
		)
	}
	if len(c.hunks) > 0 {
		_, lines := patchLines(e.now.data)
		places, err := fit(texts(lines), c.hunks, e.known)
		if err != nil {
			return fmt.Errorf("%s: %w", show(c.path), err)
		}
		if rest := patched(e.now.data, places); len(bytes.TrimPrefix(rest, byteOrderMark)) > 0 {
			return fmt.Errorf(
				"%s is to be deleted, but the patch leaves %s of it over; the file has more than the patch knows. "+
					"Read it again",
				show(c.path),
				count(len(rest), "byte", "bytes"),
			)
		}
	}
	e.present = false
	w.report("deleted %s", show(e.now.path))
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
		if to.done {
			e.present = c.op == opCopy
			return nil
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
	w.report("%s%s", said, fitted(places))
	return nil
}

// executable is the executable bits that git's mode asks for, for those who may
// read.
func executable(git, mode fs.FileMode) fs.FileMode {
	if git&0o111 == 0 {
		return 0
	}
	return mode & 0o444 >> 2
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
