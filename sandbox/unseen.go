package sandbox

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// mostUnseen bounds how many hidden paths a note names.
	mostUnseen = 5
	// unseenIn is how much of the end of an output is looked through.
	unseenIn = 256 << 10
)

// unseenNote says, for the reader of the output of a command that failed, which of the
// paths that it names are there but hidden with the home, and what shows them.
func (w *Wall) unseenNote(output []byte) string {
	if w.level == LevelNone {
		return ""
	}
	output = output[max(0, len(output)-unseenIn):]
	var paths []string
	if home := w.policy.ownHome(); home != "" {
		paths = w.unseen(home, "~", output, homeOf(w.env), home)
	}
	for _, other := range w.policy.otherHomes() {
		paths = append(paths, w.unseen(other, other, output, other)...)
	}
	if len(paths) == 0 {
		return ""
	}
	var show []string
	for _, path := range paths {
		show = append(show, fmt.Sprintf("%q", path))
	}
	list := strings.Join(show, ", ")
	return fmt.Sprintf("[Hidden with the home directory, but there: %s. If the work needs it, ask the user to add "+
		"this line to config.toml, in the table [walls]: show = [%s]]\n", strings.Join(paths, ", "), list)
}

// unseen finds such paths of a home below prefixes in an output. They are written below
// as, the way the settings take them.
func (w *Wall) unseen(home, as string, output []byte, prefixes ...string) []string {
	names := func(prefix string) bool { return bytes.Contains(output, []byte(prefix+"/")) }
	if !slices.ContainsFunc(prefixes, names) {
		return nil
	}
	visible := w.seenInHome(home)
	hidden := realPaths(w.policy.Hidden)
	var out []string
	for _, prefix := range slices.Compact(prefixes) {
		for rest := output; len(out) < mostUnseen; {
			_, after, ok := bytes.Cut(rest, []byte(prefix+"/"))
			if !ok {
				break
			}
			rest = after
			name := existingName(home, string(after[:endOfPath(after)]))
			if name == "" {
				continue
			}
			real, err := filepath.EvalSymlinks(filepath.Join(home, name))
			if err != nil || !within(real, home) || inAny(real, hidden) ||
				inAny(real, visible) || leadsTo(real, visible) {
				continue
			}
			if text := as + "/" + name; !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// seenInHome lists what commands see of the home.
func (w *Wall) seenInHome(home string) []string {
	p := w.policy
	out := slices.Concat(p.shownInHome(home), p.programsInHome(home, w.programs()), p.ExtraDirs, p.Fixed)
	for _, s := range p.Settings {
		out = append(out, s.Path)
	}
	for _, c := range p.Caches {
		out = append(out, c.Dir)
	}
	return realPaths(append(out, p.Tree, cmp.Or(p.Copy, p.Tree), w.scratch))
}

// leadsTo reports whether a folder only leads to what is seen.
func leadsTo(path string, visible []string) bool {
	return slices.ContainsFunc(visible, func(s string) bool { return within(s, path) })
}

// endOfPath is how long the path is that a text begins with.
func endOfPath(text []byte) int {
	if i := bytes.IndexAny(text, " \t\r\n\"'`:;,()<>[]{}|&*?\\\x00\x1b"); i >= 0 {
		return i
	}
	return len(text)
}

// existingName is a path below a home that is there, without the marks that end a
// sentence, "" if there is none.
func existingName(home, name string) string {
	for _, name := range []string{name, strings.TrimRight(name, ".!/…=")} {
		clean := filepath.Clean(name)
		if _, err := os.Lstat(filepath.Join(home, clean)); err == nil && clean != "." && filepath.IsLocal(clean) {
			return clean
		}
	}
	return ""
}
