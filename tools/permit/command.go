package permit

import (
	"slices"
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

	// For rules that ask or deny, what cannot be told for sure counts as well.
	wholesale []string // folders of which it changes all that is in them
	adrift    []string // relative paths from a folder that cannot be told
	unsure    bool     // it may name any path
	coded     bool     // it runs a program in its arguments that is not looked into
	quiet     bool     // its words are no command that it runs
	inner     []string // further texts that its commands are known by
	only      bool     // it is no command and writes nothing: only paths count
	below     []string // folders below which it writes what none of its words names
	copied    []copied // folders whose files it brings to other names
	mayRun    []string // commands in a file that it runs
	mayName   []string // paths in such a file
	opens     []listing
	swept     []sweep // folders of which it reads all that is in them
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
	vars := newVariables(place.Home)
	for round := 0; ; round++ {
		r := &reader{place: place, dir: place.Root, vars: vars}
		if len(line) > longest {
			r.opaque(short(line), "it is too long to be looked through")
			return r.parts
		}
		vars.grew = false
		r.script(line, unfed)
		switch {
		case !vars.grew:
			return r.parts
		case round == mostRounds:
			vars.forgetAll()
		}
	}
}

// mostRounds is how often a line is read again because a variable has got one
// more value in it, which a loop may have brought to what stands before.
const mostRounds = 2

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
	dir   string   // where relative paths start; "" when that cannot be told
	past  []string // where else they may start, if a change of folder failed
	made  []link   // by the line
	vars  *variables
	lists []listing // what the command at hand is given the names of; nil if that cannot be told
	dots  bool      // patterns may fit more than by default
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
		var hereText *string // what the statement is given to read, as text
		for _, rd := range s.Redirs {
			r.redirect(rd)
			if text, ok := r.hereText(rd); ok {
				hereText = &text
			}
		}
		switch cmd := s.Cmd.(type) {
		case nil:
		case *syntax.CallExpr:
			r.call(cmd, in, hereText)
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
	outer := r.lists
	r.lists = r.listed(before)
	r.scoped(func() { r.stmt(cmd.Y, through) })
	r.lists = outer
}

// within reads the statements inside a compound command, and the commands that
// are substituted in its words.
func (r *reader) within(node syntax.Node, in feed) {
	first := true
	syntax.Walk(node, func(n syntax.Node) bool {
		r.assigns(n)
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
		}
		return true
	})
}

// variable asks about variables that make other commands run.
func (r *reader) variable(name string) {
	if name == "ENV" {
		r.opaque(name+"=…", "setting "+name+" makes shells run something else")
	}
	prefixes := strings.Fields("LD_ DYLD_ GIT_SSH GIT_EXTERNAL_DIFF GIT_CONFIG BASH_ENV PROMPT_COMMAND BASH_FUNC")
	for _, risky := range prefixes {
		if strings.HasPrefix(name, risky) {
			r.opaque(name+"=…", "setting "+name+" makes other programs run something else")
		}
	}
}

// call reads a simple command.
func (r *reader) call(cmd *syntax.CallExpr, in feed, hereText *string) {
	r.within(cmd, unfed) // substitutions and assignments
	for _, argv := range r.argvs(cmd.Args) {
		at := len(r.parts)
		r.simple(argv, in, hereText)
		for _, a := range cmd.Assigns {
			if a.Name == nil || at >= len(r.parts) || !namesProgram(a.Name.Value) {
				continue
			}
			values, _ := r.values(a.Value)
			for _, value := range values {
				r.inside(at, value)
			}
		}
	}
}

// simple takes a command over, and looks for commands that it is given to run.
func (r *reader) simple(argv []word, in feed, hereText *string) {
	if len(argv) == 0 {
		return
	}
	p := Part{
		argv: argv,
		feed: in,
		Text: joined(argv),
	}
	name := p.program()
	if sub, ok := strings.CutPrefix(name, "git-"); ok && argv[0].known {
		p.argv = append([]word{value("git"), value(sub)}, argv[1:]...)
		name = "git"
	}
	if name == "hub" && argv[0].known { // git with more subcommands
		p.argv, name = append([]word{value("git")}, argv[1:]...), "git"
	}
	switch {
	case !argv[0].known:
		p.Opaque = "the name of the command is only known when it runs"
	case strings.ContainsAny(argv[0].text, "*?[") && name != "[" && name != "[[":
		p.Opaque = "the name of the command is a pattern"
	case slices.Contains(subscripted, name) && slices.ContainsFunc(argv[1:], runsInSubscript):
		p.Opaque = "the shell runs what stands in brackets behind the name of a variable"
	}
	p.expand(r)
	p.see(r)
	p.links(r)
	p.inline(r, hereText)
	r.sets(argv)
	r.parts = append(r.parts, p)
	at := len(r.parts) - 1
	if p.Opaque == "" {
		r.deeper(p.Text, func() { r.unwrap(at, in, hereText) })
	}
	if name == "cd" || name == "pushd" || name == "popd" {
		r.cd(p.argv[1:])
	}
}

// subscripted are the commands of the shell that take names of variables: one of an
// element has the shell work out which.
var subscripted = strings.Fields("[ getopts let mapfile printf read readarray test unset wait")

// runsInSubscript reports whether a word may be the name of an element which a
// command has to tell.
func runsInSubscript(w word) bool {
	_, inner, ok := strings.Cut(w.text, "[")
	return ok && (strings.Contains(inner, "$(") || strings.Contains(inner, "`"))
}

// mostFiles is how many files a pattern in a command may be written out to.
const mostFiles = 1000

// expand writes out the patterns for names of files, as the shell does. One that
// fits no file stays as it is.
func (p *Part) expand(r *reader) {
	out := slices.Clone(p.argv[:1])
	for _, w := range p.argv[1:] {
		if w.glob == "" {
			out = append(out, w)
			continue
		}
		files, ok := r.files(w.glob)
		if !ok || len(files) > mostFiles {
			p.unsure = p.unsure || p.namesFiles()
			files = nil
		}
		if len(files) == 0 {
			out = append(out, w)
		}
		for _, file := range files {
			next := value(file)
			next.shown = ""
			out = append(out, next)
		}
	}
	p.argv = out
}

// cd follows a change of folder.
func (r *reader) cd(args []word) {
	if r.dir != "" && !slices.Contains(r.past, r.dir) && len(r.past) < 8 {
		r.past = append(r.past, r.dir)
	}
	for len(args) > 0 && args[0].known && strings.HasPrefix(args[0].text, "-") && args[0].text != "-" {
		args = args[1:]
	}
	if len(args) != 1 || !args[0].known || args[0].text == "-" {
		r.dir = ""
		return
	}
	r.dir, _ = r.path(args[0])
}
