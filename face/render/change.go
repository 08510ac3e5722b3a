package render

import (
	"fmt"
	"io"
	"strings"
)

// WriteDiff writes a unified diff for a person, each line in the colour of what it does.
func WriteDiff(w io.Writer, diff string, opts Options) error {
	var out strings.Builder
	for line := range strings.Lines(SafeText(diff)) {
		text, ended := strings.CutSuffix(line, "\n")
		ink := inkOf(text)
		if !opts.Color || ink == InkNone || text == "" {
			out.WriteString(line)
			continue
		}
		out.WriteString("\x1b[" + string(ink) + "m" + text + "\x1b[0m")
		if ended {
			out.WriteByte('\n')
		}
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("write the diff: %w", err)
	}
	return nil
}

// inkOf is the colour of a line of a diff.
func inkOf(line string) Ink {
	switch {
	case strings.HasPrefix(line, "diff "), strings.HasPrefix(line, "index "),
		strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		return InkBold
	case strings.HasPrefix(line, "@@"):
		return InkCyan
	case strings.HasPrefix(line, "+"):
		return InkGreen
	case strings.HasPrefix(line, "-"):
		return InkRed
	}
	return InkNone
}
