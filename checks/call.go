package checks

import (
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// wrappers run the command that stands behind them and their options.
var wrappers = []string{
	"sudo", "time", "nice", "ionice", "nohup", "setsid", "exec", "command", "builtin", "timeout", "xargs", "stdbuf",
	"env", "cross-env", "npx", "bunx", "xvfb-run", "taskset", "strace", "valgrind",
}

// wrapping are wrappers that take a word of their own first.
var wrapping = map[string][]string{
	"bundle":   {"exec"},
	"coverage": {"run"},
	"hatch":    {"run"},
	"npm":      {"exec", "x"},
	"pdm":      {"run"},
	"pipenv":   {"run"},
	"pnpm":     {"exec", "dlx"},
	"poetry":   {"run"},
	"uv":       {"run"},
	"yarn":     {"exec", "dlx"},
}

var (
	shells       = lazy.Regexp(`^(?:ba|da|z|k|a|mk)?sh$`)
	interpreters = lazy.Regexp(`^(?:python|pypy)[\d.]*$|` +
		`^(?:node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua|Rscript|pwsh|julia|elixir|swift)$`)
	wrapped  = lazy.Regexp(`^-|^\w+=|^[\d.]+[smhd]?$`)
	numbered = lazy.Regexp(`^(python|pypy|pytest|pip)[\d.]+$`)
)

// call follows one command.
func (r *reading) call(words []string, dir, script string) {
	words = unwrap(words)
	if len(words) == 0 {
		return
	}
	r.calls = append(r.calls, strings.Join(words, " "))
	name, args := path.Base(words[0]), words[1:]
	if strings.ContainsAny(words[0], "/"+unknown) {
		r.script(words[0], dir, script)
	} else {
		for _, from := range r.path {
			r.script(path.Join(from, words[0]), "", "")
		}
	}
	if m := numbered().FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	switch {
	case shells().MatchString(name):
		r.shellCall(args, dir, script)
	case name == "source" || name == ".":
		r.script(first(args), dir, script)
	case name == "eval":
		r.shell(strings.Join(args, " "), dir, script)
	case name == "trap":
		r.shell(first(args), dir, script)
	case name == "find":
		if at := slices.IndexFunc(args, func(a string) bool { return a == "-exec" || a == "-execdir" }); at >= 0 {
			r.call(args[at+1:], dir, script)
		}
	case name == "make" || name == "gmake":
		r.makeCall(args, dir, script)
	case interpreters().MatchString(name), words[0] == unknown: // a program that a variable names
		r.interpreter(name, args, dir, script)
	}
	r.runnerCall(name, args, dir, script)
}

// unwrap takes off what only runs the rest of a command in some way.
func unwrap(words []string) []string {
	for len(words) > 0 {
		name, skip := path.Base(words[0]), 0
		switch {
		case slices.Contains(wrappers, name):
			skip = 1
		case len(words) > 1 && slices.Contains(wrapping[name], words[1]):
			skip = 2
		case strings.Contains(words[0], "=") && !strings.ContainsAny(words[0], "/"):
			// The line could not be parsed, and its assignments are words.
			skip = 1
		default:
			return words
		}
		for words = words[skip:]; len(words) > 0 && wrapped().MatchString(words[0]); {
			words = words[1:]
		}
	}
	return words
}

// first is the first word that is no option.
func first(args []string) string {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}

// script follows a file that a command runs. What is no text for a shell is
// noted and not followed.
func (r *reading) script(word, dir, from string) {
	name := r.find(word, dir, from)
	if name == "" || !r.note(name, roleScript) {
		return
	}
	text := r.text(name)
	line, _, _ := strings.Cut(text, "\n")
	forShell := slices.Contains([]string{"", ".sh", ".bash", ".zsh", ".ksh", ".env"}, path.Ext(name))
	if strings.HasPrefix(line, "#!") {
		forShell = strings.Contains(line, "sh")
	}
	if forShell {
		r.shell(text, dir, name)
	}
}

// shellCall follows what a shell is given: a text with -c, else a file.
func (r *reading) shellCall(args []string, dir, script string) {
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "c"):
			r.shell(first(args[i+1:]), dir, script)
			return
		case a == "-o" || a == "-O" || a == "--rcfile" || a == "--init-file":
			continue
		case strings.HasPrefix(a, "-") || i > 0 && args[i-1] == "-o":
			continue
		}
		r.script(a, dir, script)
		return
	}
}

// interpreter notes the file that a program is given to run, the modules that
// python runs by name, and files that are loaded before.
func (r *reading) interpreter(name string, args []string, dir, script string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		option, value, joined := strings.Cut(a, "=")
		switch {
		case name == "python" && a == "-m":
			r.module(next, args[min(i+2, len(args)):], dir, script)
			return
		case slices.Contains([]string{"-c", "-e", "--eval", "-p", "--print", "--test"}, a):
			return // its text, or the tests that it finds
		case slices.Contains([]string{"-r", "--require", "--import", "--loader", "--experimental-loader"}, option):
			if !joined {
				value = next
				i++
			}
			r.loaded(value, dir, script)
		case a == "run" && (name == "deno" || name == "bun"), a == "test" && (name == "deno" || name == "bun"):
		case !strings.HasPrefix(a, "-"):
			r.script(a, dir, script)
			return
		}
	}
}

// loaded notes a file that is loaded before others, with or without its ending.
func (r *reading) loaded(word, dir, script string) {
	for _, ending := range []string{"", ".js", ".cjs", ".mjs", ".ts", ".rb", "/index.js"} {
		if name := r.find(word+ending, dir, script); name != "" {
			r.note(name, roleSettings)
			return
		}
	}
}

// module follows "python -m": the tree's own file of that name comes before the
// program that is installed.
func (r *reading) module(name string, args []string, dir, script string) {
	file := strings.ReplaceAll(name, ".", "/")
	for _, ending := range []string{".py", "/__main__.py", "/__init__.py"} {
		if path := r.find(file+ending, dir, ""); path != "" {
			r.note(path, roleScript)
		}
	}
	r.call(append([]string{name}, args...), dir, script)
}
