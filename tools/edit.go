package tools

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

//go:embed edit.md
var editDoc string

const (
	aroundEdit  = 3  // lines shown before and after a change
	shownEdits  = 5  // changed regions shown
	editWhole   = 12 // lines of the longest change that is shown whole
	editEdge    = 2  // lines shown of each end of one that is longer
	shownPlaces = 20 // line numbers listed
)

type editArgs struct {
	Path       string `json:"path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

func editTool() builtin {
	return builtin{
		info:    changeInfo("edit", editDoc),
		purpose: Modify,
		describe: described(func(dir string, a editArgs) Call {
			c := describePath(a.Path)
			c.Preview = func() string { return previewEdit(dir, a) }
			return c
		}),
		open: changes(workEdit),
	}
}

// workEdit works out a file in which a text is replaced.
func workEdit(ctx context.Context, w *working, args editArgs) error {
	old, new := lf(args.OldString), lf(args.NewString)
	if old == new {
		return errors.New(sameText(args))
	}
	f, err := w.set.load(args.Path)
	if err != nil {
		return err
	}
	if old == "" {
		return w.fill(f, args.NewString)
	}
	if !f.exists {
		return fmt.Errorf("%s does not exist%s. To create it use write", show(f.path), w.set.nearest(ctx, f.path))
	}
	known, err := w.set.current(f)
	if err != nil {
		return err
	}
	u := newUnix(f.data)
	if old, new, err = unmask(u.text, old, new); err != nil {
		return fmt.Errorf("%s: %w", show(f.path), err)
	}
	at, err := find(u.text, old, new, args.ReplaceAll)
	if err != nil {
		return fmt.Errorf("%s: %w", show(f.path), err)
	}
	if len(at) > 1 && !known { // text that is there once proves that the file is known
		return w.set.fresh(f, "changed")
	}
	next := f
	next.data = u.splice(at, old, new)
	w.put(f, next)
	w.report("%s", edited(next, at, old, new))
	return nil
}

// sameText says why nothing would change.
func sameText(args editArgs) string {
	if args.OldString != args.NewString {
		return "old_string and new_string differ only in line endings or a byte order mark, which edit keeps as " +
			"they are in the file. Use write to change those"
	}
	return "old_string and new_string are the same, so nothing would change. Give the text as it shall become in " +
		"new_string"
}

// fill is an edit of nothing: it fits a file that has nothing.
func (w *working) fill(f file, content string) error {
	if len(bytes.TrimPrefix(f.data, byteOrderMark)) > 0 {
		return fmt.Errorf(
			"old_string is empty but %s is not. Give the text to replace; to replace the whole file use write",
			show(f.path),
		)
	}
	verb := "created"
	if f.exists {
		verb = "filled"
	}
	next := f
	next.data = append(bytes.Clone(f.data), content...)
	w.put(f, next)
	w.report("%s %s: %s", verb, show(f.path), size(next.data))
	return nil
}

// find returns the offsets at which old is to be replaced.
func find(text, old, new string, all bool) ([]int, error) {
	var at []int
	step := 1 // occurrences that overlap make one ambiguous, too
	if all {
		step = len(old)
	}
	times := 0
	for from := 0; ; times++ {
		next := strings.Index(text[from:], old)
		if next < 0 {
			break
		}
		if all || times < shownPlaces {
			at = append(at, from+next)
		}
		from += next + step
	}
	switch {
	case times == 0:
		return nil, errors.New(notFound(text, old, new))
	case times > 1 && !all:
		return nil, fmt.Errorf(
			"old_string is there %d times, beginning at %s; nothing was changed. Add lines around it until it is "+
				"unique, or set replace_all",
			times,
			places(text, at, times),
		)
	}
	return at, nil
}

// places lists the lines of the first of n offsets.
func places(text string, at []int, n int) string {
	lines := make([]string, 0, len(at)+1)
	for _, offset := range at {
		lines = append(lines, strconv.Itoa(lineOf(text, offset)))
	}
	if n > len(at) {
		lines = append(lines, "…")
	}
	return "lines " + strings.Join(lines, ", ")
}

// notFound helps a model to see what it should have asked for.
func notFound(text, old, new string) string {
	message := "old_string is not in the file; nothing was changed. "
	if bare := numberedLine().ReplaceAllString(old, ""); bare != old && strings.Contains(text, bare) {
		return message + "It has the line numbers in it that read shows: leave them and the tab after them out"
	}
	have, want := splitLines(text), splitLines(old)
	line, blanks := nearestRegion(have, want)
	applied := strings.Index(text, new)
	switch {
	case line > 0 && blanks:
		message += "It differs from this only in white space (indentation, tabs, blanks at the end); give it exactly " +
			"as it is here:\n"
	case applied >= 0 && len(strings.TrimSpace(new)) > 8:
		line, want = lineOf(text, applied), splitLines(new)
		message += fmt.Sprintf(
			"new_string is already there, at line %d: the change may have been made before. The file reads:\n",
			line,
		)
	case line == 0:
		return message + fmt.Sprintf(
			"Nothing like it is there either (%s). Read the file again, or grep for what you want to change",
			count(len(have), "line", "lines"),
		)
	default:
		message += "The most similar part of the file is:\n"
	}
	return message + numbered(
		have,
		line-1,
		line+len(want),
	) + "Copy the text exactly (without the line numbers) and try again"
}

// edited says what an edit did and shows it.
func edited(f file, at []int, old, new string) string {
	text := newUnix(f.data).text
	lines := splitLines(text)
	var out strings.Builder
	fmt.Fprintf(&out, "edited %s: %s (%s)\n", show(f.path),
		count(len(at), "replacement", "replacements"), linesChanged(len(at), old, new))
	end := 0 // the last line shown
	for i, offset := range at {
		if i == shownEdits {
			fmt.Fprintf(&out, "[%s not shown]\n", count(len(at)-i, "replacement is", "replacements are"))
			break
		}
		start := offset + i*(len(new)-len(old))
		from, to := lineOf(text, start), lineOf(text, start+len(new))
		if first := max(from-aroundEdit, end+1); first <= to+aroundEdit {
			if end > 0 && first > end+1 {
				out.WriteString("…\n")
			}
			showEdit(&out, lines, first, from, to)
			end = min(to+aroundEdit, len(lines))
		}
	}
	return strings.TrimRight(out.String(), "\n")
}

// showEdit shows a changed region with what is around it, from line first on. The
// middle of a long one is left out: the call that wrote it stands just before.
func showEdit(out *strings.Builder, lines []string, first, from, to int) {
	if to-from < editWhole {
		out.WriteString(numbered(lines, first, to+aroundEdit))
		return
	}
	out.WriteString(numbered(lines, first, from+editEdge-1))
	fmt.Fprintf(out, "[lines %d-%d are as you gave them]\n", from+editEdge, to-editEdge)
	out.WriteString(numbered(lines, to-editEdge+1, to+aroundEdit))
}

// linesChanged sizes n replacements of old by new in lines.
func linesChanged(n int, old, new string) string {
	head, tail := common(old, new)
	removed := len(splitLines(old[head : len(old)-tail]))
	come := len(splitLines(new[head : len(new)-tail]))
	return fmt.Sprintf("+%d -%d lines", n*come, n*removed)
}
