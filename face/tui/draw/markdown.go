package draw

import (
	"strings"
)

// Markdown lays out a text of a model: headings, lists, quotes, fences, tables, and
// what is emphasised in a line. It reads as much of Markdown as models write, and shows
// the rest as it stands. A renderer of the whole of it costs the program twenty
// milliseconds at each start, for the colours of languages that few of them use.
func (t *Theme) Markdown(text string, width int) []string {
	m := &markdown{Theme: t, width: width}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n "), "\n") {
		m.line(tabs(line))
	}
	m.flush()
	return m.out
}

type markdown struct {
	*Theme
	width int
	out   []string

	words []string   // of the paragraph, or of the list item, that goes on
	first string     // what stands before its first line
	rest  string     // and before the others
	fence string     // that would end the code; "" outside
	lang  string     // of the code
	table [][]string // rows that are not laid out yet
}

// line takes the next line.
func (m *markdown) line(line string) {
	bare := strings.TrimSpace(line)
	if m.fence != "" {
		m.code(line, bare)
		return
	}
	if strings.HasPrefix(bare, "|") && strings.HasSuffix(bare, "|") && len(bare) > 1 {
		m.paragraph()
		m.table = append(m.table, cells(bare))
		return
	}
	m.layTable()
	switch {
	case bare == "":
		m.paragraph()
		m.blank()
	case strings.HasPrefix(bare, "```"), strings.HasPrefix(bare, "~~~"):
		m.paragraph()
		m.fence, m.lang = bare[:3], strings.TrimSpace(strings.Trim(bare, "`~"))
	case heading(bare) > 0:
		m.paragraph()
		m.blank()
		level := heading(bare)
		style := m.Bold
		if level < 3 {
			style = m.Accent
		}
		for _, row := range wrap(strings.TrimSpace(bare[level:]), m.width) {
			m.out = append(m.out, paint(style, row))
		}
	case isRule(bare):
		m.paragraph()
		m.out = append(m.out, paint(m.Dim, strings.Repeat("─", min(m.width, 40))))
	case strings.HasPrefix(bare, ">"):
		m.paragraph()
		bar := paint(m.Dim, "│ ")
		m.out = append(m.out, hang(bar, bar, m.inline(strings.TrimSpace(bare[1:])), m.width)...)
	default:
		m.prose(line, bare)
	}
}

// prose takes a line of a paragraph, or one that begins a list item.
func (m *markdown) prose(line, bare string) {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	mark, text := bullet(bare)
	if mark == "" {
		m.words = append(m.words, bare)
		return
	}
	m.paragraph()
	lead := strings.Repeat(" ", min(indent, m.width/3))
	switch {
	case strings.HasPrefix(text, "[ ] "):
		mark, text = "☐", text[4:]
	case strings.HasPrefix(text, "[x] "), strings.HasPrefix(text, "[X] "):
		mark, text = paint(m.Good, "☑"), text[4:]
	}
	m.first = lead + mark + " "
	m.rest = lead + strings.Repeat(" ", Width(mark)+1)
	m.words = append(m.words, text)
}

// code takes a line of a fence.
func (m *markdown) code(line, bare string) {
	if strings.HasPrefix(bare, m.fence) && strings.Trim(bare, "`~") == "" {
		m.fence = ""
		return
	}
	bar, width := paint(m.Dim, "│ "), m.width-2
	if m.lang == "diff" || m.lang == "patch" {
		m.out = append(m.out, bar+paint(m.diffLine(line), Cut(line, width)))
		return
	}
	for _, row := range wrap(line, width) {
		m.out = append(m.out, bar+paint(m.Code, row))
	}
}

// blank puts an empty line, one at a time and only between others.
func (m *markdown) blank() {
	if n := len(m.out); n > 0 && m.out[n-1] != "" {
		m.out = append(m.out, "")
	}
}

// paragraph lays out what was collected.
func (m *markdown) paragraph() {
	if len(m.words) > 0 {
		m.out = append(m.out, hang(m.first, m.rest, m.inline(strings.Join(m.words, " ")), m.width)...)
	}
	m.words, m.first, m.rest = nil, "", ""
}

func (m *markdown) flush() {
	m.paragraph()
	m.layTable()
	for n := len(m.out); n > 0 && m.out[n-1] == ""; n-- {
		m.out = m.out[:n-1]
	}
}

// layTable sets the cells of a table under each other, as far as there is room.
func (m *markdown) layTable() { //nolint:gocognit // it reads from top to bottom
	rows := m.table
	m.table = nil
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if !isRule(cell) {
				widths[i] = max(widths[i], Width(m.inline(cell)))
			}
		}
	}
	for n, row := range rows {
		var line []string
		rule := true
		for i, cell := range row {
			rule = rule && isRule(cell)
			text := m.inline(cell)
			if n == 0 {
				text = paint(m.Bold, text)
			}
			line = append(line, Pad(text, widths[i]))
		}
		if rule {
			total := 2 * max(0, len(widths)-1)
			for _, w := range widths {
				total += w
			}
			m.out = append(m.out, paint(m.Dim, strings.Repeat("─", min(total, m.width))))
			continue
		}
		m.out = append(m.out, Cut(strings.TrimRight(strings.Join(line, "  "), " "), m.width))
	}
}

func cells(line string) []string {
	var out []string
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		out = append(out, strings.TrimSpace(cell))
	}
	return out
}

// heading is the level of a heading, 0 for a line that is none.
func heading(line string) int {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level == 0 || level > 6 || !strings.HasPrefix(line[level:], " ") {
		return 0
	}
	return level
}

// isRule reports whether a line is a rule, or a cell the one under a table's head.
func isRule(line string) bool {
	bare := strings.Trim(line, ":")
	return len(bare) >= 3 && strings.Contains("-*_", bare[:1]) && strings.Trim(bare, bare[:1]) == ""
}

// bullet is what a list item begins with, "" for a line that is none.
func bullet(line string) (mark, text string) {
	for _, m := range []string{"- ", "* ", "+ "} {
		if rest, ok := strings.CutPrefix(line, m); ok {
			return "•", strings.TrimSpace(rest)
		}
	}
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if digits > 0 && digits < 4 && len(line) > digits+1 && (line[digits] == '.' || line[digits] == ')') &&
		line[digits+1] == ' ' {
		return line[:digits+1], strings.TrimSpace(line[digits+2:])
	}
	return "", line
}

// inline paints what is emphasised in a line.
func (m *markdown) inline(text string) string {
	var b strings.Builder
	for text != "" {
		at := strings.IndexAny(text, "`*_[")
		if at < 0 {
			break
		}
		painted, size := m.span(text[at:], at > 0 && isWord(text[at-1]))
		b.WriteString(text[:at])
		b.WriteString(painted)
		text = text[at+size:]
	}
	b.WriteString(text)
	return b.String()
}

// span paints what a text begins with, and says how long that is. Inside says that it
// stands in the middle of a word.
func (m *markdown) span(text string, inside bool) (painted string, size int) {
	switch {
	case strings.HasPrefix(text, "`"):
		ticks := len(text) - len(strings.TrimLeft(text, "`"))
		if code, _, ok := strings.Cut(text[ticks:], text[:ticks]); ok && code != "" {
			return paint(m.Code, strings.TrimSpace(code)), len(code) + 2*ticks
		}
		return text[:ticks], ticks
	case strings.HasPrefix(text, "**"):
		if bold, _, ok := strings.Cut(text[2:], "**"); ok && bold != "" && bold[0] != ' ' {
			return paint(m.Bold, bold), len(bold) + 4
		}
		return "**", 2
	case strings.HasPrefix(text, "["):
		name, rest, ok := strings.Cut(text[1:], "](")
		where, _, closed := strings.Cut(rest, ")")
		if ok && closed && !strings.ContainsAny(name, "[]") {
			size := len(name) + len(where) + 4
			if name == where {
				return paint(m.Link, where), size
			}
			return name + " (" + paint(m.Link, where) + ")", size
		}
		return "[", 1
	case inside: // snake_case and 2*3 emphasise nothing
		return text[:1], 1
	}
	mark := text[:1]
	if em, after, ok := strings.Cut(text[1:], mark); ok && em != "" && em[0] != ' ' && em[len(em)-1] != ' ' &&
		(after == "" || !isWord(after[0])) {
		return paint(m.Italic, em), len(em) + 2
	}
	return mark, 1
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
