package render

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/internal/oneline"
)

// Look decides how a line is drawn: colours or none, which glyphs, how wide.
// Every text that reaches a person is drawn by look.paint, which makes it safe.
type Look struct {
	color, ascii bool
	glyphs
}

// glyphs are the signs of the display, each one column wide but for the ASCII
// form of cut.
type glyphs struct {
	ok, fail, refused, unsure, again, halt, open, note string
	rule, dot, cut, Arrow                              string
	spin                                               []string
}

// Ink is the SGR parameter of a colour or weight.
type Ink string

// The inks that a line is drawn with.
const (
	InkNone   Ink = ""
	InkBold   Ink = "1"
	InkDim    Ink = "2"
	InkRed    Ink = "31"
	InkGreen  Ink = "32"
	InkYellow Ink = "33"
	InkCyan   Ink = "36"
)

// NewLook makes the look that the options ask for.
func NewLook(opts Options) Look {
	l := Look{
		color: opts.Color,
		ascii: opts.ASCII,
		glyphs: glyphs{
			ok:      "✓",
			fail:    "✗",
			refused: "⊘",
			unsure:  "?",
			again:   "↻",
			halt:    "■",
			open:    "○",
			note:    "•",
			rule:    "─",
			dot:     "·",
			cut:     "…",
			Arrow:   "→",
			spin:    []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"},
		},
	}
	if l.ascii {
		l.glyphs = glyphs{
			ok:      "+",
			fail:    "x",
			refused: "!",
			unsure:  "?",
			again:   "~",
			halt:    "#",
			open:    "o",
			note:    "*",
			rule:    "-",
			dot:     "|",
			cut:     "...",
			Arrow:   ">",
			spin:    []string{"|", "/", "-", "\\"},
		}
	}
	return l
}

// Safe makes text fit to be shown on one line.
func (l Look) Safe(text string) string {
	text = SafeLine(text)
	if l.ascii {
		text = sanitizeASCII(text)
	}
	return text
}

// Paint makes text safe and colours it.
func (l Look) Paint(k Ink, text string) string {
	text = l.Safe(text)
	if !l.color || k == InkNone || text == "" {
		return text
	}
	return "\x1b[" + string(k) + "m" + text + "\x1b[0m"
}

// Span is a piece of a line. A span that keeps its end loses its beginning
// when it has to be cut, which suits paths.
type Span struct {
	Ink     Ink
	Text    string
	keepEnd bool
}

// PaintAll draws the parts of a line, each in its ink.
func (l Look) PaintAll(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(l.Paint(s.Ink, s.Text))
	}
	return b.String()
}

// measure returns the columns that spans take.
func (l Look) measure(spans []Span) int {
	total := 0
	for _, s := range spans {
		total += cellWidth(l.Safe(s.Text))
	}
	return total
}

// fill draws one line of at most width columns: head as it is, flex cut to
// what is left, tail at the right edge. Where there is no room, the last of
// the tail goes first.
func (l Look) fill(width int, head []Span, flex Span, tail []Span) string {
	const legible = 12 // Columns of flex that a tail must leave
	flex.Text = l.Safe(flex.Text)
	room := width - l.measure(head) - l.measure(tail)
	for len(tail) > 0 && room < min(cellWidth(flex.Text), legible) {
		tail = tail[:len(tail)-1]
		room = width - l.measure(head) - l.measure(tail)
	}
	if room < 0 {
		var plain strings.Builder
		for _, s := range head {
			plain.WriteString(s.Text)
		}
		return l.Paint(head[0].Ink, l.CutTo(l.Safe(plain.String()), width, false))
	}
	flex.Text = l.CutTo(flex.Text, room, flex.keepEnd)
	line := l.PaintAll(head) + l.Paint(flex.Ink, flex.Text)
	if len(tail) > 0 {
		line += strings.Repeat(" ", max(0, room-cellWidth(flex.Text))) + l.PaintAll(tail)
	}
	return line
}

// hang draws head and then text, wrapped beside it.
func (l Look) hang(width int, head []Span, k Ink, text string) []string {
	indent := l.measure(head)
	rows := wrapRows(l.Safe(oneline.Of(text)), max(width-indent, 20))
	lines := make([]string, 0, len(rows))
	for i, row := range rows {
		start := strings.Repeat(" ", indent)
		if i == 0 {
			start = l.PaintAll(head)
		}
		lines = append(lines, strings.TrimRight(start+l.Paint(k, row), " "))
	}
	return lines
}

// hangParts draws head and then parts between dots. A row is only broken
// between parts.
func (l Look) hangParts(width int, head []Span, k Ink, parts ...string) []string {
	indent := l.measure(head)
	var rows []string
	for _, part := range parts {
		if n := len(rows); n > 0 && indent+cellWidth(l.Joined(rows[n-1], part)) <= width {
			rows[n-1] = l.Joined(rows[n-1], part)
			continue
		}
		rows = append(rows, part)
	}
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		lines = append(lines, l.hang(width, head, k, row)...)
		head = []Span{{Text: strings.Repeat(" ", indent)}}
	}
	return lines
}

// Heading draws a rule with a title in it.
func (l Look) Heading(width int, k Ink, title, note string) string {
	head := []Span{{Ink: InkDim, Text: l.rule + l.rule + " "}, {Ink: k, Text: title}, {Text: " "}}
	if note != "" {
		room := max(width-l.measure(head)-4, 8)
		head = append(head, Span{Ink: InkDim, Text: l.dot + " " + l.CutTo(l.Safe(note), room, false) + " "})
	}
	left := max(2, width-l.measure(head))
	return l.PaintAll(append(head, Span{Ink: InkDim, Text: strings.Repeat(l.rule, left)}))
}

// CutTo shortens safe text to at most width columns.
func (l Look) CutTo(text string, width int, keepEnd bool) string {
	mark := l.cut
	if width <= len(mark) {
		mark = ""
	}
	switch {
	case width <= 0:
		return ""
	case cellWidth(text) <= width:
		return text
	case keepEnd:
		return mark + endOf(text, width-cellWidth(mark))
	}
	return displaywidth.TruncateString(text, width, mark)
}

// endOf returns the longest end of text that fits into width columns.
func endOf(text string, width int) string {
	over := cellWidth(text) - width
	for g := displaywidth.StringGraphemes(text); over > 0 && g.Next(); {
		text, over = text[len(g.Value()):], over-g.Width()
	}
	return text
}

// Joined lists parts between dots, leaving empty ones out.
func (l Look) Joined(parts ...string) string {
	filled := make([]string, 0, len(parts))
	for _, p := range parts {
		if p != "" {
			filled = append(filled, p)
		}
	}
	return strings.Join(filled, " "+l.dot+" ")
}

// cellWidth returns the columns that text takes. Characters of ambiguous width
// count as narrow, as nearly all terminals draw them, so that a line has the
// same width in every locale.
func cellWidth(text string) int { return displaywidth.String(text) }

// wrapRows breaks one line of safe text into rows of at most width columns, at
// spaces where there are any. Rows after the first repeat the indentation. The
// last row is the one that more text would go on; it may be empty.
func wrapRows(text string, width int) []string {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	if len(indent) > width/2 {
		indent = ""
	}
	var rows []string
	for {
		head := rowHead(text, width)
		if len(head) == len(text) {
			return append(rows, text)
		}
		if len(head) <= len(indent) { // no room for a character beside it
			text, indent = text[len(indent):], ""
			continue
		}
		rest := text[len(head):]
		if at := strings.LastIndexByte(head, ' '); rest[0] != ' ' && at > len(indent) {
			head, rest = text[:at], text[at:]
		}
		if head = strings.TrimRight(head, " "); head != "" {
			rows = append(rows, head)
		}
		text = indent + strings.TrimLeft(rest, " ")
	}
}

// rowHead returns the longest beginning of text that fits into width columns,
// and at least one character. Marks of no width are bounded too.
func rowHead(text string, width int) string {
	bound := 16 * max(width, 1)
	head := text
	if len(head) > bound {
		for bound > 0 && !utf8.RuneStart(head[bound]) {
			bound--
		}
		head = head[:bound]
	}
	head = displaywidth.TruncateString(head, width, "")
	if head == "" && text != "" {
		_, size := utf8.DecodeRuneInString(text)
		return text[:size]
	}
	return head
}

// padTo fills text with spaces up to width columns.
func padTo(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-cellWidth(text)))
}

// Duration writes a duration for a line: 120ms, 8.2s, 3m24s, 2h03m, 3d07h.
func Duration(d time.Duration) string { return amount.Duration(d) }

// clock writes a duration as a running clock: 0:07, 12:03, 1:02:03.
func clock(d time.Duration) string { return amount.Clock(d) }

// Tokens writes a number of tokens: 950, 14.5k, 1.2M.
func Tokens(n int64) string { return amount.Tokens(n) }

// Cost writes what a run cost, or that it is not known.
func Cost(usd float64, priced bool) string { return amount.Cost(usd, priced) }

// Count writes 1 turn, 2 turns.
func Count[N int | int64](n N, noun string) string { return amount.Count(int64(n), noun) }

// sizeText writes a size: 999 B, 1.0 KB, 2.3 MB.
func sizeText(n int64) string { return amount.Bytes(n) }
