package permit

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// scriptFile looks into a file of shell commands that a part runs. What it would do
// counts for rules that ask or deny, which then ask: it may be in a branch that is
// not taken. What cannot be told of it is its own affair.
func (r *reader) scriptFile(at int, w word) {
	abs, ok := r.path(w)
	if !ok {
		return
	}
	if r.writes(abs) {
		r.parts[at].coded = true // what is in it now is not what runs
		return
	}
	if slices.Contains(r.vars.scripts, abs) || len(r.vars.scripts) == mostNames {
		return
	}
	text, ok := readScript(abs)
	if !ok {
		return
	}
	r.vars.scripts = append(r.vars.scripts, abs)
	inside := r.looked(text)
	r.vars.scripts = r.vars.scripts[:len(r.vars.scripts)-1]
	p := &r.parts[at]
	for _, part := range inside {
		if part.Opaque == "" {
			p.mayRun = append(p.mayRun, part.names()...)
		}
		p.mayRun = append(p.mayRun, part.mayRun...)
		p.mayName = append(append(p.mayName, part.paths...), part.mayName...)
	}
}

// executes looks into a file of the tree that is run by its path, if it is for a shell.
func (r *reader) executes(at int) {
	w := r.parts[at].argv[0]
	abs, ok := r.path(w)
	if !ok || !strings.Contains(w.text, "/") || !within(r.place.Root, abs) {
		return
	}
	text, ok := readScript(abs)
	head, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(strings.TrimPrefix(head, "#!"))
	forShell := slices.ContainsFunc(fields, func(f string) bool { return slices.Contains(shells, filepath.Base(f)) })
	if r.writes(abs) || ok && (!strings.HasPrefix(head, "#!") || forShell) {
		r.scriptFile(at, w)
	}
}

// looked are the commands of a text that may be run, looked at by themselves.
func (r *reader) looked(text string) []Part {
	vars := newVariables(r.place.Home)
	vars.scripts = r.vars.scripts
	sub := &reader{
		place: r.place,
		dir:   r.dir,
		past:  r.past,
		vars:  vars,
		depth: r.depth + 1,
	}
	sub.script(text, unfed)
	return sub.parts
}

// writes reports whether the line writes a file before.
func (r *reader) writes(abs string) bool {
	return slices.ContainsFunc(r.parts, func(p Part) bool {
		return slices.Contains(p.writes, abs) || p.Redirect && slices.Contains(p.paths, abs)
	})
}

// readScript reads a file that can be a script.
func readScript(abs string) (string, bool) {
	info, err := os.Stat(abs)
	if err != nil || !info.Mode().IsRegular() || info.Size() > longest {
		return "", false
	}
	f, err := os.Open(abs)
	if err != nil {
		return "", false
	}
	defer f.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(io.LimitReader(f, longest))
	return string(text), err == nil
}

// isInput reports whether a word names the standard input.
func isInput(w word) bool {
	return slices.Contains([]string{"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}, filepath.Clean(w.text))
}
