package checks

import (
	"context"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What a file that checks read is.
const (
	roleScript   = "a script that a check runs"
	roleMake     = "a makefile that a check reads"
	roleSettings = "the settings of what a check runs"
	roleModule   = "what decides which code a check builds"
	roleList     = "a list of what a check goes through"
)

// reading follows commands through the files of a tree. An error of the tree
// stops it, and is kept.
type reading struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one call of Compare
	tree Tree
	ids  map[string]string
	err  error

	texts map[string]string // files that were read
	roles map[string]string // files that decide what runs
	// scripts are the entries of a package.json that are run, by its path.
	scripts map[string]map[string]string
	// calls are all commands that were met, a line each.
	calls []string
	seen  map[string]bool // what was followed already
	path  []string        // folders of the tree that programs are looked for in
}

func newReading(ctx context.Context, tree Tree) *reading {
	return &reading{
		ctx:     ctx,
		tree:    tree,
		ids:     tree.IDs(),
		texts:   map[string]string{},
		roles:   map[string]string{},
		scripts: map[string]map[string]string{},
		seen:    map[string]bool{},
	}
}

// text is the content of a file, "" for none.
func (r *reading) text(name string) string {
	if text, known := r.texts[name]; known || r.err != nil || r.ids[name] == "" {
		return text
	}
	var got map[string]string
	got, r.err = r.tree.Read(r.ctx, name)
	r.texts[name] = got[name]
	return got[name]
}

// isNew reports whether something is met for the first time.
func (r *reading) isNew(parts ...string) bool {
	key := strings.Join(parts, "\x00")
	first := !r.seen[key]
	r.seen[key] = true
	return first
}

// note gives a file its role, unless it has one or is not there.
func (r *reading) note(name, role string) bool {
	if r.ids[name] == "" {
		return false
	}
	if r.roles[name] == "" {
		r.roles[name] = role
	}
	return true
}

// settings gives files that fit a pattern their role: files of a folder, or
// with "**/" before the pattern those below it too.
func (r *reading) settings(dir, role string, patterns ...string) {
	for name := range r.ids {
		for _, pattern := range patterns {
			base, deep := strings.CutPrefix(pattern, "**/")
			inDir := inside(name, dir) && (deep || path.Dir(name) == path.Clean(dir))
			if ok, _ := path.Match(base, path.Base(name)); ok && inDir &&
				!strings.Contains("/"+name, "/node_modules/") {
				r.note(name, role)
			}
		}
	}
}

// inside reports whether a file lies in a folder or below it.
func inside(name, dir string) bool {
	dir = path.Clean(dir)
	return dir == "." || strings.HasPrefix(name, dir+"/")
}

// unknown stands in a word for what only the shell will know.
const unknown = "\x00"

// shell follows the commands of a text that a shell runs in a folder. script is
// the file that it stands in, "" for none.
func (r *reading) shell(text, dir, script string) {
	if len(r.seen) > maxFollowed || !r.isNew("shell", text, dir, script) {
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		for line := range strings.Lines(text) {
			r.call(strings.Fields(line), dir, script)
		}
		return
	}
	r.walk(file, &scope{
		dir:    dir,
		script: script,
		vars:   map[string]string{},
	})
}

// maxFollowed bounds what is followed in a tree that is out to make it endless.
const maxFollowed = 5000

// scope is what a shell knows where a command stands.
type scope struct {
	dir, script string
	vars        map[string]string
}

// walk follows every command in a piece of shell, whether or not it is reached.
func (r *reading) walk(root syntax.Node, s *scope) {
	syntax.Walk(root, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subshell:
			if n == root {
				return true
			}
			r.walk(n, &scope{s.dir, s.script, s.vars})
			return false
		case *syntax.Assign:
			r.assign(n, s)
		case *syntax.ForClause:
			if words, ok := n.Loop.(*syntax.WordIter); ok {
				for _, w := range words.Items {
					r.list(w, s)
				}
			}
		case *syntax.Stmt:
			if _, loops := n.Cmd.(*syntax.WhileClause); loops {
				r.redirected(n, s)
			}
		case *syntax.CallExpr:
			r.command(n, s)
		}
		return true
	})
}

// command follows a simple command: what it sets comes before what it runs.
func (r *reading) command(n *syntax.CallExpr, s *scope) {
	words := make([]string, len(n.Args))
	for i, w := range n.Args {
		words[i] = s.expand(w.Parts)
	}
	if len(words) > 1 && words[0] == "cd" && !strings.Contains(words[1], unknown) {
		s.dir = path.Join(s.dir, words[1])
	}
	for _, a := range n.Assigns { // they come first
		r.assign(a, s)
	}
	r.call(words, s.dir, s.script)
}

// list notes the files that the words of a loop are read from: $(cat FILE) and
// $(<FILE). A file that is read for anything else is data.
func (r *reading) list(w *syntax.Word, s *scope) {
	syntax.Walk(w, func(n syntax.Node) bool {
		stmt, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		r.redirected(stmt, s)
		if call, ok := stmt.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 1 && call.Args[0].Lit() == "cat" {
			for _, a := range call.Args[1:] {
				r.note(r.find(s.expand(a.Parts), s.dir, s.script), roleList)
			}
		}
		return true
	})
}

// redirected notes the files that a statement reads its input from.
func (r *reading) redirected(stmt *syntax.Stmt, s *scope) {
	for _, redirect := range stmt.Redirs {
		if redirect.Op == syntax.RdrIn && redirect.Word != nil {
			r.note(r.find(s.expand(redirect.Word.Parts), s.dir, s.script), roleList)
		}
	}
}

// assign notes a variable, and folders of the tree that PATH is given.
func (r *reading) assign(a *syntax.Assign, s *scope) {
	if a.Name == nil || a.Value == nil {
		return
	}
	value := s.expand(a.Value.Parts)
	s.vars[a.Name.Value] = value
	if a.Name.Value != "PATH" {
		return
	}
	for dir := range strings.SplitSeq(value, ":") {
		if dir = strings.TrimLeft(dir, unknown+"/"); dir != "" {
			r.path = append(r.path, path.Join(s.dir, dir))
		}
	}
}

// expand is a word as far as it is known.
func (s *scope) expand(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(s.expand(p.Parts))
		case *syntax.ParamExp:
			if value, ok := s.vars[p.Param.Value]; ok && p.Exp == nil {
				b.WriteString(value)
			} else {
				b.WriteString(unknown)
			}
		default:
			b.WriteString(unknown)
		}
	}
	return b.String()
}

// find is the file that a word names: from the folder that a command runs in,
// from that of its script, or from the root, for what of it is known.
func (r *reading) find(word, dir, script string) string {
	if at := strings.LastIndex(word, unknown); at >= 0 {
		word = strings.TrimLeft(word[at+1:], "/")
	}
	if word == "" || strings.HasPrefix(word, "/") {
		return ""
	}
	for _, from := range []string{dir, path.Dir(script), ""} {
		name := path.Join(from, word)
		if r.ids[name] != "" {
			return name
		}
	}
	return ""
}
