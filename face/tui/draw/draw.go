// Package draw lays out what a run says in lines of a width: Markdown, diffs, output of
// commands, and the blocks of a story.
//
// It must not know about keys, programs that draw a screen, or where events come from.
// What it is given is safe for a terminal already, and what it adds is colour.
package draw

import (
	"bytes"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/plan-engine/plan/face/tui/story"
)

// Theme is how things are coloured. The colours are the terminal's own sixteen, which
// its user has chosen to be legible.
type Theme struct {
	Plain, Dim, Bold, Italic, Code, Link       lipgloss.Style
	Good, Bad, Odd, Accent, Added, Gone, Where lipgloss.Style
	Picked                                     lipgloss.Style
}

// NewTheme makes the theme.
func NewTheme() *Theme {
	s := lipgloss.NewStyle()
	return &Theme{
		Plain:  s,
		Dim:    s.Faint(true),
		Bold:   s.Bold(true),
		Italic: s.Italic(true),
		Code:   s.Foreground(lipgloss.Cyan),
		Link:   s.Underline(true),
		Good:   s.Foreground(lipgloss.Green),
		Bad:    s.Foreground(lipgloss.Red),
		Odd:    s.Foreground(lipgloss.Yellow),
		Accent: s.Foreground(lipgloss.Cyan).Bold(true),
		Added:  s.Foreground(lipgloss.Green),
		Gone:   s.Foreground(lipgloss.Red),
		Where:  s.Foreground(lipgloss.Cyan),
		Picked: s.Reverse(true),
	}
}

// Mood is the style of a mood, and its sign.
func (t *Theme) Mood(m story.Mood) (style lipgloss.Style, sign string) {
	switch m {
	case story.Good:
		return t.Good, "✓"
	case story.Bad:
		return t.Bad, "✗"
	case story.Odd:
		return t.Odd, "■"
	case story.Running:
		return t.Accent, "●"
	}
	return t.Dim, "•"
}

// paint colours a line. Leading blanks stay as they are, so that a colour with a
// background or a line under it marks words alone.
func paint(s lipgloss.Style, text string) string {
	if text == "" {
		return ""
	}
	return s.Render(text)
}

// Width is how many columns a text takes.
func Width(text string) int { return ansi.StringWidth(text) }

// Cut shortens a text to at most so many columns, with a mark where something is
// missing.
func Cut(text string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(text, width, "…")
}

// CutStart is Cut that leaves the end, which suits paths.
func CutStart(text string, width int) string {
	if over := Width(text) - width; over > 0 && width > 0 {
		return ansi.TruncateLeft(text, over+1, "…")
	}
	return Cut(text, width)
}

// Pad fills a text up with blanks to so many columns.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Width(text)))
}

// Row sets left and right at the two edges of a line. Where there is no room for both,
// the right one goes.
func Row(left, right string, width int) string {
	gap := width - Width(left) - Width(right)
	if gap < 1 {
		return Cut(left, width)
	}
	return left + strings.Repeat(" ", gap) + right
}

// wrap breaks a line into lines of at most width columns, at blanks where there are
// any, and nowhere else: a dash begins options and numbers. Colours go on in the next
// line.
func wrap(text string, width int) []string {
	width = max(width, 1)
	if Width(text) <= width {
		return []string{text}
	}
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	if len(indent) > width/2 {
		indent = ""
	}
	var b bytes.Buffer
	b.WriteString(indent)
	used := len(indent)
	for i, word := range strings.Split(text[len(indent):], " ") {
		wide := Width(word)
		switch {
		case i == 0:
		case used+1+wide <= width:
			b.WriteByte(' ')
			used++
		default:
			b.WriteString("\n" + indent)
			used = len(indent)
		}
		if used+wide > width {
			word = ansi.Hardwrap(word, width-used, true)
			if at := strings.LastIndexByte(word, '\n'); at >= 0 {
				wide = Width(word[at+1:])
				word = strings.ReplaceAll(word, "\n", "\n"+indent)
			}
		}
		b.WriteString(word)
		used += wide
	}
	if !strings.Contains(text, "\x1b") {
		return strings.Split(b.String(), "\n")
	}
	var out strings.Builder
	w := lipgloss.NewWrapWriter(&out)
	_, _ = w.Write(b.Bytes()) // a builder takes everything
	_ = w.Close()
	return strings.Split(out.String(), "\n")
}

// hang wraps a text, and puts first before its first line and rest before the others.
func hang(first, rest, text string, width int) []string {
	lines := wrap(text, max(width-max(Width(first), Width(rest)), 8))
	for i, line := range lines {
		if i == 0 {
			lines[i] = first + line
		} else {
			lines[i] = rest + line
		}
	}
	return lines
}

// tabs makes blanks of tabulators.
func tabs(line string) string { return strings.ReplaceAll(line, "\t", "    ") }

// Text lays out lines as they are, each cut to the width.
func Text(text string, style lipgloss.Style, width int) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, paint(style, Cut(tabs(strings.TrimRight(line, "\n")), width)))
	}
	return out
}

// Wrapped lays out lines as they are, each wrapped, so that nothing is missing: what a
// person decides about.
func (t *Theme) Wrapped(text string, width int, form story.Form) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = tabs(strings.TrimRight(line, "\n"))
		style := t.Plain
		if form == story.Diff {
			style = t.diffLine(line)
		}
		for _, row := range wrap(line, width) {
			out = append(out, paint(style, row))
		}
	}
	return out
}

// Diff lays out a unified diff or a patch, each line in the colour of what it does.
func (t *Theme) Diff(text string, width int) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = tabs(strings.TrimRight(line, "\n"))
		out = append(out, paint(t.diffLine(line), Cut(line, width)))
	}
	return out
}

func (t *Theme) diffLine(line string) lipgloss.Style {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "),
		strings.HasPrefix(line, "*** "), strings.HasPrefix(line, "index "):
		return t.Bold
	case strings.HasPrefix(line, "@@"):
		return t.Where
	case strings.HasPrefix(line, "+"):
		return t.Added
	case strings.HasPrefix(line, "-"):
		return t.Gone
	}
	return t.Plain
}
