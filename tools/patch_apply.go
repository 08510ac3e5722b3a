package tools

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/patch"
)

// patchLine is a line of a file that is being patched.
type patchLine struct {
	text string
	eol  string // "\n", "\r\n", or "" for a last line without a newline
}

// patchLines splits a content into a byte order mark and lines.
func patchLines(data []byte) (bom string, lines []patchLine) {
	rest := string(data)
	if after, ok := strings.CutPrefix(rest, string(byteOrderMark)); ok {
		bom, rest = string(byteOrderMark), after
	}
	for line := range strings.Lines(rest) {
		text := strings.TrimSuffix(line, "\n")
		if len(text) < len(line) {
			text = strings.TrimSuffix(text, "\r")
		}
		lines = append(lines, patchLine{text, line[len(text):]})
	}
	return bom, lines
}

func texts(lines []patchLine) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.text
	}
	return out
}

// placed is a hunk and where it goes: lines start to end are its old side.
type placed struct {
	*patch.Hunk
	start, end int
	loosely    bool // white space at line ends was ignored
}

// fitting finds the places of the hunks of one file.
type fitting struct {
	lines  []string
	known  bool // the conversation has seen the file as it is
	placed []placed
}

// fit places every hunk or says which does not fit.
func fit(lines []string, hunks []patch.Hunk, known bool) ([]placed, error) {
	f := &fitting{lines: lines, known: known}
	for i := range hunks {
		h := &hunks[i]
		for j := range h.Lines {
			h.Lines[j].Text = strings.TrimPrefix(h.Lines[j].Text, string(byteOrderMark))
		}
		p, err := f.place(h)
		if err != nil {
			return nil, fmt.Errorf("hunk %d of %d %w", i+1, len(hunks), err)
		}
		f.placed = append(f.placed, p)
	}
	return f.placed, nil
}

// place finds the place of one hunk: where its lines are exactly, or else but
// for white space at line ends, or else but for what the reader is not shown of them.
func (f *fitting) place(h *patch.Hunk) (placed, error) {
	want := h.Side('-')
	if len(want) == 0 {
		at, err := f.insertion(h)
		if err == nil && !f.free(at, at) {
			err = fmt.Errorf("adds lines at line %d, in the middle of another hunk: make one hunk of the two", at+1)
		}
		return placed{
			Hunk:  h,
			start: at,
			end:   at,
		}, err
	}
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b },
		func(a, b string) bool { return strings.TrimRight(a, " \t\r") == strings.TrimRight(b, " \t\r") },
		maskedSame(want),
	} {
		if same == nil {
			continue
		}
		places := f.matches(want, same)
		if len(places) == 0 {
			continue
		}
		at, ok := f.choose(h, places, len(want))
		if !ok {
			return placed{}, errors.New(ambiguous(places))
		}
		unmaskHunk(h, f.lines[at:at+len(want)])
		exact := slices.Equal(f.lines[at:at+len(want)], h.Side('-'))
		return placed{h, at, at + len(want), !exact}, nil
	}
	return placed{}, errors.New(f.missing(h, want))
}

// matches returns every line at which want is and no other hunk has been put.
func (f *fitting) matches(want []string, same func(a, b string) bool) []int {
	var places []int
	for at := 0; at+len(want) <= len(f.lines); at++ {
		if slices.EqualFunc(f.lines[at:at+len(want)], want, same) && f.free(at, at+len(want)) {
			places = append(places, at)
		}
	}
	return places
}

// free reports whether no hunk has been put between two lines.
func (f *fitting) free(start, end int) bool {
	return !slices.ContainsFunc(f.placed, func(p placed) bool { return start < p.end && p.start < end })
}

// choose picks one of several places for n lines by what the hunk says about
// where it is.
func (f *fitting) choose(h *patch.Hunk, places []int, n int) (int, bool) {
	if len(places) == 1 {
		return places[0], true
	}
	last := places[len(places)-1]
	if h.End && last+n == len(f.lines) {
		return last, true
	}
	if below := f.below(h.Anchors, places); len(below) > 0 {
		return below[0], len(below) == 1
	}
	if h.At >= 0 {
		stated := h.At - 1 + f.drift()
		if slices.Contains(places, stated) {
			return stated, true
		}
		if h.Counted() {
			return nearestTo(stated, places)
		}
	}
	after := 0
	for _, p := range f.placed {
		after = max(after, p.end)
	}
	rest := slices.DeleteFunc(slices.Clone(places), func(at int) bool { return at < after })
	if len(rest) == 1 && after > 0 {
		return rest[0], true
	}
	return 0, false
}

// drift is how far from where it said that it was the last hunk was found.
func (f *fitting) drift() int {
	for _, p := range slices.Backward(f.placed) {
		if p.At > 0 && p.end > p.start {
			return p.start - (p.At - 1)
		}
	}
	return 0
}

// nearestTo picks the place nearest to a line, if there is one.
func nearestTo(line int, places []int) (int, bool) {
	away := func(at int) int { return max(at-line, line-at) }
	best, tie := places[0], false
	for _, at := range places[1:] {
		if away(at) < away(best) {
			best, tie = at, false
		} else if away(at) == away(best) {
			tie = true
		}
	}
	return best, !tie
}

// below returns the first of the places below each line that the anchors name.
func (f *fitting) below(anchors []string, places []int) []int {
	var out []int
	for _, anchor := range f.anchored(anchors) {
		i, _ := slices.BinarySearch(places, anchor)
		if i < len(places) && !slices.Contains(out, places[i]) {
			out = append(out, places[i])
		}
	}
	return out
}

// anchored returns the lines that the last anchor may mean, given that those
// before it come above.
func (f *fitting) anchored(anchors []string) []int {
	if len(anchors) == 0 {
		return nil
	}
	from := 0
	if outer := anchors[:len(anchors)-1]; len(outer) > 0 {
		above := f.anchored(outer)
		if len(above) == 0 {
			return nil
		}
		from = above[0]
	}
	for _, fits := range []func(line, anchor string) bool{
		func(line, anchor string) bool { return line == anchor }, strings.HasPrefix, strings.Contains,
	} {
		var out []int
		for i := from; i < len(f.lines); i++ {
			if fits(strings.TrimSpace(f.lines[i]), anchors[len(anchors)-1]) {
				out = append(out, i)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// insertion finds the place of a hunk that only adds lines.
func (f *fitting) insertion(h *patch.Hunk) (int, error) {
	switch anchored := f.anchored(h.Anchors); {
	case len(f.lines) == 0:
		return 0, nil
	case h.End:
		return len(f.lines), nil
	case len(anchored) == 1:
		return anchored[0] + 1, nil
	case h.Old == 0 && f.known && h.At+f.drift() <= len(f.lines):
		return max(h.At+f.drift(), 0), nil
	}
	return 0, errors.New(
		"only adds lines, and nothing proves where they go: give it lines of context, beginning with a blank, " +
			"from before and after the place",
	)
}

func ambiguous(places []int) string {
	lines := make([]string, 0, shownPlaces)
	for _, at := range places[:min(len(places), shownPlaces)] {
		lines = append(lines, fmt.Sprint(at+1))
	}
	return fmt.Sprintf(
		"fits at %d places (lines %s) and nothing says which is meant: add context lines until it is unique, or "+
			"state the right line in its @@ header",
		len(places),
		strings.Join(lines, ", "),
	)
}

// missing says that a hunk's lines are not there, and what is.
func (f *fitting) missing(h *patch.Hunk, want []string) string {
	message := "does not fit: the file does not have its lines. "
	after := h.Side('+')
	applied := f.matches(after, func(a, b string) bool { return a == b })
	if len(applied) == 1 && len(strings.Join(after, "\n")) > 8 {
		return fmt.Sprintf("seems to be applied already: the file has its new lines at line %d:\n", applied[0]+1) +
			numbered(f.lines, applied[0], applied[0]+len(after)+1) + "Leave this hunk out, or read the file again"
	}
	line, _ := nearestRegion(f.lines, want)
	if line == 0 && h.At > 0 && h.At <= len(f.lines) {
		message += "At the line it states there is:\n"
		line = h.At
	} else if line > 0 {
		message += "The most similar part of the file is:\n"
	}
	if line == 0 {
		return message + "Nothing in it is like them. Read the file and make the patch from what is there"
	}
	return message + numbered(f.lines, line-1, line+len(want)) +
		"The lines that begin with a blank or - must be exactly those of the file (without the line numbers)"
}

// patched makes the new content of a file. The hunks do not overlap.
func patched(data []byte, hunks []placed) []byte {
	bom, lines := patchLines(data)
	hunks = slices.Clone(hunks)
	slices.SortStableFunc(hunks, func(a, b placed) int {
		return cmp.Or(a.start-b.start, a.end-b.end) // what is only added comes before the line it is added at
	})
	ragged := len(lines) > 0 && lines[len(lines)-1].eol == ""
	cr := slices.ContainsFunc(hunks, func(p placed) bool {
		return slices.ContainsFunc(p.Lines, func(l patch.Line) bool { return l.CR })
	})
	var out []patchLine
	at := 0
	for _, p := range hunks {
		out = append(out, lines[at:p.start]...)
		at = p.start
		for _, l := range p.Lines {
			switch l.Kind {
			case ' ':
				out = append(out, lines[at])
				at++
			case '-':
				at++
			default:
				out = append(out, patchLine{l.Text, ending(lines, at, cr, l.CR)})
			}
		}
		if p.end == len(lines) && (p.OldRagged || p.NewRagged) {
			ragged = p.NewRagged
		}
	}
	return joined(bom, append(out, lines[at:]...), ragged)
}

// ending is the line ending of a line that is added before line at: what the
// patch says, if it has endings, or else that of the line before.
func ending(lines []patchLine, at int, stated, cr bool) string {
	switch {
	case cr:
		return "\r\n"
	case stated:
		return "\n"
	case at > 0 && lines[at-1].eol != "":
		return lines[at-1].eol
	case len(lines) > 0 && lines[0].eol != "":
		return lines[0].eol
	}
	return "\n"
}

// joined puts lines together; ragged leaves the newline after the last out.
func joined(bom string, lines []patchLine, ragged bool) []byte {
	var out bytes.Buffer
	out.WriteString(bom)
	for i, l := range lines {
		eol := l.eol
		if eol == "" {
			eol = ending(lines, i, false, false)
		}
		if i == len(lines)-1 && ragged {
			eol = ""
		}
		out.WriteString(l.text + eol)
	}
	return out.Bytes()
}
