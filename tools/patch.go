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

	"github.com/plan-engine/plan/internal/patch"
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
func patchFiles(text string) ([]string, error) {
	changes, err := patch.Parse(text)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, c := range changes {
		for _, name := range []string{c.Path, c.To} {
			if name != "" && !slices.Contains(files, name) {
				files = append(files, name)
			}
		}
	}
	return files, nil
}

// workPatch works out every change of a patch.
func workPatch(ctx context.Context, w *working, args patchArgs) error {
	changes, err := patch.Parse(args.Patch)
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
func (w *working) apply(ctx context.Context, c patch.Change) error {
	if c.Loose {
		if to, err := w.open(c.To); err == nil && to.present {
			c.Path = c.To
		}
	}
	e, err := w.open(c.Path)
	if err != nil {
		return err
	}
	switch {
	case e.done:
		return nil
	case c.Op == patch.Add && e.present:
		return fmt.Errorf("%s exists already, so it cannot be added; update it instead", show(c.Path))
	case c.Op == patch.Add:
		return w.add(e, c)
	case !e.present:
		return fmt.Errorf("%s does not exist%s", show(c.Path), w.set.nearest(ctx, e.now.path))
	case c.Op == patch.Delete:
		return w.drop(e, c)
	}
	return w.update(e, c)
}

// add makes a new file.
func (w *working) add(e *entry, c patch.Change) error {
	var lines []patchLine
	ragged := false
	for _, h := range c.Hunks {
		for _, l := range h.Lines {
			if l.Kind != '+' {
				return fmt.Errorf(
					"%s is new, so every line of its hunk begins with +, but one is %q",
					show(c.Path),
					string(l.Kind)+brief(l.Text),
				)
			}
			lines = append(lines, patchLine{l.Text, ending(nil, 0, true, l.CR)})
		}
		ragged = h.NewRagged
	}
	e.now.data, e.present = joined("", lines, ragged), true
	e.now.mode, e.now.exists = newFile|executable(c.Mode, newFile), false
	w.report("added %s: %s", show(e.now.path), size(e.now.data))
	return nil
}

// drop deletes a file. A model that deletes must show that it knows what is lost.
func (w *working) drop(e *entry, c patch.Change) error {
	if len(c.Hunks) == 0 && !e.known && len(e.now.data) > 0 {
		return fmt.Errorf(
			"%s has not been read in this conversation, so it was not deleted. Read it first, or delete it with a "+
				"command",
			show(c.Path),
		)
	}
	if len(c.Hunks) > 0 {
		_, lines := patchLines(e.now.data)
		places, err := fit(texts(lines), c.Hunks, e.known)
		if err != nil {
			return fmt.Errorf("%s: %w", show(c.Path), err)
		}
		if rest := patched(e.now.data, places); len(bytes.TrimPrefix(rest, byteOrderMark)) > 0 {
			return fmt.Errorf(
				"%s is to be deleted, but the patch leaves %s of it over; the file has more than the patch knows. "+
					"Read it again",
				show(c.Path),
				count(len(rest), "byte", "bytes"),
			)
		}
	}
	e.present = false
	w.report("deleted %s", show(e.now.path))
	return nil
}

// update changes a file, and moves or copies it if the patch says so.
func (w *working) update(e *entry, c patch.Change) error {
	_, lines := patchLines(e.now.data)
	places, err := fit(texts(lines), c.Hunks, e.known)
	if err != nil {
		return fmt.Errorf("%s: %w", show(c.Path), err)
	}
	to := e
	if c.To != c.Path {
		if to, err = w.open(c.To); err != nil {
			return err
		}
		if to.done {
			e.present = c.Op == patch.Copy
			return nil
		}
		if to != e && to.present {
			return fmt.Errorf("%s cannot take the name %s: that file exists", show(c.Path), show(c.To))
		}
	}
	next := to.now
	next.data = patched(e.now.data, places)
	next.mode, next.exists = e.now.mode, e.now.exists
	if c.Mode != 0 {
		next.mode = next.mode&^0o111 | executable(c.Mode, next.mode)
	}
	report := "updated " + show(e.now.path)
	if to != e {
		report = "moved " + show(e.now.path) + " to " + show(next.path)
		e.present = false
		if c.Op == patch.Copy {
			report = "copied " + show(e.now.path) + " to " + show(next.path)
			e.present = true
		}
	}
	to.now, to.present = next, true
	w.report("%s%s", report, fitted(places))
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
		for _, l := range p.Lines {
			switch l.Kind {
			case '+':
				added++
			case '-':
				deleted++
			}
		}
		if p.At > 0 && p.end > p.start && p.start != p.At-1 {
			odd = append(odd, fmt.Sprintf("hunk %d was put at line %d, the patch said %d", i+1, p.start+1, p.At))
		}
		if p.loosely {
			odd = append(odd, fmt.Sprintf("hunk %d fits but for white space at line ends", i+1))
		}
	}
	counts := fmt.Sprintf(": +%d -%d lines", added, deleted)
	if len(odd) > 0 {
		counts += " (" + strings.Join(odd, "; ") + ")"
	}
	return counts
}
