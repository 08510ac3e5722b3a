package render

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plan-engine/plan"
)

// textFlow lays out what an assistant says as it arrives, indented and wrapped.
// Rows that are complete are handed out; the last one stays open.
type textFlow struct {
	narr    *narrator
	verdict bool // the text may hold a verdict as JSON, which is told in words later

	row     string // the open row
	wrapped bool   // the open row is not the first of its line
	held    string // the end of a piece, of which the next one says what it is
	blank   bool   // an empty row waits for text behind it
	spoken  bool   // a row was handed out
	hidden  bool   // the rest is the verdict
}

const textIndent = "    "

func (n *narrator) flow(phase plan.Phase) *textFlow {
	return &textFlow{narr: n, verdict: phase == plan.Review && !n.opts.Verbose}
}

// add takes the next piece and returns the rows that are complete.
func (f *textFlow) add(text string) []string {
	text = f.held + text
	whole := decided(text)
	f.held = text[whole:]
	return f.lay(text[:whole])
}

// decided is how much of a text shows in one way only, whatever comes behind it.
func decided(text string) int {
	whole := len(text)
	for i := range mostJoined {
		end := len(strings.TrimRight(text[:whole], undecided))
		before, size := utf8.DecodeLastRuneInString(text[:end])
		if i > 0 && end == whole || end < whole && text[end] == '\r' || before <= unicode.MaxLatin1 {
			return end
		}
		whole = end - size // a joiner is shown with what it joins, and may come yet
	}
	return whole
}

// mostJoined is how many joined characters wait for the next.
const mostJoined = 32

// undecided are a carriage return, whose line end may not be complete, and the joiners,
// which print nothing and are named where they join nothing.
const undecided = "\r\u200c\u200d"

// lay lays out text of which nothing is missing.
func (f *textFlow) lay(text string) []string {
	text = strings.ReplaceAll(SafeText(text), "\t", "    ")
	if f.narr.ascii {
		text = sanitizeASCII(text)
	}
	var rows []string
	for i, part := range strings.Split(text, "\n") {
		if i > 0 {
			rows = f.commit(rows, f.row)
			f.row, f.wrapped = "", false
		}
		if f.wrapped && strings.TrimSpace(f.row) == "" {
			part = strings.TrimLeft(part, " ") // the rest of the blanks that the row was broken at
		}
		f.row += part
		if f.hides() {
			f.row, f.hidden = "", true
			break
		}
		parts := wrapRows(f.row, f.narr.Columns()-len(textIndent))
		for _, full := range parts[:len(parts)-1] {
			rows, f.wrapped = f.commit(rows, full), true
		}
		f.row = parts[len(parts)-1]
	}
	return rows
}

// hides reports whether the rest of the text is a verdict's JSON.
func (f *textFlow) hides() bool {
	if f.hidden || !f.verdict || f.wrapped {
		return f.hidden
	}
	start := strings.TrimLeft(f.row, " ")
	return strings.HasPrefix(start, "{") || strings.HasPrefix(start, "```json")
}

// commit hands out a row. Empty rows are kept only between others, one at a
// time.
func (f *textFlow) commit(rows []string, row string) []string {
	if strings.TrimSpace(row) == "" {
		f.blank = f.blank || f.spoken && !f.wrapped
		return rows
	}
	if f.blank {
		rows = append(rows, "")
	}
	f.blank, f.spoken = false, true
	return append(rows, textIndent+f.narr.Paint(InkNone, strings.TrimRight(row, " ")))
}

// Open is the row that is still being written, "" when there is none.
func (f *textFlow) open() string {
	if strings.TrimSpace(f.row) == "" {
		return ""
	}
	return textIndent + f.row
}

// end hands out the open row.
func (f *textFlow) end() []string {
	rows := f.lay(strings.TrimRight(f.held, "\r"))
	row := f.row
	f.held, f.row = "", ""
	return f.commit(rows, row)
}

// spokenText joins the text of a message as it is streamed: without anything
// between its blocks.
func spokenText(m plan.Message) string {
	var b strings.Builder
	for _, block := range m.Blocks {
		if block.Type == plan.BlockText {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}
