// Package composer is where a person writes: several lines, what was written before,
// pasted text that takes one word's room, and the words that can be completed.
//
// It must not know what becomes of the text, or what a program is that draws it.
package composer

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/plan-engine/plan/internal/sanitize"
)

// Composer holds a text and the place in it where one writes. The zero value is empty.
type Composer struct {
	text  []rune
	at    int
	width int // of the rows as they were laid out last; 0: as wide as the lines are

	past   []string // newest last
	back   int      // how far back in it; 0: the text is new
	kept   string   // the text that was new, while one looks back
	pastes []paste
}

// paste is a long text that was pasted, and the mark that stands for it.
type paste struct{ mark, text string }

// A pasted text is folded from so many lines or characters on.
const (
	pasteLines = 5
	pasteChars = 400
)

// Empty reports whether nothing is written.
func (c *Composer) Empty() bool { return len(c.text) == 0 }

// Text is what is written, with pasted texts where their marks stand.
func (c *Composer) Text() string {
	text := string(c.text)
	for _, p := range c.pastes {
		text = strings.ReplaceAll(text, p.mark, p.text)
	}
	return text
}

// Shown is what is written, as it is shown.
func (c *Composer) Shown() string { return string(c.text) }

// Set replaces what is written, and puts the cursor at its end.
func (c *Composer) Set(text string) {
	c.text = []rune(text)
	c.at = len(c.text)
}

// Clear empties it.
func (c *Composer) Clear() {
	c.Set("")
	c.pastes, c.back, c.kept = nil, 0, ""
}

// Take is the text; it is remembered, and the composer is empty.
func (c *Composer) Take() string {
	text := c.Text()
	c.Remember(text)
	c.Clear()
	return text
}

// Remember puts a text into what was written before, as the newest.
func (c *Composer) Remember(text string) {
	text = strings.TrimSpace(text)
	if text == "" || len(c.past) > 0 && c.past[len(c.past)-1] == text {
		return
	}
	c.past = append(c.past, text)
}

// Insert writes a text at the cursor. What is written is text, whatever terminals send.
func (c *Composer) Insert(text string) {
	text = strings.ReplaceAll(sanitize.Text(text), "\t", "    ")
	c.text = slices.Insert(c.text, c.at, []rune(text)...)
	c.at += len([]rune(text))
}

// Continues begins another line where a backslash stands before the cursor, in its
// place, and reports whether it does.
func (c *Composer) Continues() bool {
	if c.at == 0 || c.text[c.at-1] != '\\' {
		return false
	}
	c.Backspace()
	c.Insert("\n")
	return true
}

// Paste inserts a text that was pasted; a long one takes the room of a mark.
func (c *Composer) Paste(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	if lines < pasteLines && len(text) < pasteChars {
		c.Insert(text)
		return
	}
	mark := fmt.Sprintf("[pasted text %d: %d lines]", len(c.pastes)+1, lines)
	c.pastes = append(c.pastes, paste{mark: mark, text: sanitize.Text(text)})
	c.Insert(mark)
}

// mark is the mark of a pasted text that ends, or begins, at the cursor.
func (c *Composer) mark(before bool) int {
	for _, p := range c.pastes {
		n := len([]rune(p.mark))
		if before && strings.HasSuffix(string(c.text[:c.at]), p.mark) ||
			!before && strings.HasPrefix(string(c.text[c.at:]), p.mark) {
			return n
		}
	}
	return 0
}

// before is how many characters stand for one that is seen before the cursor, or for the
// pasted text there, and after is the same behind it.
func (c *Composer) before() int {
	if n := c.mark(true); n > 0 || c.at == 0 {
		return n
	}
	from, _ := c.line()
	n := 1
	for from < c.at { // they are told apart from the beginning of a line on
		n = cluster(c.text[from:c.at])
		from += n
	}
	return n
}

func (c *Composer) after() int {
	if n := c.mark(false); n > 0 || c.at == len(c.text) {
		return n
	}
	return cluster(c.text[c.at:])
}

// cluster is how many characters the first one that is seen is made of.
func cluster(text []rune) int {
	const most = 64 // of one; more than any has
	first, _ := ansi.FirstGraphemeCluster(string(text[:min(len(text), most)]), ansi.GraphemeWidth)
	return max(1, utf8.RuneCountInString(first))
}

// Backspace removes the character before the cursor, or the pasted text there.
func (c *Composer) Backspace() {
	n := c.before()
	c.text = slices.Delete(c.text, c.at-n, c.at)
	c.at -= n
}

// Delete removes the character behind the cursor, or the pasted text there.
func (c *Composer) Delete() { c.text = slices.Delete(c.text, c.at, c.at+c.after()) }

// DeleteWord removes the word before the cursor.
func (c *Composer) DeleteWord() {
	to := c.at
	c.WordLeft()
	c.text = slices.Delete(c.text, c.at, to)
}

// DeleteToStart removes the line up to the cursor, and DeleteToEnd from there on.
func (c *Composer) DeleteToStart() {
	from, _ := c.line()
	c.text = slices.Delete(c.text, from, c.at)
	c.at = from
}

// DeleteToEnd removes the line from the cursor on, or its end where the cursor stands
// there.
func (c *Composer) DeleteToEnd() {
	_, to := c.line()
	if to == c.at {
		to = min(to+1, len(c.text))
	}
	c.text = slices.Delete(c.text, c.at, to)
}

// DeleteWordRight removes the word behind the cursor.
func (c *Composer) DeleteWordRight() {
	from := c.at
	c.WordRight()
	c.text = slices.Delete(c.text, from, c.at)
	c.at = from
}

// Left and Right move by a character, or over a pasted text.
func (c *Composer) Left() { c.at -= c.before() }

// Right moves by a character, or over a pasted text.
func (c *Composer) Right() { c.at += c.after() }

// WordLeft moves to the beginning of the word before the cursor, or of a pasted text.
func (c *Composer) WordLeft() {
	for c.at > 0 && unicode.IsSpace(c.text[c.at-1]) {
		c.at--
	}
	if n := c.mark(true); n > 0 {
		c.at -= n
		return
	}
	for c.at > 0 && !unicode.IsSpace(c.text[c.at-1]) {
		c.at--
	}
}

// WordRight moves to the end of the word behind the cursor, or of a pasted text.
func (c *Composer) WordRight() {
	for c.at < len(c.text) && unicode.IsSpace(c.text[c.at]) {
		c.at++
	}
	if n := c.mark(false); n > 0 {
		c.at += n
		return
	}
	for c.at < len(c.text) && !unicode.IsSpace(c.text[c.at]) {
		c.at++
	}
}

// line is where the line of the cursor begins and ends.
func (c *Composer) line() (from, to int) {
	from, to = c.at, c.at
	for from > 0 && c.text[from-1] != '\n' {
		from--
	}
	for to < len(c.text) && c.text[to] != '\n' {
		to++
	}
	return from, to
}

// Home moves to the beginning of the line, and End to its end.
func (c *Composer) Home() { c.at, _ = c.line() }

// End moves to the end of the line.
func (c *Composer) End() { _, c.at = c.line() }

// Up moves a row up, or to what was written before. It reports false where there is
// neither.
func (c *Composer) Up() bool {
	if c.toRow(-1) {
		return true
	}
	if c.back >= len(c.past) {
		return false
	}
	if c.back == 0 {
		c.kept = c.Text()
	}
	c.back++
	c.Set(c.past[len(c.past)-c.back])
	return true
}

// Down moves a row down, or to what was written later. It reports false where there
// is neither.
func (c *Composer) Down() bool {
	if c.toRow(1) {
		return true
	}
	if c.back == 0 {
		return false
	}
	c.back--
	if c.back == 0 {
		c.Set(c.kept)
	} else {
		c.Set(c.past[len(c.past)-c.back])
	}
	return true
}

// Word is what is written from the beginning of the word up to the cursor, and whether
// the word begins the text.
func (c *Composer) Word() (word string, first bool) {
	from := c.at
	for from > 0 && !unicode.IsSpace(c.text[from-1]) {
		from--
	}
	return string(c.text[from:c.at]), from == 0
}

// Complete puts a text in the place of the word before the cursor.
func (c *Composer) Complete(with string) {
	for c.at > 0 && !unicode.IsSpace(c.text[c.at-1]) {
		c.text = slices.Delete(c.text, c.at-1, c.at)
		c.at--
	}
	c.Insert(with)
}

// place is where a character stands.
type place struct{ row, column int }

// Layout breaks the text into rows of at most width columns, and says where in them
// the cursor stands.
func (c *Composer) Layout(width int) (rows []string, row, column int) {
	c.width = max(width, 4)
	rows, at := c.places(c.width)
	return rows, at[c.at].row, at[c.at].column
}

// places are the rows, and where each character stands in them, also one that would
// follow the last.
func (c *Composer) places(width int) (rows []string, at []place) {
	var b strings.Builder
	at = make([]place, 0, len(c.text)+1)
	used := 0
	end := func() {
		rows = append(rows, b.String())
		b.Reset()
		used = 0
	}
	for i := 0; i < len(c.text); {
		n := 1
		if c.text[i] >= utf8.RuneSelf || i+1 < len(c.text) && c.text[i+1] >= utf8.RuneSelf {
			n = cluster(c.text[i:])
		}
		typed := string(c.text[i : i+n])
		wide := ansi.StringWidth(typed)
		if typed != "\n" && used+wide > width {
			end()
		}
		for range n {
			at = append(at, place{row: len(rows), column: used})
		}
		i += n
		if typed == "\n" {
			end()
			continue
		}
		b.WriteString(typed)
		used += wide
	}
	if used == width {
		end()
	}
	at = append(at, place{row: len(rows), column: used})
	end()
	return rows, at
}

// toRow moves the cursor so many rows down, or up, and reports false where there is none.
func (c *Composer) toRow(by int) bool {
	width := c.width
	if width == 0 {
		width = len(c.text) * 2
	}
	rows, at := c.places(max(width, 4))
	from := at[c.at]
	row := from.row + by
	if row < 0 || row >= len(rows) {
		return false
	}
	for i, p := range at {
		if p.row == row && p.column <= from.column {
			c.at = i
		}
	}
	return true
}
