package page

import (
	"fmt"
	"strconv"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
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

// filesOf reads a unified diff as git prints it.
func filesOf(diff string) []File {
	var out []File
	old, now := 0, 0
	for text := range strings.Lines(diff) {
		text = strings.TrimRight(text, "\r\n")
		if rest, ok := strings.CutPrefix(text, "diff --git "); ok {
			_, name, _ := strings.Cut(rest, " b/")
			out = append(out, File{Name: name})
			old, now = 0, 0
			continue
		}
		if len(out) == 0 {
			continue
		}
		f := &out[len(out)-1]
		line := Line{Text: text}
		switch {
		case strings.HasPrefix(text, "@@ "):
			line.Look = "hunk"
			old, now = hunk(text)
		case old == 0 && now == 0: // what stands before the first hunk
			if name, ok := strings.CutPrefix(text, "+++ b/"); ok {
				f.Name = name
			}
			if isDull(text) {
				continue
			}
			line.Look = "hunk"
		case strings.HasPrefix(text, "+"):
			line.Look, line.New, line.Text = "add", strconv.Itoa(now), text[1:]
			now++
			f.Added++
		case strings.HasPrefix(text, "-"):
			line.Look, line.Old, line.Text = "del", strconv.Itoa(old), text[1:]
			old++
			f.Removed++
		case strings.HasPrefix(text, "\\"):
			line.Look = "hunk"
		default:
			line.Old, line.New, line.Text = strconv.Itoa(old), strconv.Itoa(now), strings.TrimPrefix(text, " ")
			old++
			now++
		}
		if len(f.Lines) < mostLines {
			f.Lines = append(f.Lines, line)
		} else {
			f.More++
		}
	}
	return out
}

// isDull reports whether a line before the first hunk says nothing but names and hashes.
func isDull(text string) bool {
	for _, prefix := range []string{"index ", "--- ", "+++ "} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// hunk reads where a hunk begins, before and after.
func hunk(text string) (old, now int) {
	if _, err := fmt.Sscanf(text, "@@ -%d", &old); err != nil {
		old = 1
	}
	if _, rest, ok := strings.Cut(text, " +"); !ok {
		now = 1
	} else if _, err := fmt.Sscanf(rest, "%d", &now); err != nil {
		now = 1
	}
	return max(old, 1), max(now, 1)
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
