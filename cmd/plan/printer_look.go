package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// look decides how a line is drawn: colours or none, which glyphs, how wide.
// Every text that reaches a person is drawn by look.paint, which makes it safe.
type look struct {
	color, ascii bool
	glyphs
}

// glyphs are the signs of the display, each one column wide but for the ASCII
// form of cut.
type glyphs struct {
	ok, fail, refused, unsure, again, halt, open, note string
	rule, dot, cut, arrow                              string
	spin                                               []string
}

// ink is the SGR parameter of a colour or weight.
type ink string

const (
	inkNone   ink = ""
	inkBold   ink = "1"
	inkDim    ink = "2"
	inkRed    ink = "31"
	inkGreen  ink = "32"
	inkYellow ink = "33"
	inkCyan   ink = "36"
)

func newLook(opts viewOptions) look {
	l := look{color: opts.Color, ascii: opts.ASCII, glyphs: glyphs{
		ok: "✓", fail: "✗", refused: "⊘", unsure: "?", again: "↻", halt: "■", open: "○", note: "•",
		rule: "─", dot: "·", cut: "…", arrow: "→",
		spin: []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"},
	}}
	if l.ascii {
		l.glyphs = glyphs{
			ok: "+", fail: "x", refused: "!", unsure: "?", again: "~", halt: "#", open: "o", note: "*",
			rule: "-", dot: "|", cut: "...", arrow: ">",
			spin: []string{"|", "/", "-", "\\"},
		}
	}
	return l
}

// safe makes text fit to be shown on one line.
func (l look) safe(text string) string {
	text = sanitizeLine(text)
	if l.ascii {
		text = sanitizeASCII(text)
	}
	return text
}

// paint makes text safe and colours it.
func (l look) paint(k ink, text string) string {
	text = l.safe(text)
	if !l.color || k == inkNone || text == "" {
		return text
	}
	return "\x1b[" + string(k) + "m" + text + "\x1b[0m"
}

// span is a piece of a line. A span that keeps its end loses its beginning
// when it has to be cut, which suits paths.
type span struct {
	ink     ink
	text    string
	keepEnd bool
}

func (l look) paintAll(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(l.paint(s.ink, s.text))
	}
	return b.String()
}

// measure returns the columns that spans take.
func (l look) measure(spans []span) int {
	total := 0
	for _, s := range spans {
		total += cellWidth(l.safe(s.text))
	}
	return total
}

// fill draws one line of at most width columns: head as it is, flex cut to
// what is left, tail at the right edge. Where there is no room, the last of
// the tail goes first.
func (l look) fill(width int, head []span, flex span, tail []span) string {
	const legible = 12 // columns of flex that a tail must leave
	flex.text = l.safe(flex.text)
	room := width - l.measure(head) - l.measure(tail)
	for len(tail) > 0 && room < min(cellWidth(flex.text), legible) {
		tail = tail[:len(tail)-1]
		room = width - l.measure(head) - l.measure(tail)
	}
	if room < 0 {
		var plain strings.Builder
		for _, s := range head {
			plain.WriteString(s.text)
		}
		return l.paint(head[0].ink, l.cutTo(l.safe(plain.String()), width, false))
	}
	flex.text = l.cutTo(flex.text, room, flex.keepEnd)
	line := l.paintAll(head) + l.paint(flex.ink, flex.text)
	if len(tail) > 0 {
		line += strings.Repeat(" ", max(0, room-cellWidth(flex.text))) + l.paintAll(tail)
	}
	return line
}

// hang draws head and then text, wrapped beside it.
func (l look) hang(width int, head []span, k ink, text string) []string {
	indent := l.measure(head)
	rows := wrapRows(l.safe(strings.Join(strings.Fields(text), " ")), max(width-indent, 20))
	lines := make([]string, 0, len(rows))
	for i, row := range rows {
		start := strings.Repeat(" ", indent)
		if i == 0 {
			start = l.paintAll(head)
		}
		lines = append(lines, strings.TrimRight(start+l.paint(k, row), " "))
	}
	return lines
}

// hangParts draws head and then parts between dots. A row is only broken
// between parts.
func (l look) hangParts(width int, head []span, k ink, parts ...string) []string {
	indent := l.measure(head)
	var rows []string
	for _, part := range parts {
		if n := len(rows); n > 0 && indent+cellWidth(l.joined(rows[n-1], part)) <= width {
			rows[n-1] = l.joined(rows[n-1], part)
			continue
		}
		rows = append(rows, part)
	}
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		lines = append(lines, l.hang(width, head, k, row)...)
		head = []span{{text: strings.Repeat(" ", indent)}}
	}
	return lines
}

// heading draws a rule with a title in it.
func (l look) heading(width int, k ink, title, note string) string {
	head := []span{{ink: inkDim, text: l.rule + l.rule + " "}, {ink: k, text: title}, {text: " "}}
	if note != "" {
		room := max(width-l.measure(head)-4, 8)
		head = append(head, span{ink: inkDim, text: l.dot + " " + l.cutTo(l.safe(note), room, false) + " "})
	}
	left := max(2, width-l.measure(head))
	return l.paintAll(append(head, span{ink: inkDim, text: strings.Repeat(l.rule, left)}))
}

// cutTo shortens safe text to at most width columns.
func (l look) cutTo(text string, width int, keepEnd bool) string {
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
		return cells().TruncatePrefix(text, width, mark)
	}
	return cells().Truncate(text, width, mark)
}

// joined lists parts between dots, leaving empty ones out.
func (l look) joined(parts ...string) string {
	kept := make([]string, 0, len(parts))
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, " "+l.dot+" ")
}

// cells measures text. Characters of ambiguous width count as narrow, as
// nearly all terminals draw them, so that a line has the same width in every
// locale.
func cells() *runewidth.Condition { return &runewidth.Condition{StrictEmojiNeutral: true} }

func cellWidth(text string) int { return cells().StringWidth(text) }

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
	head = cells().Truncate(head, width, "")
	if head == "" && text != "" {
		_, size := utf8.DecodeRuneInString(text)
		return text[:size]
	}
	return head
}

// padTo fills text with spaces up to width columns.
func padTo(text string, width int) string { return cells().FillRight(text, width) }

// spokenTime writes a duration for a line: 120ms, 8.2s, 3m24s, 2h03m.
func spokenTime(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", max(d, 0).Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}

// clockTime writes a duration as a running clock: 0:07, 12:03, 1:02:03.
func clockTime(d time.Duration) string {
	d = max(d, 0)
	if d < time.Hour {
		return fmt.Sprintf("%d:%02d", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}

// spokenCount writes a number of tokens: 950, 14.5k, 1.2M.
func spokenCount(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 999_950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// spokenCost writes what a run cost, or that nobody knows.
func spokenCost(usd float64, priced bool) string {
	switch {
	case priced:
		return fmt.Sprintf("$%.4f", usd)
	case usd > 0:
		return fmt.Sprintf("$%.4f + unpriced calls", usd)
	}
	return "unpriced"
}

// countOf writes 1 turn, 2 turns.
func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
