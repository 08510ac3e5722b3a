// Package patch reads patches: unified diffs, as git and people write them, and the
// form with a section for each file that models write.
//
// Parse is for a patch that is to be carried out: what cannot
// be read is an error. Diff is for one that git printed and that is to be looked at:
// every file that it speaks of is there, whatever else cannot be read.
package patch

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// Op is what a patch does to a file.
type Op string

// What a patch may do to a file.
const (
	Update Op = "update"
	Add    Op = "add"
	Delete Op = "delete"
	Copy   Op = "copy"
)

// Change is what a patch says about one file.
type Change struct {
	Op    Op
	Path  string      // the file as it is named now
	To    string      // its name afterwards; Path unless it is moved or copied
	Mode  fs.FileMode // its permissions afterwards; 0: the patch does not say
	Hunks []Hunk
	// Loose says that Path and To differ without a word about moving: one of
	// them may be the name of a backup.
	Loose bool
	// Refused says why the change cannot be made as one of text; "" if it can.
	Refused string
	// Line is where the patch begins to speak of the file, counted from 1.
	Line int
	// Header is what the patch says before its hunks, line by line.
	Header []string
}

// Hunk is one place of a change.
type Hunk struct {
	Anchors  []string // lines that come before it, outermost first
	At       int      // the line it says that it begins at; -1 if it says none
	NewAt    int      // the same after the change
	Old, New int      // how many lines it says it has; -1 if it does not say
	Header   string   // the line that it begins with; "" if it has none
	Lines    []Line
	End      bool // it says that it reaches the end of the file
	// What it says about the newline at the end of the file.
	OldRagged, NewRagged bool
}

// Line is a line of a hunk: kept ' ', deleted '-' or added '+'.
type Line struct {
	Kind byte
	Text string // without its ending
	CR   bool   // written with a CR at its end
}

// Side returns the lines before ('-') or after ('+') the change.
func (h *Hunk) Side(kind byte) []string {
	var out []string
	for _, l := range h.Lines {
		if l.Kind == ' ' || l.Kind == kind {
			out = append(out, l.Text)
		}
	}
	return out
}

// Counted reports whether the hunk has as many lines as it says. One that says
// nothing is counted.
func (h *Hunk) Counted() bool {
	return h.Old < 0 || len(h.Side('-')) == h.Old && len(h.Side('+')) == h.New
}

// parser reads a patch line by line.
type parser struct {
	lines []string
	i     int
	crlf  bool // the patch itself has CRLF, so a CR says nothing about the file
	// section says that files come in *** sections, whose hunks need no header.
	section bool
}

// Parse reads either form of a patch that is to be carried out. The error is for who
// wrote it: it names the line, and says what to write instead.
func Parse(text string) ([]Change, error) {
	p := &parser{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	p.section = slices.ContainsFunc(p.lines, isSection)
	parse := p.unified
	if p.section {
		parse = p.sections
	}
	changes, err := parse()
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		if c.Refused != "" {
			return nil, fmt.Errorf("line %d of the patch: %s", c.Line, c.Refused)
		}
	}
	if len(changes) == 0 {
		return nil, errors.New(
			"there is no change in the patch. Give a unified diff (--- a/FILE, +++ b/FILE, @@ … @@) or *** Begin " +
				"Patch, *** Update File: FILE, @@, …, *** End Patch",
		)
	}
	return changes, nil
}

// line returns the line n ahead without its CR, or "" after the end.
func (p *parser) line(n int) string {
	if p.i+n >= len(p.lines) {
		return ""
	}
	return strings.TrimSuffix(p.lines[p.i+n], "\r")
}

func (p *parser) done() bool { return p.i >= len(p.lines) }

// brief is a line as an error quotes it.
func brief(line string) string {
	const most = 300
	if len(line) > most {
		return strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d of the patch: "+format, append([]any{p.i + 1}, args...)...)
}

// hunkLine takes the current line as one of a hunk, without its first n bytes.
func (p *parser) hunkLine(kind byte, n int) Line {
	text, cr := strings.CutSuffix(p.lines[p.i][n:], "\r")
	return Line{
		Kind: kind,
		Text: text,
		CR:   cr && !p.crlf,
	}
}

// hunks reads the hunks of one file. In a section the first may have no header.
func (p *parser) hunks() ([]Hunk, error) {
	var hunks []Hunk
	var anchors []string
	for !p.done() {
		h := Hunk{
			At:  -1,
			Old: -1,
			New: -1,
		}
		if strings.HasPrefix(p.line(0), "@@") {
			if err := p.header(&h); err != nil {
				return hunks, err
			}
			p.i++
		} else if !p.section || len(hunks) > 0 || p.ends(&h) {
			return hunks, nil
		}
		h.Anchors = append(anchors, h.Anchors...)
		anchors = nil
		if err := p.body(&h); err != nil {
			return append(hunks, h), err
		}
		switch {
		case len(h.Lines) > 0:
			hunks = append(hunks, h)
		case len(h.Anchors) > 0 && strings.HasPrefix(p.line(0), "@@"):
			anchors = h.Anchors // @@ class, @@ method: one place, found in steps
		case p.section && len(h.Anchors) == 0: // a bare @@ or blank lines
		default:
			return hunks, p.errorf("the hunk before this line is empty")
		}
	}
	return hunks, nil
}

// ranges is the header of a hunk with line numbers.
var ranges = lazy.Regexp(`^@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// header reads a line that begins with @@.
func (p *parser) header(h *Hunk) error {
	line := p.line(0)
	h.Header = line
	m := ranges().FindStringSubmatch(line)
	if strings.HasPrefix(line, "@@@") {
		return p.errorf("this is a diff of a merge (%q); give a diff against one parent", brief(line))
	}
	if m == nil {
		anchor := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line[2:]), "@@"))
		if strings.Trim(anchor, "-+,.0123456789… ") == "" {
			return nil // no place, or not one that means anything
		}
		if p.section {
			h.Anchors = []string{anchor}
		}
		return nil
	}
	number := func(s string) int {
		if s == "" {
			return 1
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			return 0 // out of range: no file has such a line
		}
		return n
	}
	h.At, h.Old, h.NewAt, h.New = number(m[1]), number(m[2]), number(m[3]), number(m[4])
	return nil
}

// body reads the lines of a hunk.
func (p *parser) body(h *Hunk) error {
	for ; !p.done() && !p.ends(h); p.i++ {
		line := p.line(0)
		switch {
		case line == "":
			h.Lines = append(h.Lines, Line{}) // an empty line whose blank was lost, or none
		case strings.HasPrefix(line, sectionEnd):
			h.End = true
			p.i++
			h.trim()
			return nil
		case strings.HasPrefix(line, `\`):
			h.ragged()
		case strings.ContainsRune(" +-", rune(line[0])):
			h.Lines = append(h.Lines, p.hunkLine(line[0], 1))
		case !p.section && h.Old >= 0 && h.Counted():
			h.trim()
			return nil // what follows is prose or the next message
		default:
			return p.errorf(
				"%q begins with none of blank, + and -; a line that stays as it is begins with a blank",
				brief(line),
			)
		}
	}
	h.trim()
	return nil
}

// ragged notes that the line before has no newline at its end.
func (h *Hunk) ragged() {
	if len(h.Lines) == 0 {
		return
	}
	kind := h.Lines[len(h.Lines)-1].Kind
	h.OldRagged = h.OldRagged || kind != '+'
	h.NewRagged = h.NewRagged || kind != '-'
}

// trim takes away empty lines at the end that may only separate the hunk from
// what follows, and makes the others lines that stay.
func (h *Hunk) trim() {
	for len(h.Lines) > 0 && h.Lines[len(h.Lines)-1].Kind == 0 {
		h.Lines = h.Lines[:len(h.Lines)-1]
	}
	for i := range h.Lines {
		if h.Lines[i].Kind == 0 {
			h.Lines[i].Kind = ' '
		}
	}
}

// ends reports whether the current line is no longer of the hunk.
func (p *parser) ends(h *Hunk) bool {
	line := p.line(0)
	switch {
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "diff --git "), isFence(line):
		return true
	case strings.HasPrefix(line, "*** "):
		return !strings.HasPrefix(line, sectionEnd)
	case line == "-- ":
		return h.Old >= 0 && h.Counted() // the signature of a mailed patch
	case !p.section && p.namesFile() && (strings.HasPrefix(p.line(2), "@@") || p.i+2 >= len(p.lines)):
		return !p.isContent(h)
	}
	return false
}

// namesFile reports whether the next two lines name a file.
func (p *parser) namesFile() bool {
	return strings.HasPrefix(p.line(0), "--- ") && strings.HasPrefix(p.line(1), "+++ ")
}

// isContent reports whether what looks like the names of a file is a deleted
// and an added line: if that makes the hunk as long as it says.
func (p *parser) isContent(h *Hunk) bool {
	return h.Old >= 0 && len(h.Side('-'))+1 == h.Old && len(h.Side('+'))+1 == h.New
}

// isFence reports whether a line fences a block of code in prose.
func isFence(line string) bool {
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}
