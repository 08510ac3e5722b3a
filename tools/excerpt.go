package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan/tools/syntax"
)

// Bounds on one excerpt.
const (
	excerptWhole  = 6 << 10 // bytes of a file that is shown whole where it is named
	excerptAround = 8       // lines shown around a line that no small definition holds
	excerptRegion = 80      // lines of the largest definition that is shown whole for a line in it
	excerptLines  = 24      // outline entries of what is not shown
)

// Wanted is what of a file an excerpt shows.
type Wanted struct {
	Path string
	// Lines are pairs of first and last, from 1.
	Lines [][2]int
	// Names are of definitions, with what they are a member of or without.
	Names []string
	// Whole says that the file is meant, not only a part: one that is small is
	// shown whole, and of one that is not there is at least an outline.
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
// gone, is binary or leads outside, is none; false says so.
func (s *Set) Excerpt(ctx context.Context, w Wanted) (Excerpt, bool) {
	name, problem := s.rel(w.Path)
	if problem != "" {
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
	if w.Whole && len(data) <= min(excerptWhole, w.Bytes) {
		out.Regions = []Region{{First: 1, Last: len(lines), Text: text}}
		return out, len(lines) > 0
	}
	var defs []syntax.Symbol
	if l := s.index.languages.Of(name); l != nil {
		if file, err := l.Parse(ctx, name, data); err == nil { // without definitions there are still lines
			defs = file.Symbols
			file.Close()
		}
	}
	left := w.Bytes
	for _, span := range merged(spans(w, defs), len(lines)) {
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
func spans(w Wanted, defs []syntax.Symbol) [][2]int {
	var out [][2]int
	for _, d := range defs {
		if w.means(d, defs) {
			out = append(out, [2]int{d.First, min(d.Last, d.First+2*excerptRegion)})
		}
	}
	for _, at := range w.Lines {
		span := [2]int{at[0] - excerptAround, at[1] + excerptAround}
		size := excerptRegion + 1
		for _, d := range defs {
			if n := d.Last - d.First + 1; d.First <= at[0] && at[1] <= d.Last && n < size {
				span, size = [2]int{d.First, d.Last}, n
			}
		}
		out = append(out, span)
	}
	return out
}

// mostAlike is how many definitions of a file a bare name may fit.
const mostAlike = 4

// means reports whether a name is one of a definition. Where the names say of which type
// a member is meant, those of other types are not; and a name that many have means none.
func (w Wanted) means(d syntax.Symbol, defs []syntax.Symbol) bool {
	if slices.Contains(w.Names, d.Full()) {
		return true
	}
	if !slices.Contains(w.Names, d.Name) {
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
// that touch or nearly do.
func merged(in [][2]int, lines int) [][2]int {
	const gap = 3
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

// outlineBeside lists the definitions that no region shows.
func outlineBeside(defs []syntax.Symbol, regions []Region) string {
	var b strings.Builder
	listed, more := 0, 0
	for _, d := range defs {
		shown := slices.ContainsFunc(regions, func(r Region) bool { return r.First <= d.First && d.First <= r.Last })
		switch {
		case shown || d.Container != "" && !d.IsCode() || isWithin(d, defs):
		case listed == excerptLines:
			more++
		default:
			listed++
			fmt.Fprintf(&b, "%d-%d %s\n", d.First, d.Last, brief(d.Signature))
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "… %d more\n", more)
	}
	return b.String()
}
