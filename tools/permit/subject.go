package permit

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/tools/outside"
)

// subject is one thing that is judged by itself.
type subject struct {
	place Place
	tool  string
	line  string // the whole command line, trimmed
	part  *Part
	paths []string // absolute
	// untold says that files are changed, and that it cannot be told which.
	untold bool
	only   bool // it is mentioned, and may be a path
	// foreign says that it is a call from outside of which nothing says that it only reads.
	foreign bool
	// changed are files that the call runs and that rules were not given for.
	changed func() []string
}

// outgrew reports whether a rule allows commands by name, and was given when what they
// run was something else. A pattern that fits every command names none.
func (s subject) outgrew(r Rule) bool {
	return r.Action == Allow && strings.Trim(r.Command, "* ") != "" && s.part != nil && len(s.changed()) > 0
}

// answer says whether a rule is about something. Maybe is an answer for rules
// that ask or deny: an allow that cannot be told to fit does not.
type answer int

const (
	no answer = iota
	maybe
	yes
)

func sure(fits bool) answer {
	if fits {
		return yes
	}
	return no
}

// subjects takes a call apart into what is judged by itself.
func (p *Policy) subjects(c Call) []subject {
	place := p.at(c.Dir)
	var out []subject
	if c.Command != "" && !c.Foreign {
		return place.commands(c)
	}
	if c.Command != "" {
		out = place.commands(c)
	}
	if len(c.Paths) == 0 || c.Untold || c.Foreign {
		out = append(out, subject{
			place:   place,
			tool:    c.Tool,
			untold:  c.Untold,
			foreign: c.Foreign,
		})
	}
	for _, text := range c.Mentions {
		out = append(out, subject{
			place: place,
			tool:  c.Tool,
			paths: []string{place.abs("", text)},
			only:  true,
		})
	}
	for _, path := range c.Paths {
		out = append(out, subject{
			place: place,
			tool:  c.Tool,
			paths: []string{place.abs("", path)},
		})
	}
	return out
}

// commands are the subjects of a command line. One that runs no command, such as
// an assignment, is judged as one thing.
func (p Place) commands(c Call) []subject {
	var out []subject
	line, runs := strings.TrimSpace(c.Command), false
	add := func(part *Part) {
		runs = runs || !part.only
		out = append(out, subject{
			place: p,
			tool:  c.Tool,
			line:  line,
			part:  part,
		})
	}
	for _, part := range Commands(p, c.Command) {
		add(&part)
	}
	if !runs {
		add(&Part{Text: line})
	}
	return out
}

// hazard says why it is asked about by default, "" if it is not.
func (s subject) hazard() string {
	if s.foreign {
		return fmt.Sprintf("%s comes from outside, and nothing says that it only reads", outside.RuleName(s.tool))
	}
	if s.part == nil {
		return ""
	}
	return s.part.hazard(s.place)
}

// about puts the command before a reason, where the line has several.
func (s subject) about(reason string) string {
	if s.part == nil || s.part.Text == s.line {
		return reason
	}
	return fmt.Sprintf("%s: %s", short(s.part.Text), reason)
}

// fits reports whether a rule is about it.
func (s subject) fits(r Rule) answer {
	if r.Tool != "" && !fitsName(r.Tool, s.tool) && !fitsName(r.Tool, outside.RuleName(s.tool)) {
		return no
	}
	loose, out := r.Action == Allow, yes
	switch {
	case r.Command == "" && r.Path == "" && !loose && (s.only || s.part != nil && s.part.only):
		return no // such a rule judges the call or the command that it is a part of
	case r.Command != "" && s.part == nil:
		return no
	case r.Command != "":
		out = s.fitsCommand(r.Command, loose)
	}
	if r.Path != "" {
		out = min(out, s.fitsPath(r.Path, loose))
	}
	return out
}

// fitsCommand matches a command. A pattern that is the whole line to the letter
// is about each command in it.
func (s subject) fitsCommand(pattern string, loose bool) answer {
	if literal, ok := unquoteCommand(pattern); ok && literal == s.line {
		return yes
	}
	if s.part.only {
		return no
	}
	if loose {
		return sure(s.part.Opaque == "" && !s.part.Redirect && fitsText(pattern, oneline.Of(s.part.Text), false))
	}
	if slices.ContainsFunc(
		s.part.names(),
		func(text string) bool { return fitsText(pattern, oneline.Of(text), true) },
	) {
		return yes
	}
	mayFit := func(text string) bool { return fitsText(pattern, oneline.Of(text), true) }
	if s.part.Opaque != "" || s.part.coded || slices.ContainsFunc(s.part.mayRun, mayFit) || slices.ContainsFunc(
		s.part.shapes(),
		func(shape string) bool { return meet(pattern, shape) || meet(pattern+" *", shape) },
	) {
		return maybe
	}
	return no
}

// fitsPath matches paths: for an allow all that are written, else any that is
// named.
func (s subject) fitsPath(pattern string, loose bool) answer {
	pattern = s.place.pattern(pattern)
	if loose {
		return sure(s.allowsPaths(pattern))
	}
	fits := s.place.strict(pattern)
	either := func(p string) bool { return fits(p) || fits(resolved(p)) }
	linked := s.linked(either)
	if s.part == nil {
		if slices.ContainsFunc(s.paths, either) {
			return yes
		}
		return max(linked, min(maybe, sure(s.untold)))
	}
	if slices.ContainsFunc(s.part.paths, either) {
		return yes
	}
	if !strings.Contains(pattern, "/") && s.part.mayNameBelow(pattern) {
		return yes // such a pattern is about the name alone
	}
	out := linked
	if s.part.Opaque != "" || s.part.coded || s.part.unsure || s.part.vague || s.part.mayNameBelow(pattern) {
		out = max(out, maybe)
	}
	if slices.ContainsFunc(s.part.below, func(dir string) bool { return s.place.reaches(pattern, dir) }) ||
		slices.ContainsFunc(s.part.mayName, either) {
		out = max(out, maybe)
	}
	for _, l := range s.part.opens {
		out = max(out, l.open(either))
	}
	return max(out, s.folders(either), s.reading(fits))
}

// folders says whether a file that a rule is about is among those of the folders that
// the command changes or copies as a whole.
func (s subject) folders(fits func(string) bool) answer {
	out := no
	look := func(dir string, fits func(string) bool) {
		switch found, all := holds(dir, fits); {
		case found:
			out = yes
		case !all:
			out = max(out, maybe)
		}
	}
	for _, c := range s.part.copied {
		look(c.from, func(file string) bool {
			rel, err := filepath.Rel(c.from, file)
			return err == nil && fits(filepath.Join(c.to, rel))
		})
	}
	for _, dir := range s.part.wholesale {
		look(dir, fits)
	}
	return out
}

// linked says whether a file that is named has a further name that a rule is about.
func (s subject) linked(fits func(string) bool) answer {
	named, out := s.paths, no
	if s.part != nil {
		named = s.part.paths
	}
	for _, file := range named {
		switch found, all := linkedTo(s.place.Root, file, fits); {
		case found:
			return yes
		case !all:
			out = maybe
		}
	}
	return out
}

// allowsPaths reports whether an allow is about all that is written.
func (s subject) allowsPaths(pattern string) bool {
	paths := s.paths
	if s.part != nil {
		if s.part.Opaque != "" || !s.part.writesOnly() {
			return false
		}
		paths = s.part.writes
	}
	fits := func(path string) bool { return s.place.fits(pattern, path) }
	return len(paths) > 0 &&
		!slices.ContainsFunc(paths, func(p string) bool { return !fits(p) || !fits(resolved(p)) })
}

// mayNameBelow reports whether a path whose folder cannot be told may fit.
func (p *Part) mayNameBelow(pattern string) bool {
	last := path.Base(folded(pattern))
	return slices.ContainsFunc(p.adrift, func(name string) bool {
		base := filepath.Base(name)
		return last == "**" || fitsName(last, folded(base))
	})
}

// strict is fits for a rule that asks or denies: also on a file system that does
// not tell upper case from lower case, and of a tree also by the name of the one
// that it is a copy of.
func (p Place) strict(pattern string) func(abs string) bool {
	pattern = folded(pattern)
	var trees []Place
	for _, root := range []string{p.Root, p.also} {
		if root != "" {
			trees = append(trees, Place{Root: folded(root)})
		}
	}
	return func(abs string) bool {
		abs = folded(abs)
		return slices.ContainsFunc(trees, func(tree Place) bool { return tree.fits(pattern, abs) })
	}
}
