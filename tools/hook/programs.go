package hook

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"mvdan.cc/sh/v3/syntax"
)

// Programs lists the files below root that decide what a hook does, because its
// command runs them or might: relative, with slashes, sorted. What they run in turn
// is none of it, and neither is what a command only reads.
//
// A hook that advises runs a file that is executable, begins with #!, stands where a
// program does, or is named beside a program that runs others. One that judges, or that
// runs outside the walls, is believed less: there every file counts that its command
// names, unless all of its programs are known to read and do nothing else.
func (h Hook) Programs(root string) []string {
	line := readLine(h.Command)
	if line.reads {
		return nil
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil // then it has no tree to run in
	}
	defer dir.Close() //nolint:errcheck // only read from
	strict := h.Outside || Judges(h.Event)
	var out []string
	for _, f := range named(dir, root, h.Command) {
		if slices.Contains(line.made, f.word) {
			continue
		}
		if strict || line.runs(f.word) || isProgram(dir, f.path) {
			out = append(out, f.path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// commandLine is what a hook's command is, as far as that can be read.
type commandLine struct {
	reads bool // all that it runs only reads
	any   bool // what it runs cannot be told: it may be any file that it names
	first []string
	made  []string // files that output goes to
}

func (l commandLine) runs(word string) bool { return l.any || slices.Contains(l.first, word) }

// readers are programs that do nothing with a file but read it.
var readers = []string{
	"[", "cat", "cmp", "cut", "diff", "echo", "exit", "false", "gofmt", "grep", "head", "ls", "printf", "pwd", "read",
	"stat", "tail", "test", "true", "wc",
}

// runners are programs that run a file which they are given.
var runners = []string{
	".", "awk", "bash", "bun", "command", "dash", "deno", "env", "eval", "exec", "fish", "go", "ksh", "lua", "make",
	"nice", "node", "nohup", "npx", "perl", "php", "python", "python3", "ruby", "sh", "source", "sudo", "time", "timeout",
	"ts-node", "tsx", "xargs", "zsh",
}

// readLine reads a shell's command line.
func readLine(text string) commandLine {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return commandLine{any: true}
	}
	line := commandLine{reads: true}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.FuncDecl:
			line.any, line.reads = true, false
		case *syntax.Assign:
			if n.Name == nil || n.Name.Value != strings.ToLower(n.Name.Value) { // such as PATH
				line.any, line.reads = true, false
			}
		case *syntax.CallExpr:
			line.call(n)
		case *syntax.Redirect:
			if n.Op == syntax.RdrOut || n.Op == syntax.AppOut || n.Op == syntax.RdrAll || n.Op == syntax.AppAll {
				line.made = append(line.made, cleanWord(n.Word.Lit()))
			}
		}
		return true
	})
	return line
}

func (l *commandLine) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	name := n.Args[0].Lit()
	l.first = append(l.first, cleanWord(name))
	l.reads = l.reads && slices.Contains(readers, name)
	l.any = l.any || name == "" || slices.Contains(runners, path.Base(name))
}

// namedFile is a file of the tree, and the word that names it.
type namedFile struct{ path, word string }

// named lists the files of the tree that words of a command may name: from the root,
// from a folder that another word names, or from one that is only known when it runs.
func named(dir *os.Root, root, command string) []namedFile {
	var all []namedFile // what a word may mean
	add := func(path, word string) { all = append(all, namedFile{path: path, word: word}) }
	for _, w := range splitWords(root, command) {
		add(w, w)
		for rest := w; strings.Contains(rest, "/"); { // behind $PWD, ~ and the like
			_, rest, _ = strings.Cut(rest, "/")
			add(rest, w)
		}
		if !strings.Contains(w, "/") { // python -m
			module := strings.ReplaceAll(w, ".", "/")
			add(module+".py", w)
			add(module+"/__main__.py", w)
		}
	}
	folders := []string{"."}
	for range 2 { // cd a; cd b
		for _, in := range slices.Clone(folders) {
			for _, m := range all {
				name := path.Join(in, m.path)
				if info, err := dir.Stat(name); err == nil && info.IsDir() && !slices.Contains(folders, name) {
					folders = append(folders, name)
				}
			}
		}
	}
	var out []namedFile
	for _, in := range folders {
		for _, m := range all {
			for _, name := range matches(dir, path.Join(in, m.path)) {
				out = append(out, namedFile{path: name, word: m.word})
			}
		}
	}
	if strings.Contains(command, "go run") {
		out = append(out, packages(dir, folders[1:])...)
	}
	return out
}

// splitWords are the words of a command, as paths from the root.
func splitWords(root, command string) []string {
	const between = " \t\n\r\"'`;|&<>(){}$=,:\\"
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(between, r) })
	for i, w := range words {
		if rel, err := filepath.Rel(root, w); filepath.IsAbs(w) && err == nil && filepath.IsLocal(rel) {
			w = rel
		}
		words[i] = cleanWord(w)
	}
	return words
}

// matches are the files that a path or a pattern names.
func matches(dir *os.Root, name string) []string {
	names := []string{name}
	if strings.ContainsAny(name, "*?[") {
		names, _ = doublestar.Glob(dir.FS(), name, doublestar.WithFilesOnly()) // none, if it is no pattern
	}
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := dir.Lstat(name)
		return err != nil || info.IsDir()
	})
}

// packages are the files of the folders that go run compiles.
func packages(dir *os.Root, folders []string) []namedFile {
	var out []namedFile
	for _, in := range folders {
		entries, err := fs.ReadDir(dir.FS(), in)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !e.IsDir() {
				out = append(out, namedFile{path: path.Join(in, e.Name()), word: in})
			}
		}
	}
	return out
}

// isProgram reports whether a file is made to be run. A link may lead to one.
func isProgram(dir *os.Root, name string) bool {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 != 0 {
		return true
	}
	f, err := dir.Open(name)
	if err != nil {
		return true
	}
	defer f.Close() //nolint:errcheck // only read from
	head := make([]byte, 2)
	n, _ := f.Read(head)
	return string(head[:n]) == "#!"
}

// cleanWord is a word as a path from the root.
func cleanWord(w string) string {
	w = path.Clean(filepath.ToSlash(w))
	for {
		cut, ok := strings.CutPrefix(strings.TrimPrefix(w, "/"), "../")
		if w = cut; !ok {
			return path.Clean(w)
		}
	}
}
