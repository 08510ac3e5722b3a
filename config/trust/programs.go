package trust

import (
	"os"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/plan-engine/plan/internal/plainfile"
)

// Programs lists the files below root that decide what a command does, because it runs
// them or might: relative, with slashes, sorted. What they run in turn is none of it,
// and neither is what a command only reads.
//
// A command runs a file that is executable, begins with #!, stands where a program
// does, or is named beside a program that runs others. A strict look believes less:
// there every file counts that the command names, unless all of its programs are known
// to read and do nothing else, and those that tell its programs what to do.
func Programs(root, command string, strict bool) []string {
	line := readLine(command)
	if line.reads {
		return nil
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil // then it has no tree to run in
	}
	defer dir.Close() //nolint:errcheck // only read from
	var out []string
	for _, f := range named(dir, root, command) {
		if slices.Contains(line.written, f.word) {
			continue
		}
		if strict || line.runs(f.word) || isProgram(dir, f.path) {
			out = append(out, f.path)
		}
	}
	if strict {
		out = append(out, implicit(dir, root, command, line)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// workers are programs whose work is to compile or to try what is in a tree: what they
// read is what is worked on, and tells them nothing that would not be expected.
var workers = []string{"cargo", "dotnet", "go", "pytest"}

// Tasks lists the files below root that a command runs, or that say what it is to run,
// such as a Makefile or the scripts of a package.json; of a program that compiles or
// tries the tree, only those that it is named. Relative, with slashes, sorted.
func Tasks(root, command string) []string {
	line := readLine(command)
	dir, err := os.OpenRoot(root)
	if err != nil || line.reads {
		return nil
	}
	defer dir.Close() //nolint:errcheck // only read from
	line.words = slices.DeleteFunc(line.words, func(word string) bool {
		info, err := dir.Stat(cleanWord(word))
		isFile := err == nil && !info.IsDir() // which is run, or only read
		return isFile || slices.Contains(workers, path.Base(word))
	})
	out := Programs(root, command, false)
	if len(line.words) > 0 {
		out = append(out, implicit(dir, root, command, line)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// commandLine is what a hook's command is, as far as that can be read.
type commandLine struct {
	reads   bool // all that it runs only reads
	any     bool // what it runs cannot be told: it may be any file that it names
	first   []string
	written []string // files that output goes to
	words   []string // that may name programs
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
	"nice", "node", "nohup", "npx", "perl", "php", "python", "python3", "ruby", "sh", "source", "sudo", "time",
	"timeout", "ts-node", "tsx", "xargs", "zsh",
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
				line.written = append(line.written, cleanWord(n.Word.Lit()))
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
	if !slices.Contains(readers, name) {
		for _, w := range n.Args {
			l.words = append(l.words, w.Lit())
		}
	}
	l.reads = l.reads && slices.Contains(readers, name)
	l.any = l.any || name == "" || slices.Contains(runners, path.Base(name))
}

// isProgram reports whether a file is made to be run. A link may lead to one.
func isProgram(dir *os.Root, name string) bool {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 != 0 {
		return true
	}
	f, err := plainfile.OpenIn(dir, name)
	if err != nil {
		return true
	}
	defer f.Close() //nolint:errcheck // only read from
	head := make([]byte, 2)
	n, _ := f.Read(head)
	return string(head[:n]) == "#!"
}
