package review

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// line is a command line as evidence: what its exit code speaks of.
type line struct {
	// parts are the commands that all succeeded if the line exited with 0, in
	// their normal form. A line that failed speaks of itself as a whole only.
	parts []string
	// inside are all simple commands of the line, whether or not its exit code
	// says anything about them.
	inside []string
	// mask says why the exit code proves nothing, "" if it does prove something.
	mask string
}

// text is the normal form of the whole line.
func (l line) text() string { return strings.Join(l.parts, " && ") }

// Masked says why the exit code of a command line may hide a failure in it, in
// a clause without a full stop; "" if it does not.
func Masked(command string) string { return readLine(command).mask }

const (
	maskSyntax   = "it cannot be read as a shell command"
	maskOr       = "`||` hides its exit code"
	maskBack     = "it runs in the background, where its exit code is lost"
	maskCompound = "its exit code is that of a compound command, which may hide a failure"
	maskUnseen   = "it cannot be seen what it runs"
	maskMeaning  = "the line changes what its commands mean"
	maskIdle     = "it passes whatever the work is"
)

// readLine reads a command line as bash does.
func readLine(command string) line {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		plain := strings.Join(strings.Fields(command), " ")
		return line{parts: []string{plain}, inside: []string{plain}, mask: maskSyntax}
	}
	l := readList(file.Stmts)
	l.inside = simpleCommands(file)
	return l
}

// readList reads statements that run one after the other: the exit code is that
// of the last one, or with errexit that of all plain ones.
func readList(list []*syntax.Stmt) line {
	if len(list) == 0 {
		return line{}
	}
	last := len(list) - 1
	var parts []string
	errexit := false
	for _, s := range list[:last] {
		if redefines(s) {
			return line{mask: maskMeaning}
		}
		if call, ok := s.Cmd.(*syntax.CallExpr); ok && !s.Background && !s.Negated {
			if errexit {
				parts = append(parts, readStmt(s).parts...)
			}
			errexit = errexit || setsErrexit(call)
		}
	}
	l := readStmt(list[last])
	if l.mask == "" || (l.mask == maskIdle && len(parts) > 0) {
		l.parts, l.mask = append(parts, l.parts...), ""
	}
	return l
}

// setsErrexit recognises "set -e" and its like.
func setsErrexit(call *syntax.CallExpr) bool {
	if len(call.Args) < 2 || call.Args[0].Lit() != "set" {
		return false
	}
	flags := call.Args[1].Lit()
	return strings.HasPrefix(flags, "-") && strings.Contains(flags, "e")
}

// redefines reports whether what follows a statement may not be what it says.
func redefines(s *syntax.Stmt) bool {
	found := false
	syntax.Walk(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			found = true
		case *syntax.Assign:
			// Behind the old PATH a new entry replaces nothing.
			found = found || n.Name != nil && n.Name.Value == "PATH" && (n.Value == nil || !strings.HasPrefix(strings.TrimLeft(show(n.Value), `"`), "$PATH:"))
		case *syntax.CallExpr:
			found = found || len(n.Args) > 0 && changesMeaning(n.Args)
		}
		return !found
	})
	return found
}

// changesMeaning reports whether a command can make later ones mean something
// else. What switches on a tool's own environment is taken at its word.
func changesMeaning(args []*syntax.Word) bool {
	switch args[0].Lit() {
	case "alias", "unalias", "eval", "exec", "trap", "enable", "hash":
		return true
	case "source", ".":
		return len(args) < 2 || !slices.Contains([]string{"activate", "nvm.sh", "cargo/env", ".env"}, tailOf(show(args[1])))
	}
	return false
}

func tailOf(path string) string {
	path = strings.Trim(path, `"'`)
	if strings.HasSuffix(path, "cargo/env") {
		return "cargo/env"
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// readStmt reads one statement.
func readStmt(s *syntax.Stmt) line {
	switch {
	case s.Background || s.Coprocess:
		return line{mask: maskBack}
	case redefines(s):
		return line{mask: maskMeaning}
	}
	var l line
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		l = readCall(cmd)
	case *syntax.BinaryCmd:
		l = readBinary(cmd)
	case *syntax.Subshell:
		l = readList(cmd.Stmts)
	case *syntax.Block:
		l = readList(cmd.Stmts)
	case *syntax.TimeClause:
		if cmd.Stmt == nil {
			return line{mask: maskIdle}
		}
		l = readStmt(cmd.Stmt)
	case *syntax.TestClause, *syntax.ArithmCmd:
		l = line{parts: []string{show(cmd)}}
	case *syntax.DeclClause, nil:
		l = line{mask: maskIdle}
	default:
		l = line{mask: maskCompound}
	}
	if s.Negated && l.mask == "" {
		l.parts = []string{"! " + l.text()}
	}
	return l
}

// readBinary reads a chain or a pipe.
func readBinary(b *syntax.BinaryCmd) line {
	switch b.Op {
	case syntax.AndStmt:
		x, y := readStmt(b.X), readStmt(b.Y)
		switch { // a part that cannot fail says nothing and takes nothing away
		case x.mask == maskIdle:
			return y
		case y.mask == maskIdle:
			return x
		case x.mask != "":
			return x
		case y.mask != "":
			return y
		}
		return line{parts: append(x.parts, y.parts...)}
	case syntax.OrStmt:
		return line{mask: maskOr}
	}
	return readPipe(b)
}

// deciders are the filters whose own exit code says something about what came
// through the pipe.
func deciders() []string { return []string{"grep", "egrep", "fgrep", "rg", "diff", "cmp"} }

func readPipe(b *syntax.BinaryCmd) line {
	call, ok := b.Y.Cmd.(*syntax.CallExpr)
	name := ""
	if ok && len(call.Args) > 0 {
		name = call.Args[0].Lit()
	}
	if !slices.Contains(deciders(), name) || b.Y.Negated {
		if name == "" {
			return line{mask: maskCompound}
		}
		return line{mask: "the pipe into `" + name + "` may hide its exit code"}
	}
	if first := readStmt(b.X); first.mask != "" {
		return line{mask: first.mask}
	}
	return line{parts: []string{show(b)}}
}

// readCall reads a simple command without what changes nothing about its exit
// code: settings of the environment, time limits, redirections.
func readCall(call *syntax.CallExpr) line {
	args := unwrapCall(call.Args)
	if len(args) == 0 {
		return line{mask: maskIdle} // assignments
	}
	name, first := args[0].Lit(), ""
	if len(args) > 1 {
		first = args[1].Lit()
	}
	switch {
	case name == "cd" && len(args) > 2:
		return line{mask: maskSyntax}
	case slices.Contains([]string{"bash", "sh", "dash", "zsh"}, name) && strings.HasPrefix(first, "-") && strings.HasSuffix(first, "c"):
		return readInner(args[2:])
	case idle(name, args):
		return line{mask: maskIdle}
	}
	return line{parts: []string{show(&syntax.CallExpr{Args: args})}}
}

// readInner reads the line that a shell is given with -c.
func readInner(args []*syntax.Word) line {
	if len(args) == 0 {
		return line{mask: maskSyntax}
	}
	text, ok := literal(args[0])
	if !ok {
		return line{mask: maskUnseen}
	}
	l := readLine(text)
	l.inside = nil
	return l
}

// literal is the value of a word that needs no expansion.
func literal(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return w.Lit(), w.Lit() != ""
	}
	switch p := w.Parts[0].(type) {
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar
	case *syntax.DblQuoted:
		if len(p.Parts) == 1 {
			lit, ok := p.Parts[0].(*syntax.Lit)
			if ok && !strings.Contains(lit.Value, `\`) {
				return lit.Value, true
			}
		}
		return "", false
	}
	return w.Lit(), w.Lit() != ""
}

// unwrapCall takes "env A=b" and "timeout 60" off the front.
func unwrapCall(args []*syntax.Word) []*syntax.Word {
	for len(args) > 1 {
		rest := args[1:]
		switch args[0].Lit() {
		case "env":
			for len(rest) > 0 && isSetting(rest[0]) {
				rest = rest[1:]
			}
			if len(rest) == len(args)-1 || len(rest) == 0 {
				return args
			}
		case "timeout":
			if strings.HasPrefix(rest[0].Lit(), "-") || len(rest) < 2 {
				return args
			}
			rest = rest[1:]
		default:
			return args
		}
		args = rest
	}
	return args
}

func isSetting(w *syntax.Word) bool {
	name, _, ok := strings.Cut(show(w), "=")
	return ok && name != "PATH" && syntax.ValidName(name)
}

// idle reports whether a command passes whatever the work tree holds.
func idle(name string, args []*syntax.Word) bool {
	second := ""
	if len(args) > 1 {
		second = args[1].Lit()
	}
	switch name {
	case "cd", "pushd", "source", ".", "popd", "echo", "printf", "true", ":", "pwd", "sleep", "date", "whoami", "hostname", "uname",
		"id", "exit", "set", "shopt", "wait", "umask", "clear", "printenv":
		return true
	case "env":
		return len(args) == 1
	case "git":
		return idleGit(second, args)
	case "go":
		return second == "version" || second == "env"
	}
	return len(args) == 2 && (second == "--version" || second == "--help")
}

// idleGit reports whether a git command only tells something.
func idleGit(verb string, args []*syntax.Word) bool {
	for _, a := range args[1:] {
		if slices.Contains([]string{"--exit-code", "--quiet", "-q", "--check"}, a.Lit()) {
			return false
		}
	}
	return slices.Contains([]string{"status", "log", "diff", "show", "branch", "rev-parse", "--version"}, verb)
}

// simpleCommands are the simple commands anywhere in a line.
func simpleCommands(file *syntax.File) []string {
	var out []string
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			args := unwrapCall(call.Args)
			out = append(out, show(&syntax.CallExpr{Args: args}))
			for _, a := range args[1:] {
				if text, ok := literal(a); ok && strings.Contains(text, " ") { // sh -c '…', eval '…'
					out = append(out, strings.Join(strings.Fields(text), " "))
				}
			}
		}
		return true
	})
	return out
}

// show prints a part of a line in its normal form.
func show(n syntax.Node) string {
	var b strings.Builder
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, n); err != nil {
		return ""
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
