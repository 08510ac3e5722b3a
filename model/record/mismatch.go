package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Why a recording has no answer.
var (
	// ErrEnd says that the recording has nothing left for this phase and
	// attempt.
	ErrEnd = errors.New("the recording ends here")
	// ErrCutOff says that the recording has nothing left but a line that was
	// cut off while it was written.
	ErrCutOff = errors.New("the recording is cut off here")
)

// shownLines bounds the diff in an error's text.
const shownLines = 80

// MismatchError is a request that differs from the recorded one.
type MismatchError struct {
	File           string
	Line           int    // of the recorded call that comes closest
	Phase, Attempt string // as the request's headers say
	// Diff is a unified diff from the recorded request to this one, both as
	// indented JSON with a line for every line of a text, without secrets.
	Diff string
}

// Error says where the requests differ. A long diff is cut.
func (e *MismatchError) Error() string {
	lines := strings.SplitAfter(e.Diff, "\n")
	diff := e.Diff
	if len(lines) > shownLines {
		diff = strings.Join(lines[:shownLines], "") + fmt.Sprintf("… %d more lines\n", len(lines)-shownLines)
	}
	return fmt.Sprintf(
		"replay %s: the request (%s) differs from the one recorded in line %d; undo what changed it, or record "+
			"anew:\n%s",
		e.File,
		place{e.Phase, e.Attempt},
		e.Line,
		diff,
	)
}

// missing says why there is no call for a request. It is called with p.mu held.
func (p *Player) missing(request json.RawMessage) error {
	at, err := placeOf(request)
	if err != nil {
		return fmt.Errorf("replay %s: %w", p.file, err)
	}
	var closest *recorded
	alike, held := -1, 0
	for _, call := range p.calls {
		if call.place != at {
			continue
		}
		held++
		if n := alikeness(call.Request, request); !call.taken && n > alike {
			closest, alike = call, n
		}
	}
	switch {
	case closest != nil:
		return &MismatchError{
			File:    p.file,
			Line:    closest.line,
			Phase:   at.phase,
			Attempt: at.attempt,
			Diff:    diff(closest.Request, request),
		}
	case p.torn > 0:
		return fmt.Errorf(
			"replay %s: a call of %s is not in it, and line %d is not whole, because recording it was "+
				"interrupted: %w; "+
				"resume with recording on, or record anew",
			p.file,
			at,
			p.torn,
			ErrCutOff,
		)
	}
	return fmt.Errorf(
		"replay %s: one more call of %s than the %d in it: %w; record anew, or end sooner",
		p.file,
		at,
		held,
		ErrEnd,
	)
}

// alikeness is how many bytes two requests have in common at their beginning,
// where a conversation says what it is about, and at their end, where it says
// how far it got.
func alikeness(a, b []byte) int {
	n := min(len(a), len(b))
	front, back := 0, 0
	for front < n && a[front] == b[front] {
		front++
	}
	for back < n-front && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	return front + back
}

// diff compares two requests for a person to read.
func diff(recorded, now json.RawMessage) string {
	before, after := readable(recorded), readable(now)
	text, err := udiff.ToUnified("recorded", "now", before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil { // edits that were made from the text fit it
		return "recorded:\n" + before + "now:\n" + after
	}
	return text
}

// readable lays JSON out on many lines, and a text of many lines as a string
// for each of them, one below the other.
func readable(data json.RawMessage) string {
	var indented bytes.Buffer
	if json.Indent(&indented, data, "", "  ") != nil {
		return string(data) + "\n"
	}
	var out strings.Builder
	for line := range strings.Lines(indented.String() + "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		out.Write(eachString([]byte(line), func(literal []byte) []byte {
			return breakLines(literal, "\n"+indent+"  ")
		}))
	}
	return out.String()
}

// breakLines ends a string literal after each \n and begins another.
func breakLines(literal []byte, between string) []byte {
	var out []byte
	for i := 0; i < len(literal); i++ {
		out = append(out, literal[i])
		if literal[i] != '\\' {
			continue
		}
		i++
		out = append(out, literal[i])
		if literal[i] == 'n' && i+2 < len(literal) {
			out = append(out, '"')
			out = append(out, between...)
			out = append(out, '"')
		}
	}
	return out
}
