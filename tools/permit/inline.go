package permit

import (
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// inline looks at a program that the command is given as text: in a word, or on
// its standard input. What can be told of it is which paths it may mention.
func (p *Part) inline(r *reader, here *string) {
	name := p.program()
	switch {
	case slices.Contains([]string{"awk", "gawk", "mawk", "nawk"}, name):
		p.scripted(r, plainAwk, "f")
	case name == "sed" || name == "gsed":
		p.scripted(r, plainSed, "f")
	case slices.Contains(interpreters, name) || strings.HasPrefix(name, "python"):
		if at := p.code(); at > 0 {
			p.coded = true
			for _, w := range p.argv[at:] {
				p.mentions(r, w.text)
			}
			return
		}
		if inFile := slices.ContainsFunc(p.operands(), func(w word) bool { return w.text != "-" }); inFile {
			return
		}
		if here != nil {
			p.mentions(r, *here)
		}
		p.coded = here != nil || p.feed != unfed
	}
}

// code is where a program stands in the words of an interpreter: behind an option
// before its first operand. It is 0 where there is none.
func (p *Part) code() int {
	for i, w := range p.argv[1:] {
		switch {
		case !strings.HasPrefix(w.text, "-") || w.text == "-" || w.text == "--" || strings.HasPrefix(w.text, "-m"):
			if i == 0 && slices.Contains([]string{"deno", "bun"}, p.program()) && w.text == "eval" {
				return i + 1
			}
			return 0
		case strings.HasPrefix(w.text, "--"):
			if slices.ContainsFunc([]string{"--eval", "--print"}, func(o string) bool {
				return strings.HasPrefix(w.text, o)
			}) {
				return i + 1
			}
		case strings.ContainsAny(w.text, "ceErpnC"):
			return i + 1
		}
	}
	return 0
}

// scripted looks at the script of a program that has a small language. Script
// files are asked about no more than those of shells.
func (p *Part) scripted(r *reader, plain func(string) bool, file string) {
	scripts := append(p.option("-e", "--expression"), p.option("--source")...)
	if len(scripts) == 0 && !p.flag(file, "--file") {
		if all := p.operands(); len(all) > 0 {
			scripts = all[:1]
		}
	}
	for _, w := range scripts {
		p.mentions(r, w.text)
		p.coded = p.coded || !w.known || !plain(w.text)
	}
}

// plainSed reports whether a script of sed neither runs a command nor opens a
// file: addresses with commands that print, delete and replace.
func plainSed(script string) bool {
	return sedScript().MatchString(script)
}

var sedScript = lazy.Regexp(`^\s*(?:` + sedCommand + `\s*[;\n]\s*)*(?:` + sedCommand + `)?\s*$`)

const (
	sedAddress = `(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)`
	sedCommand = `(?:` + sedAddress + `(?:,\+?` + sedAddress + `)?\s*!?\s*)?` +
		`(?:[pdPDqQ=nNhHgGx]|` +
		`s/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\[^\n]|\\\n)*/[gpiI\d]*|` +
		`s\|(?:[^|\\\n]|\\.)*\|(?:[^|\\\n]|\\.)*\|[gpiI\d]*|` +
		`s#(?:[^#\\\n]|\\.)*#(?:[^#\\\n]|\\.)*#[gpiI\d]*|` +
		`s,(?:[^,\\\n]|\\.)*,(?:[^,\\\n]|\\.)*,[gpiI\d]*|` +
		`y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/|` +
		`[aic]\\?[^\n]*)`
)

// plainAwk reports whether a program of awk has none of what runs a command or
// opens a file.
func plainAwk(program string) bool {
	return !strings.ContainsAny(program, "|@") && !strings.Contains(program, "system") &&
		!strings.Contains(program, "getline") && !strings.Contains(program, ">") && !strings.Contains(program, "ARGV")
}

// hidden looks for commands in the words of a program that is not known to run
// none: a word with blanks may be a command line.
func (r *reader) hidden(at int) {
	p := &r.parts[at]
	if p.quiet || p.program() == "git" || slices.Contains(runNothing, p.program()) {
		return
	}
	var inner []string
	var paths []string
	for _, w := range p.argv[1:min(len(p.argv), mostSuffixes)] {
		if !w.known || !strings.ContainsAny(w.text, " \t\n;|&") || strings.HasPrefix(w.text, "-") {
			continue
		}
		sub := &reader{
			place: r.place,
			dir:   r.dir,
			past:  r.past,
			vars:  r.vars,
			depth: r.depth + 1,
		}
		sub.script(w.text, unfed)
		for i := range sub.parts {
			if sub.parts[i].Opaque == "" {
				inner = append(inner, sub.parts[i].names()...)
			}
			paths = append(paths, sub.parts[i].paths...)
		}
	}
	p = &r.parts[at]
	p.inner, p.paths = append(p.inner, inner...), append(p.paths, paths...)
}
