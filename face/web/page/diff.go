package page

import (
	"strconv"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/plan-engine/plan/internal/patch"
)

// File is what a change does to one file.
type File struct {
	Name    string
	Added   int
	Removed int
	Lines   []Line
	More    int // lines that are left out
}

// Line is a line of a diff.
type Line struct {
	Look string // add, del, hunk or ""
	Old  string // its number before; "" for none
	New  string // its number after
	Text string
}

// mostLines is how much of a file's change a page shows.
const mostLines = 1500

// filesOf is what git printed of a change, as the page shows it.
func filesOf(diff string) []File {
	var out []File
	for _, c := range patch.Diff(diff) {
		f := File{Name: c.To}
		for _, text := range c.Header {
			if !isDull(text) {
				f.add(Line{Look: "hunk", Text: text})
			}
		}
		for _, h := range c.Hunks {
			f.hunk(h)
		}
		out = append(out, f)
	}
	return out
}

func (f *File) add(l Line) {
	if len(f.Lines) < mostLines {
		f.Lines = append(f.Lines, l)
	} else {
		f.More++
	}
}

// hunk adds one place of the change.
func (f *File) hunk(h patch.Hunk) {
	f.add(Line{Look: "hunk", Text: h.Header})
	old, now := max(h.At, 1), max(h.NewAt, 1)
	for _, l := range h.Lines {
		line := Line{Text: l.Text}
		switch l.Kind {
		case '+':
			line.Look, line.New = "add", strconv.Itoa(now)
			now++
			f.Added++
		case '-':
			line.Look, line.Old = "del", strconv.Itoa(old)
			old++
			f.Removed++
		default:
			line.Old, line.New = strconv.Itoa(old), strconv.Itoa(now)
			old++
			now++
		}
		f.add(line)
	}
	switch {
	case h.OldRagged && h.NewRagged:
		f.add(Line{Look: "hunk", Text: "No newline at the end of the file"})
	case h.OldRagged:
		f.add(Line{Look: "hunk", Text: "No newline at the end of the file before"})
	case h.NewRagged:
		f.add(Line{Look: "hunk", Text: "No newline at the end of the file any more"})
	}
}

// isDull reports whether a line before the first hunk says nothing but names and hashes.
func isDull(text string) bool {
	for _, prefix := range []string{"diff --git ", "index ", "--- ", "+++ "} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// Pair is a line of two versions of a plan side by side.
type Pair struct {
	Left, Right         string
	LeftLook, RightLook string // del, add or ""
}

// sideBySide lays two texts beside each other.
func sideBySide(left, right string) []Pair {
	left, right = ensureEnd(left), ensureEnd(right)
	var out []Pair
	whole, err := udiff.ToUnifiedDiff("", "", left, udiff.Lines(left, right), len(left)+len(right))
	if err != nil || len(whole.Hunks) == 0 {
		for text := range strings.Lines(right) {
			text = strings.TrimSuffix(text, "\n")
			out = append(out, Pair{Left: text, Right: text})
		}
		return out
	}
	for _, h := range whole.Hunks {
		free := -1 // the first removed line that has nothing beside it
		for _, l := range h.Lines {
			text := strings.TrimSuffix(l.Content, "\n")
			switch l.Kind {
			case udiff.Delete:
				if free < 0 {
					free = len(out)
				}
				out = append(out, Pair{Left: text, LeftLook: "del"})
			case udiff.Insert:
				if free >= 0 && free < len(out) {
					out[free].Right, out[free].RightLook = text, "add"
					free++
					continue
				}
				out = append(out, Pair{Right: text, RightLook: "add"})
			default:
				free = -1
				out = append(out, Pair{Left: text, Right: text})
			}
		}
	}
	return out
}

func ensureEnd(text string) string { return strings.TrimSuffix(text, "\n") + "\n" }
