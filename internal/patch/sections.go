package patch

import "strings"

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
func (p *parser) sections() ([]Change, error) {
	var changes []Change
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
		c, err := p.readSection(line)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// readSection reads what a section says about its file.
func (p *parser) readSection(line string) (Change, error) {
	p.crlf = strings.HasSuffix(p.lines[p.i], "\r")
	head, name, _ := strings.Cut(line, ": ")
	c := Change{Path: strings.TrimSpace(name)}
	c.To = c.Path
	p.i++
	switch head + ": " {
	case sectionDelete:
		c.Op = Delete
		return c, nil
	case sectionAdd:
		c.Op = Add
		h, err := p.added()
		c.Hunks = []Hunk{h}
		return c, err
	}
	c.Op = Update
	if to, ok := strings.CutPrefix(p.line(0), sectionMove); ok {
		c.To = strings.TrimSpace(to)
		p.i++
	}
	if p.namesFile() {
		p.i += 2 // the other form's way to name the same file
	}
	hunks, err := p.hunks()
	c.Hunks = hunks
	if err == nil && len(hunks) == 0 && c.To == c.Path {
		err = p.errorf("*** Update File: %s has no hunk; begin each with @@", c.Path)
	}
	return c, err
}

// added reads the lines of a new file.
func (p *parser) added() (Hunk, error) {
	h := Hunk{
		At:  -1,
		Old: -1,
		New: -1,
	}
	for ; !p.done() && !strings.HasPrefix(p.line(0), "*** ") && !isFence(p.line(0)); p.i++ {
		line := p.line(0)
		switch {
		case strings.HasPrefix(line, "+"):
			h.Lines = append(h.Lines, p.hunkLine('+', 1))
		case strings.HasPrefix(line, `\ `):
			h.NewRagged = true
		case strings.TrimSpace(line) == "":
			h.Lines = append(h.Lines, Line{})
		default:
			return h, p.errorf("every line of a new file begins with +, but this one is %q", brief(line))
		}
	}
	h.trim()
	for i := range h.Lines {
		h.Lines[i].Kind = '+' // an empty line between others had lost its +
	}
	return h, nil
}
