package patch

import (
	"slices"
	"strings"
)

const gitHeader = "diff --git "

// Files parts what git printed into what it says of each file. Only such a line begins
// one: every line of a content has a blank, a + or a - before it.
func Files(diff string) []string {
	var out []string
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, gitHeader) || len(out) == 0 {
			out = append(out, "")
		}
		out[len(out)-1] += line
	}
	return out
}

// Diff reads what git printed, a change for each file. Nothing that is in it is left
// out: of a part that cannot be read, lines count by how they begin.
func Diff(diff string) []Change {
	var out []Change
	for _, text := range Files(diff) {
		name, ok := strings.CutPrefix(text, gitHeader)
		if !ok {
			continue // what stands before the first file
		}
		p := &parser{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
		c, err := p.file()
		if err != nil && !p.done() {
			c.Hunks = append(c.Hunks, p.remaining())
		}
		if c.Path == "" {
			name, _, _ = strings.Cut(name, "\n")
			c.Op, c.Path, c.To = Update, name, name
		}
		out = append(out, c)
	}
	return out
}

// remaining is what is left, taken as lines of a hunk.
func (p *parser) remaining() Hunk {
	h := Hunk{
		At:  -1,
		Old: -1,
		New: -1,
	}
	for ; !p.done(); p.i++ {
		line := p.line(0)
		if line != "" && slices.Contains([]byte(" +-"), line[0]) {
			h.Lines = append(h.Lines, p.hunkLine(line[0], 1))
		}
	}
	return h
}
