package permit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/plan-engine/plan/internal/subpath"
)

// Bounds of how a word is read as a path.
const (
	mostNames   = 64
	mostLetters = 8
)

// see finds the paths that the command names, and those that it writes as far
// as its kind is known.
func (p *Part) see(r *reader) {
	names := p.namesFiles()
	for i, w := range p.argv {
		switch {
		case i == 0 && !strings.Contains(w.text, "/"), w.known && p.leavesOut(w):
		case w.known:
			p.name(r, w.text, names)
		case names && !strings.HasPrefix(w.text, "<(") && !strings.HasPrefix(w.text, ">("):
			p.unsure = true
		}
	}
	p.elsewhere(r)
	p.unpacks(r)
	p.sweeps(r)
	for _, w := range p.targets() {
		p.write(r, w)
	}
	for _, w := range p.wholes() {
		if p.program() == "git" && strings.HasPrefix(w.text, ":") { // git reads it as a pattern of its own
			w = value(r.place.Root)
		}
		if abs, ok := r.path(w); ok {
			p.wholesale = append(p.wholesale, abs)
		}
	}
}

// name notes what a word may name, from every folder that the line may have come
// to: whether a change of folder worked is known when it runs.
func (p *Part) name(r *reader, text string, names bool) {
	for _, each := range spellings(text) {
		w := value(each)
		if abs, ok := r.path(w); ok {
			p.paths = append(p.paths, append(r.linked(abs), abs)...)
		} else if names {
			p.adrift = append(p.adrift, each)
		}
		for _, dir := range r.past {
			if !strings.HasPrefix(each, "/") && !strings.HasPrefix(each, "~") {
				p.paths = append(p.paths, physical(dir, each))
			}
		}
	}
}

// link is a symbolic link that the line makes.
type link struct{ at, to string }

// links notes the links that a command makes.
func (p *Part) links(r *reader) {
	operands := p.operands()
	if p.program() != "ln" || !p.flag("s", "--symbolic") || len(operands) < 2 || len(r.made) == mostNames {
		return
	}
	at, ok := r.path(operands[len(operands)-1])
	if to := operands[0]; ok && to.known {
		r.made = append(r.made, link{at: at, to: physical(filepath.Dir(at), to.text)})
	}
}

// linked are what a path leads to by the links that the line makes before it.
func (r *reader) linked(abs string) []string {
	var out []string
	for _, l := range r.made {
		if rel, ok := subpath.Of(l.at, abs); ok {
			out = append(out, filepath.Join(l.to, rel))
		}
	}
	return out
}

// elsewhere notes what the words name in the folders that are among them: many
// programs can be told to work in one.
func (p *Part) elsewhere(r *reader) {
	var dirs []string
	for _, abs := range p.paths {
		info, err := os.Stat(abs)
		if err == nil && info.IsDir() && !slices.Contains(dirs, abs) && abs != r.dir && len(dirs) < 4 {
			dirs = append(dirs, abs)
		}
	}
	for _, w := range p.argv[min(1, len(p.argv)):] {
		for _, dir := range dirs {
			if w.known && w.text != "" && !strings.HasPrefix(w.text, "/") && len(p.paths) < mostEntries {
				p.paths = append(p.paths, physical(dir, w.text))
			}
		}
	}
}

// spellings are what a word may name: all of it, and what stands behind or
// between the marks after which programs take a path.
func spellings(text string) []string {
	out := []string{text}
	if strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") {
		for i := 2; i < min(len(text), mostLetters); i++ { // letters in a group, the last with its value
			out = append(out, text[i:])
		}
	}
	isMark := func(c rune) bool { return strings.ContainsRune("=:@,<", c) }
	for i, c := range text {
		if isMark(c) && i+1 < len(text) && len(out) < mostNames {
			rest := text[i+1:]
			out = append(out, rest)
			if end := strings.IndexFunc(rest, isMark); end > 0 {
				out = append(out, rest[:end])
			}
		}
	}
	if end := strings.IndexFunc(text, isMark); end > 0 {
		out = append(out, text[:end])
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// mentions notes whatever in the text of a program could be a path.
func (p *Part) mentions(r *reader, text string) {
	tokens := strings.FieldsFunc(text, func(c rune) bool {
		return unicode.IsSpace(c) || strings.ContainsRune("'\"`()[]{}<>;|&$!?*#\\", c)
	})
	for _, token := range tokens[:min(len(tokens), mostEntries)] {
		p.name(r, token, false)
	}
}

// write notes a path that is written.
func (p *Part) write(r *reader, w word) {
	abs, ok := r.path(w)
	if !ok {
		p.vague = true
		return
	}
	p.paths = append(p.paths, abs)
	p.writes = append(p.writes, abs)
}

// wordsOnly are the programs that open no file which an argument names.
var wordsOnly = strings.Fields(
	": [ [[ basename date dirname echo exit expr false kill printf pwd return seq set shift sleep test true wait")

// gitWordsOnly are the subcommands of git of which that is true.
var gitWordsOnly = strings.Fields("branch commit config fetch merge pull push rebase remote rev-parse status tag")

// namesFiles reports whether a word of the command that is not known could be
// the name of a file which it opens.
func (p *Part) namesFiles() bool {
	name := p.program()
	if name == "git" {
		sub, _ := gitCommand(p.argv)
		return !sub.known || !slices.Contains(gitWordsOnly, sub.text)
	}
	return !slices.Contains(wordsOnly, name)
}

// wholes are the words that name folders of which everything is removed, moved or
// changed.
func (p *Part) wholes() []word {
	switch p.program() {
	case "rm", "shred":
		return p.operands()
	case "mv":
		operands := p.operands()
		if len(p.option("-t", "--target-directory")) == 0 {
			operands = operands[:max(len(operands)-1, 0)] // what it moves them to keeps what it has
		}
		return operands
	case "chmod", "chown", "chgrp":
		if p.flag("R", "--recursive") {
			return p.operands()
		}
	case "find":
		if !p.flag("", "-delete") {
			return nil
		}
		if len(p.argv) > 1 && !strings.HasPrefix(p.argv[1].text, "-") {
			return p.argv[1:2]
		}
		return []word{value(".")}
	case "git":
		sub, args := gitCommand(p.argv)
		if slices.Contains([]string{"rm", "mv", "checkout", "restore", "clean"}, sub.text) {
			return (&Part{argv: append([]word{sub}, args...)}).operands()
		}
	}
	return nil
}
