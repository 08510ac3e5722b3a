package permit

import (
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Part is one command of a command line, or one redirection of its output.
type Part struct {
	// Text is the command with its quotes taken off where they mean nothing
	// for what runs: "git push origin main".
	Text string
	// Opaque says why it cannot be told what the command does; "" if it can.
	Opaque string
	// Redirect says that this is no command but a file that output goes to.
	Redirect bool

	argv   []word
	feed   feed
	paths  []string // that it names, absolute
	writes []string // of those, the ones it writes
	vague  bool     // it writes somewhere that cannot be told
}

// word is one word of a command.
type word struct {
	text  string // its value, or its source if that is not known
	known bool
	split bool // it may become several words, or none
}

// feed says what a command reads on its standard input.
type feed int

const (
	unfed   feed = iota
	piped        // what another command writes
	fetched      // what comes over the network
)

const (
	// deepest is how far commands within commands are looked into.
	deepest = 24
	// longest is how much of a command line is looked at, in bytes.
	longest = 64 << 10
	// most is how many commands of one line are looked at.
	most = 2000
)

// Commands takes a command line apart: lists, pipes, substitutions, functions,
// and the commands that commands such as env, sudo, xargs, find and bash -c
// are given to run. What it cannot read is one opaque part.
func Commands(place Place, line string) []Part {
	r := &reader{place: place, dir: place.Root}
	if len(line) > longest {
		r.opaque(short(line), "it is too long to be looked through")
		return r.parts
	}
	r.script(line, unfed)
	return r.parts
}

// plain reports whether a text is made of characters that this parser and bash
// read in the same way: the parser has meanings of its own for control
// characters, and for U+0080 even the end of the text.
func plain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(c rune) bool {
		return unicode.IsControl(c) && c != '\n' && c != '\t'
	})
}

// reader collects the parts of a command line.
type reader struct {
	place Place
	dir   string // where relative paths start; "" when that cannot be told
	parts []Part
	depth int
}

func (r *reader) opaque(text, why string) {
	r.parts = append(r.parts, Part{Text: text, Opaque: why})
}

// deeper runs f one level down, unless that is too deep.
func (r *reader) deeper(text string, f func()) {
	if r.depth >= deepest || len(r.parts) >= most {
		r.opaque(short(text), "it holds more commands within commands than can be looked through")
		return
	}
	r.depth++
	f()
	r.depth--
}

// script reads the text of a script.
func (r *reader) script(text string, in feed) {
	r.deeper(text, func() {
		if !plain(text) {
			r.opaque(text, "it holds control characters")
			return
		}
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
		if err != nil {
			r.opaque(text, "it cannot be read as a command line")
			return
		}
		for _, s := range file.Stmts {
			r.stmt(s, in)
		}
	})
}

// scoped keeps a change of folder in f to itself, as a subshell does.
func (r *reader) scoped(f func()) {
	dir := r.dir
	f()
	r.dir = dir
}

// stmt reads one statement with what it is redirected to.
func (r *reader) stmt(s *syntax.Stmt, in feed) {
	r.deeper("", func() {
		var here *string // what the statement is given to read, as text
		for _, rd := range s.Redirs {
			r.redirect(rd)
			if text, ok := hereText(rd); ok {
				here = &text
			}
		}
		switch cmd := s.Cmd.(type) {
		case nil:
		case *syntax.CallExpr:
			r.call(cmd, in, here)
		case *syntax.BinaryCmd:
			r.binary(cmd, in)
		case *syntax.Subshell:
			r.scoped(func() { r.within(cmd, in) })
		default:
			r.within(cmd, in)
		}
	})
}

func (r *reader) binary(cmd *syntax.BinaryCmd, in feed) {
	if cmd.Op != syntax.Pipe && cmd.Op != syntax.PipeAll {
		r.stmt(cmd.X, in)
		r.stmt(cmd.Y, in)
		return
	}
	before := len(r.parts)
	r.scoped(func() { r.stmt(cmd.X, in) })
	through := piped
	for _, p := range r.parts[before:] {
		if p.fetches() || p.feed == fetched {
			through = fetched
		}
	}
	r.scoped(func() { r.stmt(cmd.Y, through) })
}

// within reads the statements inside a compound command, and the commands that
// are substituted in its words.
func (r *reader) within(node syntax.Node, in feed) {
	first := true
	syntax.Walk(node, func(n syntax.Node) bool {
		if first {
			first = false
			return true
		}
		switch n := n.(type) {
		case *syntax.Stmt:
			r.stmt(n, in)
			return false
		case *syntax.CmdSubst:
			r.scoped(func() { r.within(n, unfed) })
			return false
		case *syntax.ProcSubst:
			from := unfed
			if n.Op == syntax.CmdOut {
				from = piped
			}
			r.scoped(func() { r.within(n, from) })
			return false
		case *syntax.Assign:
			r.assign(n)
		}
		return true
	})
}

// assign asks about variables that make other commands run.
func (r *reader) assign(a *syntax.Assign) {
	if a.Name != nil {
		r.variable(a.Name.Value)
	}
}

func (r *reader) variable(name string) {
	prefixes := strings.Fields("LD_ DYLD_ GIT_SSH GIT_EXTERNAL_DIFF GIT_CONFIG BASH_ENV PROMPT_COMMAND BASH_FUNC")
	for _, risky := range prefixes {
		if strings.HasPrefix(name, risky) {
			r.opaque(name+"=…", "setting "+name+" makes other programs run something else")
		}
	}
}

// redirect reads a redirection.
func (r *reader) redirect(rd *syntax.Redirect) {
	r.within(rd, unfed)
	switch rd.Op {
	case syntax.RdrOut,
		syntax.AppOut,
		syntax.RdrInOut,
		syntax.RdrClob,
		syntax.AppClob,
		syntax.RdrAll,
		syntax.RdrAllClob,
		syntax.AppAll,
		syntax.AppAllClob:
	case syntax.DplOut:
		if w := literal(rd.Word); w.known && strings.Trim(w.text, "0123456789-") == "" {
			return // another descriptor
		}
	default:
		return
	}
	for _, target := range words(rd.Word) {
		p := Part{Text: "> " + target.text, Redirect: true}
		p.write(r, target)
		r.parts = append(r.parts, p)
	}
}

// hereText is the text that a redirection gives to read, if it is known.
func hereText(rd *syntax.Redirect) (string, bool) {
	switch rd.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return hereDoc(rd), true
	case syntax.WordHdoc:
		if w := literal(rd.Word); w.known {
			return w.text, true
		}
		return unreadable, true
	}
	return "", false
}

// hereDoc is the text of a here-document. Backslashes mean something in it only
// where its end is not quoted, and then it is not looked into.
func hereDoc(rd *syntax.Redirect) string {
	if rd.Hdoc == nil {
		return ""
	}
	end := rd.Word.Lit()
	plain := end != "" && !strings.Contains(end, `\`)
	var b strings.Builder
	for _, part := range rd.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok || (plain && strings.Contains(lit.Value, `\`)) {
			return unreadable
		}
		b.WriteString(lit.Value)
	}
	return b.String()
}

// unreadable stands for a script that cannot be known; it cannot be parsed.
const unreadable = "$("

// call reads a simple command.
func (r *reader) call(cmd *syntax.CallExpr, in feed, here *string) {
	r.within(cmd, unfed) // substitutions and assignments
	var argv []word
	for _, w := range cmd.Args {
		argv = append(argv, words(w)...)
	}
	r.simple(argv, in, here)
}

// simple takes a command over, and looks for commands that it is given to run.
func (r *reader) simple(argv []word, in feed, here *string) {
	if len(argv) == 0 {
		return
	}
	p := Part{
		argv: argv,
		feed: in,
		Text: joined(argv),
	}
	name := p.name()
	switch {
	case !argv[0].known:
		p.Opaque = "the name of the command is only known when it runs"
	case strings.ContainsAny(argv[0].text, "*?[") && name != "[" && name != "[[":
		p.Opaque = "the name of the command is a pattern"
	}
	p.see(r)
	r.parts = append(r.parts, p)
	at := len(r.parts) - 1
	if p.Opaque == "" {
		r.deeper(p.Text, func() { r.unwrap(at, in, here) })
	}
	if name == "cd" || name == "pushd" || name == "popd" {
		r.cd(argv[1:])
	}
}

// cd follows a change of folder.
func (r *reader) cd(args []word) {
	for len(args) > 0 && args[0].known && strings.HasPrefix(args[0].text, "-") && args[0].text != "-" {
		args = args[1:]
	}
	if len(args) != 1 || !args[0].known || args[0].text == "-" {
		r.dir = ""
		return
	}
	r.dir, _ = r.path(args[0])
}

// path is the absolute path that a word names, if that can be told.
func (r *reader) path(w word) (string, bool) {
	text := w.text
	for _, home := range []string{"~", "$HOME", "${HOME}"} {
		if rest, ok := strings.CutPrefix(text, home); ok && (rest == "" || rest[0] == '/') &&
			!strings.ContainsAny(rest, "$`") {
			dir := r.place.Home
			if dir == "" {
				dir = "/home"
			}
			return filepath.Join(dir, rest), true
		}
	}
	switch {
	case !w.known || strings.HasPrefix(text, "~"):
		return "", false
	case filepath.IsAbs(text):
		return filepath.Clean(text), true
	case r.dir == "":
		return "", false
	}
	return filepath.Join(r.dir, text), true
}
