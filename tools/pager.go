package tools

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	pageLines = 2000      // lines of a page unless asked otherwise
	pageBytes = 50 * 1024 // bytes of a page at most
	lineBytes = 2000      // bytes of a line that are shown
)

// byteOrderMark is what some editors put before UTF-8.
var byteOrderMark = []byte("\uFEFF")

// pager numbers the lines of what is written to it and keeps one page of them.
// It holds no more than that page and a part of one line, however much is
// written.
type pager struct {
	first, limit int // the page: lines first, first+1, … (limit of them)

	line  int    // lines that have ended
	begin []byte // the beginning of the current line
	size  int    // bytes of the current line
	tail  byte   // its last byte

	out         strings.Builder
	shown       int // lines in out
	full        bool
	crlf, lf    int // line ends within the page
	cut         int // lines that were cut
	bom, broken bool
	ragged      bool // the last line has no newline
}

func newPager(first, limit int) *pager {
	if limit <= 0 {
		limit = pageLines
	}
	return &pager{first: max(first, 1), limit: limit}
}

// Write implements io.Writer; it never fails.
func (p *pager) Write(data []byte) (int, error) {
	n := len(data)
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			p.extend(data)
			break
		}
		p.extend(data[:end])
		p.endLine(true)
		data = data[end+1:]
	}
	return n, nil
}

// isOnPage reports whether the current line is of the page.
func (p *pager) isOnPage() bool {
	return !p.full && p.line+1 >= p.first && p.shown < p.limit
}

// extend adds bytes to the current line.
func (p *pager) extend(part []byte) {
	if len(part) == 0 {
		return
	}
	if p.isOnPage() {
		// A little more than is shown, so that a rune at the edge is whole
		// and a mark before the first line does not shorten it.
		room := lineBytes + utf8.UTFMax + len(byteOrderMark) - len(p.begin)
		p.begin = append(p.begin, part[:min(max(room, 0), len(part))]...)
	}
	p.size += len(part)
	p.tail = part[len(part)-1]
}

// endLine ends the current line, with a newline or at the end of the input.
func (p *pager) endLine(newline bool) {
	if p.isOnPage() {
		p.emit(newline)
	}
	p.line++
	p.begin, p.size = p.begin[:0], 0
}

// emit puts the current line on the page if it has room.
func (p *pager) emit(newline bool) {
	text, size := p.begin, p.size
	bom := p.line == 0 && bytes.HasPrefix(text, byteOrderMark)
	if bom {
		text, size = text[len(byteOrderMark):], size-len(byteOrderMark)
	}
	crlf := newline && size > 0 && p.tail == '\r'
	if crlf {
		size--
		text = text[:min(len(text), size)]
	}
	short := cutText(text, lineBytes)
	broken := !utf8.Valid(short)
	entry := fmt.Sprintf("%d\t%s", p.line+1, clean(short))
	if len(short) < size {
		entry += fmt.Sprintf("… [+%d bytes]", size-len(short))
	}
	if p.out.Len()+len(entry)+1 > pageBytes && p.shown > 0 {
		p.full = true
		return
	}
	p.out.WriteString(entry + "\n")
	p.shown++
	p.bom = p.bom || bom
	p.broken = p.broken || broken
	p.ragged = !newline
	if len(short) < size {
		p.cut++
	}
	if crlf {
		p.crlf++
	} else if newline {
		p.lf++
	}
}

// end ends the input.
func (p *pager) end() {
	if p.size > 0 {
		p.endLine(false)
	}
}

// notes says what the page does not show, a line each.
func (p *pager) notes() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, "["+format+"]\n", args...) }
	last := p.first + p.shown - 1
	switch {
	case last < p.line:
		say("lines %d-%d of %d; go on with offset=%d", p.first, last, p.line, last+1)
	case p.first > 1:
		say("lines %d-%d of %d, the end", p.first, last, p.line)
	}
	if p.cut > 0 {
		say("%s cut after %d bytes", count(p.cut, "long line was", "long lines were"), lineBytes)
	}
	switch {
	case p.crlf > 0 && p.lf > 0:
		say("mixed line ends: %d CRLF, %d LF; the CR is not shown", p.crlf, p.lf)
	case p.crlf > 0:
		say("the lines end in CRLF; the CR is not shown")
	}
	if p.bom {
		say("a UTF-8 byte order mark before line 1 is not shown")
	}
	if p.broken {
		say("not all of it is valid UTF-8; what is not is shown as \uFFFD")
	}
	if p.ragged {
		say("no newline at the end")
	}
	return b.String()
}
