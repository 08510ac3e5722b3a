package tools

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/tools/syntax"
)

// Bounds on one excerpt.
const (
	excerptWhole   = 6 << 10 // bytes of a file that is shown whole where no part of it is named
	excerptCode    = 2 << 10 // of code that is shown whole in any case
	excerptText    = 1 << 10 // and of what has no definitions
	excerptHead    = 12      // lines before the first definition that are shown beside others: imports
	excerptAround  = 8       // lines shown around a line that no small definition holds
	excerptComment = 24      // lines of the longest comment that is shown with its definition
	excerptRegion  = 80      // lines of the largest definition that is shown whole for a line in it
	excerptLines   = 24      // outline entries of a file of which nothing is shown
	excerptNear    = 10      // and of one of which something is: the nearest
	excerptAlike   = 3       // lines on which a text may stand that is looked for as it is written
)

// Wanted is what of a file an excerpt shows.
type Wanted struct {
	Path string
	// Lines are pairs of first and last, from 1.
	Lines [][2]int
	// Names are of definitions, with what they are a member of or without.
	Names []string
	// Texts are looked for as they are written, in a file without such definitions
	// and lines: a heading of a document, a key of settings.
	Texts []string
	// Whole says that the file is meant, not only a part: one that is small is shown whole,
	// one of which parts are named only where it is smaller still, and of one that is not
	// there is at least an outline.
	Whole bool
	Bytes int // at most about so many
}

// Excerpt is part of a file as it stands now.
type Excerpt struct {
	Path    string
	Hash    string // of the whole file
	Regions []Region
	Outline string // of definitions that no region shows, a line each; "" for none
	Lines   int    // of the whole file
}

// Region is a run of lines.
type Region struct {
	First, Last int // from 1
	Text        string
}

// Excerpt shows parts of a file. What cannot be shown, such as a file that is
// gone, is binary or leads outside, is none; false says so. Nor is one that rules
// withhold: no call has named it.
func (s *Set) Excerpt(ctx context.Context, w Wanted) (Excerpt, bool) {
	name, problem := s.rel(w.Path)
	if problem != "" || s.withheld(name) {
		return Excerpt{}, false
	}
	r := &reader{root: s.root}
	defer r.close()
	data, err := r.load(name, true, symbolFile)
	if err != nil {
		return Excerpt{}, false
	}
	text := string(data)
	lines := splitLines(text)
	out := Excerpt{Path: name, Hash: hashOf(data), Lines: len(lines)}
	var defs []syntax.Symbol
	if l := s.index.languages.Of(name); l != nil {
		if file, err := l.Parse(ctx, name, data); err == nil { // without definitions there are still lines
			defs = file.Symbols
			file.Close()
		}
	}
	wanted := spans(w, defs, lines)
	if len(wanted) == 0 {
		wanted = written(w.Texts, lines)
	}
	if w.Whole {
		small := excerptWhole
		switch {
		case len(wanted) > 0 && len(defs) > 0:
			small = excerptCode
		case len(wanted) > 0:
			small = excerptText
		}
		switch {
		case len(data) <= min(small, w.Bytes):
			wanted = [][2]int{{1, len(lines)}}
		case len(defs) == 0 && len(wanted) == 0:
			wanted = [][2]int{{1, 2 * excerptAround}}
		case len(defs) > 0 && len(wanted) > 0:
			wanted = append(wanted, [2]int{defs[0].First - excerptHead, defs[0].First - 1})
		}
	}
	left := w.Bytes
	for _, span := range merged(wanted, len(lines)) {
		region := Region{
			First: span[0],
			Last:  span[1],
			Text:  strings.Join(lines[span[0]-1:span[1]], "\n") + "\n",
		}
		if left -= len(region.Text); left < 0 {
			break
		}
		out.Regions = append(out.Regions, region)
	}
	if w.Whole {
		out.Outline = outlineBeside(defs, out.Regions)
	}
	return out, len(out.Regions) > 0 || out.Outline != ""
}

// spans are the lines that are wanted: of named definitions, and around named
// lines the smallest definition that is not too long.
func spans(w Wanted, defs []syntax.Symbol, lines []string) [][2]int {
	var out [][2]int
	for _, d := range defs {
		if w.means(d, defs) {
			out = append(out, [2]int{withComment(d.First, lines), min(d.Last, d.First+2*excerptRegion)})
		}
	}
	for _, at := range w.Lines {
		span := [2]int{at[0] - excerptAround, at[1] + excerptAround}
		size := excerptRegion + 1
		for _, d := range defs {
			if n := d.Last - d.First + 1; d.First <= at[0] && at[1] <= d.Last && n < size {
				span, size = [2]int{withComment(d.First, lines), d.Last}, n
			}
		}
		out = append(out, span)
	}
	return out
}

// withComment is the first line of a definition that begins at a line, with what is said of
// it right above: a change of the one is one of the other.
func withComment(first int, lines []string) int {
	at := first
	for at > 1 && comment().MatchString(lines[at-2]) {
		at--
	}
	if first-at > excerptComment {
		return first
	}
	return at
}

// comment finds lines of comments and attributes.
var comment = lazy.Regexp(`^\s*(?://|#|/?\*|--|@)`)

// written are the lines around texts that stand in a file only here and there; of a
// heading those at the end of its section too, where things are added.
func written(texts, lines []string) [][2]int {
	var out [][2]int
	for _, text := range texts {
		var at []int
		for i, line := range lines {
			if text = strings.TrimSpace(text); len(text) > excerptAlike && strings.Contains(line, text) {
				at = append(at, i+1)
			}
		}
		if len(at) > excerptAlike {
			continue
		}
		for _, line := range at {
			out = append(out, [2]int{line - excerptAround, line + excerptAround})
			if end := sectionEnd(lines, line); end > 0 {
				out = append(out, [2]int{end - excerptAround, end + 1})
			}
		}
	}
	return out
}

// sectionEnd is the last line of the section whose heading stands at a line of a
// Markdown document, 0 where none does.
func sectionEnd(lines []string, at int) int {
	depth := func(line string) int {
		marks := len(line) - len(strings.TrimLeft(line, "#"))
		if marks > 0 && strings.HasPrefix(line[marks:], " ") {
			return marks
		}
		return 0
	}
	own := depth(lines[at-1])
	if own == 0 {
		return 0
	}
	for i := at; i < len(lines); i++ {
		if d := depth(lines[i]); d > 0 && d <= own {
			return i
		}
	}
	return len(lines)
}

// mostAlike is how many definitions of a file a bare name may fit.
const mostAlike = 4

// means reports whether a name is one of a definition. Where the names say of which type
// a member is meant, those of other types are not; and a name that many have means none.
// What the body of a function assigns, as self.color = color, a bare name does not mean:
// the line says nothing, and most often a parameter is spoken of.
func (w Wanted) means(d syntax.Symbol, defs []syntax.Symbol) bool {
	if slices.Contains(w.Names, d.Full()) {
		return true
	}
	if !slices.Contains(w.Names, d.Name) || !d.IsCode() && isWithin(d, defs) {
		return false
	}
	alike := 0
	for _, other := range defs {
		if other.Name != d.Name {
			continue
		}
		if alike++; alike > mostAlike || other.Container != "" && slices.Contains(w.Names, other.Full()) {
			return false
		}
	}
	return true
}

// merged sorts spans, keeps them within a file of so many lines, and joins those
// that touch or nearly do: what is between costs no more than another pair of tags.
func merged(in [][2]int, lines int) [][2]int {
	const gap = 7
	slices.SortFunc(in, func(a, b [2]int) int { return a[0] - b[0] })
	var out [][2]int
	for _, s := range in {
		s[0], s[1] = max(s[0], 1), min(s[1], lines)
		switch n := len(out); {
		case s[0] > s[1]:
		case n > 0 && s[0] <= out[n-1][1]+gap:
			out[n-1][1] = max(out[n-1][1], s[1])
		default:
			out = append(out, s)
		}
	}
	return out
}

// isWithin reports whether a definition stands in the body of a function.
func isWithin(d syntax.Symbol, defs []syntax.Symbol) bool {
	return slices.ContainsFunc(defs, func(outer syntax.Symbol) bool {
		return outer.IsCode() && outer.First <= d.First && d.Last <= outer.Last &&
			outer.Last-outer.First > d.Last-d.First
	})
}

// outlineBeside lists the definitions that no region shows: where there are regions,
// those that are nearest to them.
func outlineBeside(defs []syntax.Symbol, regions []Region) string {
	distance := func(d syntax.Symbol) int {
		least := math.MaxInt
		for _, r := range regions {
			least = min(least, max(r.First-d.First, d.First-r.Last))
		}
		return least
	}
	listed := slices.DeleteFunc(slices.Clone(defs), func(d syntax.Symbol) bool {
		return distance(d) <= 0 || d.Container != "" && !d.IsCode() || isWithin(d, defs)
	})
	most, total := excerptLines, len(listed)
	if len(regions) > 0 {
		most = excerptNear
		slices.SortStableFunc(listed, func(a, b syntax.Symbol) int { return distance(a) - distance(b) })
	}
	listed = listed[:min(total, most)]
	slices.SortStableFunc(listed, func(a, b syntax.Symbol) int { return a.First - b.First })
	var b strings.Builder
	for _, d := range listed {
		fmt.Fprintf(&b, "%d-%d %s\n", d.First, d.Last, brief(d.Signature))
	}
	if more := total - len(listed); more > 0 {
		fmt.Fprintf(&b, "… %d more\n", more)
	}
	return b.String()
}
