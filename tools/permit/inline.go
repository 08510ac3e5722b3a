package permit

import (
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// inline looks at a program that the command is given as text: in a word, or on
// its standard input. What can be told of it is which paths it may mention.
func (p *Part) inline(r *reader, hereText *string) {
	name := p.program()
	switch {
	case slices.Contains([]string{"awk", "gawk", "mawk", "nawk"}, name):
		p.scripted(r, plainAwk, "f")
	case name == "sed" || name == "gsed":
		p.scripted(r, plainSed, "f")
	case slices.Contains(interpreters, name) || strings.HasPrefix(name, "python"):
		if at := p.code(); at > 0 {
			if p.onlyPrints(at) {
				return
			}
			p.coded = true
			for _, w := range p.argv[at:] {
				p.mentions(r, w.text)
			}
			return
		}
		if inFile := slices.ContainsFunc(p.operands(), func(w word) bool { return w.text != "-" }); inFile {
			return
		}
		if hereText != nil {
			p.mentions(r, *hereText)
		}
		p.coded = hereText != nil || p.feed != unfed
	}
}

// onlyPrints reports whether the one program in the words, behind the option at a
// place, computes and prints and does nothing else.
func (p *Part) onlyPrints(at int) bool {
	if at != len(p.argv)-2 || !p.argv[at+1].known || !slices.Contains([]string{"-c", "-e", "-p"}, p.argv[at].text) {
		return false
	}
	code := p.argv[at+1].text
	if name := p.program(); !strings.HasPrefix(name, "python") && name != "node" ||
		strings.ContainsAny(code, "`/#\\") ||
		strings.Contains(code, `"""`) ||
		strings.Contains(code, "'''") {
		return false // where its texts end is not told so easily
	}
	code = codeText().ReplaceAllString(code, " 0 ")
	return !slices.ContainsFunc(codeName().FindAllString(code, -1), func(name string) bool {
		return !slices.Contains(codeNames, name)
	}) && !strings.ContainsAny(code, `"'`)
}

var (
	codeText = lazy.Regexp(`"[^"\n]*"|'[^'\n]*'`)
	codeName = lazy.Regexp(`[\pL_$][\pL\pN_$]*`)
	// codeNames are the names in a program that only computes and prints.
	codeNames = strings.Fields(
		"JSON Math False None True abs console dumps e else false float for if import in int json len list load " +
			"loads log math max min not null or and print process range round sorted stdin str stringify sum sys " +
			"true version version_info versions",
	)
)

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
		if operands := p.operands(); len(operands) > 0 {
			scripts = operands[:1]
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
// none: a word with blanks may be a command line, and so may the value of an option
// or what it is given to read.
func (r *reader) hidden(at int, hereText *string) {
	p := &r.parts[at]
	name := p.program()
	if p.quiet {
		return
	}
	var texts []string
	for _, w := range p.argv[1:min(len(p.argv), mostSuffixes)] {
		texts = append(texts, p.lines(w)...)
	}
	if hereText != nil && *hereText != unreadable && !slices.Contains(runNothing, name) &&
		!slices.Contains(interpreters, name) {
		texts = append(texts, *hereText)
	}
	if hereText != nil && slices.Contains(editors, name) {
		p.mentions(r, *hereText)
	}
	fed := p.feed != unfed || hereText != nil && *hereText == unreadable
	p.coded = p.coded || slices.Contains(editors, name) && fed
	for _, text := range texts {
		r.inside(at, text)
	}
}

// editors carry out what they are given to read: they write files, and run commands.
var editors = strings.Fields("ed ex vi vim nvim")

// inside looks at a text that a command may run.
func (r *reader) inside(at int, text string) {
	sub := &reader{
		place: r.place,
		dir:   r.dir,
		past:  r.past,
		vars:  r.vars,
		depth: r.depth + 1,
	}
	sub.script(strings.TrimLeft(text, "!: "), unfed)
	p := &r.parts[at]
	for _, part := range sub.parts {
		if part.Opaque == "" {
			p.inner = append(p.inner, part.names()...)
		}
		p.paths = append(p.paths, part.paths...)
	}
}

// lines are the command lines that a word may hold. Of a program that runs nothing
// among its words, and of git, only the value of an option that names a program does.
func (p *Part) lines(w word) []string {
	if !w.known || !strings.ContainsAny(w.text, " \t\n;|&") {
		return nil
	}
	option, value, ok := strings.Cut(w.text, "=")
	if slices.Contains(runNothing, p.program()) {
		switch {
		case strings.HasPrefix(option, "-") && namesProgram(option):
			return []string{value}
		case p.program() == "git" && strings.HasPrefix(option, "-O"):
			return []string{strings.TrimPrefix(w.text, "-O")}
		}
		return nil
	}
	out := []string{w.text}
	if strings.HasPrefix(w.text, "-") {
		out = nil
	}
	for ; ok; _, value, ok = strings.Cut(value, "=") {
		out = append(out, value)
	}
	return out
}

// namesProgram reports whether an option or a variable tells a program what to run.
func namesProgram(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(
		strings.Fields("exec program pager editor command extcmd askpass proxy shell upload-pack receive-pack visual"),
		func(part string) bool { return strings.Contains(name, part) },
	)
}
