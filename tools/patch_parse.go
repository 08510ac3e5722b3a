package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/plan-engine/plan/internal/lazy"
)

// The two ways to write a patch end in the same list of changes, one a file.

// op is what a patch does to a file.
type op string

const (
	opUpdate op = "update"
	opAdd    op = "add"
	opDelete op = "delete"
	opCopy   op = "copy"
)

// change is what a patch says about one file.
type change struct {
	op    op
	path  string      // the file as it is named now
	to    string      // its name afterwards; path unless it is moved or copied
	mode  fs.FileMode // 0: the patch does not say
	hunks []hunk
	// loose says that path and to differ without a word about moving: one of
	// them may be the name of a backup.
	loose bool
}

// hunk is one place of a change.
type hunk struct {
	anchors  []string // lines that come before it, outermost first
	at       int      // the line it says that it begins at; -1 if it says none
	old, new int      // how many lines it says it has; -1 if it does not say
	lines    []hunkLine
	end      bool // it says that it reaches the end of the file
	// What it says about the newline at the end of the file.
	oldRagged, newRagged bool
}

// hunkLine is a line of a hunk: kept ' ', deleted '-' or added '+'.
type hunkLine struct {
	kind byte
	text string // without its ending
	cr   bool   // written with a CR at its end
}

// side returns the lines before ('-') or after ('+') the change.
func (h *hunk) side(kind byte) []string {
	var out []string
	for _, l := range h.lines {
		if l.kind == ' ' || l.kind == kind {
			out = append(out, l.text)
		}
	}
	return out
}

// counted reports whether the hunk has as many lines as it says. One that says
// nothing is counted.
func (h *hunk) counted() bool {
	return h.old < 0 || len(h.side('-')) == h.old && len(h.side('+')) == h.new
}

// patchParser reads a patch line by line.
type patchParser struct {
	lines []string
	i     int
	crlf  bool // the patch itself has CRLF, so a CR says nothing about the file
	// section says that files come in *** sections, whose hunks need no header.
	section bool
}

// parsePatch reads either form.
func parsePatch(text string) ([]change, error) {
	p := &patchParser{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	p.section = slices.ContainsFunc(p.lines, isSection)
	parse := p.unified
	if p.section {
		parse = p.sections
	}
	changes, err := parse()
	if err != nil {
		return nil, err
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
func (p *patchParser) line(n int) string {
	if p.i+n >= len(p.lines) {
		return ""
	}
	return strings.TrimSuffix(p.lines[p.i+n], "\r")
}

func (p *patchParser) done() bool { return p.i >= len(p.lines) }

func (p *patchParser) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d of the patch: "+format, append([]any{p.i + 1}, args...)...)
}

const (
	sectionUpdate = "*** Update File: "
	sectionAdd    = "*** Add File: "
	sectionDelete = "*** Delete File: "
	sectionMove   = "*** Move to: "
	sectionEnd    = "*** End of File"
)

func isSection(line string) bool {
	return strings.HasPrefix(line, sectionUpdate) || strings.HasPrefix(line, sectionAdd) ||
		strings.HasPrefix(line, sectionDelete)
}

// sections reads the form with a section for each file.
func (p *patchParser) sections() ([]change, error) {
	var changes []change
	for !p.done() {
		line := p.line(0)
		if strings.HasPrefix(line, "*** End Patch") {
			break
		}
		if !isSection(line) {
			if len(changes) > 0 && strings.TrimSpace(line) != "" && !isFence(line) {
				return nil, p.errorf("%q is neither a hunk line nor a *** section", brief(line))
			}
			p.i++ // *** Begin Patch, and what stands before it
			continue
		}
		c, err := p.one(line)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// one reads what a section says about its file.
func (p *patchParser) one(line string) (change, error) {
	p.crlf = strings.HasSuffix(p.lines[p.i], "\r")
	head, name, _ := strings.Cut(line, ": ")
	c := change{path: strings.TrimSpace(name)}
	c.to = c.path
	p.i++
	switch head + ": " {
	case sectionDelete:
		c.op = opDelete
		return c, nil
	case sectionAdd:
		c.op = opAdd
		h, err := p.added()
		c.hunks = []hunk{h}
		return c, err
	}
	c.op = opUpdate
	if to, ok := strings.CutPrefix(p.line(0), sectionMove); ok {
		c.to = strings.TrimSpace(to)
		p.i++
	}
	if p.namesFile() {
		p.i += 2 // the other form's way to name the same file
	}
	hunks, err := p.hunks()
	c.hunks = hunks
	if err == nil && len(hunks) == 0 && c.to == c.path {
		err = p.errorf("*** Update File: %s has no hunk; begin each with @@", c.path)
	}
	return c, err
}

// added reads the lines of a new file.
func (p *patchParser) added() (hunk, error) {
	h := hunk{
		at:  -1,
		old: -1,
		new: -1,
	}
	for ; !p.done() && !strings.HasPrefix(p.line(0), "*** ") && !isFence(p.line(0)); p.i++ {
		line := p.line(0)
		switch {
		case strings.HasPrefix(line, "+"):
			h.lines = append(h.lines, p.hunkLine('+', 1))
		case strings.HasPrefix(line, `\ `):
			h.newRagged = true
		case strings.TrimSpace(line) == "":
			h.lines = append(h.lines, hunkLine{kind: 0})
		default:
			return h, p.errorf("every line of a new file begins with +, but this one is %q", brief(line))
		}
	}
	h.trim()
	for i := range h.lines {
		h.lines[i].kind = '+' // an empty line between others had lost its +
	}
	return h, nil
}

// hunkLine takes the current line as one of a hunk, without its first n bytes.
func (p *patchParser) hunkLine(kind byte, n int) hunkLine {
	text, cr := strings.CutSuffix(p.lines[p.i][n:], "\r")
	return hunkLine{
		kind: kind,
		text: text,
		cr:   cr && !p.crlf,
	}
}

// hunks reads the hunks of one file. In a section the first may have no header.
func (p *patchParser) hunks() ([]hunk, error) {
	var hunks []hunk
	var anchors []string
	for !p.done() {
		h := hunk{
			at:  -1,
			old: -1,
			new: -1,
		}
		if strings.HasPrefix(p.line(0), "@@") {
			if err := p.header(&h); err != nil {
				return nil, err
			}
			p.i++
		} else if !p.section || len(hunks) > 0 || p.ends(&h) {
			return hunks, nil
		}
		h.anchors = append(anchors, h.anchors...)
		anchors = nil
		if err := p.body(&h); err != nil {
			return nil, err
		}
		switch {
		case len(h.lines) > 0:
			hunks = append(hunks, h)
		case len(h.anchors) > 0 && strings.HasPrefix(p.line(0), "@@"):
			anchors = h.anchors // @@ class, @@ method: one place, found in steps
		case p.section && len(h.anchors) == 0: // a bare @@ or blank lines
		default:
			return nil, p.errorf("the hunk before this line is empty")
		}
	}
	return hunks, nil
}

// ranges is the header of a hunk with line numbers.
var ranges = lazy.Regexp(`^@@+ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@`)

// header reads a line that begins with @@.
func (p *patchParser) header(h *hunk) error {
	line := p.line(0)
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
			h.anchors = []string{anchor}
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
	h.at, h.old, h.new = number(m[1]), number(m[2]), number(m[4])
	return nil
}

// body reads the lines of a hunk.
func (p *patchParser) body(h *hunk) error {
	for ; !p.done() && !p.ends(h); p.i++ {
		line := p.line(0)
		switch {
		case line == "":
			h.lines = append(h.lines, hunkLine{kind: 0}) // an empty line whose blank was lost, or none
		case strings.HasPrefix(line, sectionEnd):
			h.end = true
			p.i++
			h.trim()
			return nil
		case strings.HasPrefix(line, `\`):
			h.ragged()
		case strings.ContainsRune(" +-", rune(line[0])):
			h.lines = append(h.lines, p.hunkLine(line[0], 1))
		case !p.section && h.old >= 0 && h.counted():
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
func (h *hunk) ragged() {
	if len(h.lines) == 0 {
		return
	}
	kind := h.lines[len(h.lines)-1].kind
	h.oldRagged = h.oldRagged || kind != '+'
	h.newRagged = h.newRagged || kind != '-'
}

// trim takes away empty lines at the end that may only separate the hunk from
// what follows, and makes the others lines that stay.
func (h *hunk) trim() {
	for len(h.lines) > 0 && h.lines[len(h.lines)-1].kind == 0 {
		h.lines = h.lines[:len(h.lines)-1]
	}
	for i := range h.lines {
		if h.lines[i].kind == 0 {
			h.lines[i].kind = ' '
		}
	}
}

// ends reports whether the current line is no longer of the hunk.
func (p *patchParser) ends(h *hunk) bool {
	line := p.line(0)
	switch {
	case strings.HasPrefix(line, "@@"), strings.HasPrefix(line, "diff --git "), isFence(line):
		return true
	case strings.HasPrefix(line, "*** "):
		return !strings.HasPrefix(line, sectionEnd)
	case line == "-- ":
		return h.old >= 0 && h.counted() // the signature of a mailed patch
	case !p.section && p.namesFile() && (strings.HasPrefix(p.line(2), "@@") || p.i+2 >= len(p.lines)):
		return !p.isContent(h)
	}
	return false
}

// namesFile reports whether the next two lines name a file.
func (p *patchParser) namesFile() bool {
	return strings.HasPrefix(p.line(0), "--- ") && strings.HasPrefix(p.line(1), "+++ ")
}

// isContent reports whether what looks like the names of a file is a deleted
// and an added line: if that makes the hunk as long as it says.
func (p *patchParser) isContent(h *hunk) bool {
	return h.old >= 0 && len(h.side('-'))+1 == h.old && len(h.side('+'))+1 == h.new
}

// isFence reports whether a line fences a block of code in prose.
func isFence(line string) bool {
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}
