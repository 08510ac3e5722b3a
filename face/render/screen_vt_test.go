package render

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// terminal understands as much of a terminal as a screen viewer may use, and
// fails the test on everything else. Its rows grow for ever, so that they are
// the scroll-back and the screen in one.
type terminal struct {
	t *testing.T

	mu       sync.Mutex
	columns  int
	rows     [][]string // one string per column; "" behind a wide character
	row, col int
	nowrap   bool
	wrote    int // calls of Write
	overflow bool
}

func newTerminal(t *testing.T, columns int) *terminal {
	return &terminal{t: t, columns: columns, rows: make([][]string, 1)}
}

func (v *terminal) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wrote++
	for s := string(p); s != ""; {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == '\r':
			v.col = 0
		case r == '\n':
			v.row, v.col = v.row+1, 0
			if v.row == len(v.rows) {
				v.rows = append(v.rows, nil)
			}
		case r == 0x1b:
			size = v.sequence(s)
		case r < 0x20 || r >= 0x7f && r <= 0x9f || r == utf8.RuneError && size == 1:
			v.t.Errorf("control character %q reached the terminal", r)
		default:
			v.put(string(r), cellWidth(string(r)))
		}
		s = s[size:]
	}
	return len(p), nil
}

// sequence obeys the CSI sequence that s starts with and returns its length.
func (v *terminal) sequence(s string) int {
	end := strings.IndexAny(s, "AKJmhl")
	if !strings.HasPrefix(s, "\x1b[") || end < 0 {
		v.t.Fatalf("not a sequence that a screen may use: %.20q", s)
	}
	switch arg := s[2:end]; {
	case s[end] == 'm':
	case s[end] == 'A':
		n, err := strconv.Atoi(arg)
		if err != nil || v.row < n {
			v.t.Fatalf("cursor up by %q from row %d", arg, v.row)
		}
		v.row -= n
	case s[end] == 'K' && arg == "":
		v.cutRow()
	case s[end] == 'J' && arg == "":
		v.cutRow()
		v.rows = v.rows[:v.row+1]
	case arg == "?7":
		v.nowrap = s[end] == 'l'
	default:
		v.t.Fatalf("not a sequence that a screen may use: %q", s[:end+1])
	}
	return end + 1
}

func (v *terminal) cutRow() { v.rows[v.row] = v.rows[v.row][:min(v.col, len(v.rows[v.row]))] }

func (v *terminal) put(char string, width int) {
	if v.col+width > v.columns {
		v.overflow = true
		if v.nowrap {
			return
		}
		v.row, v.col = v.row+1, 0
		if v.row == len(v.rows) {
			v.rows = append(v.rows, nil)
		}
	}
	row := v.rows[v.row]
	if width == 0 { // joins the character before it
		if v.col > 0 && v.col <= len(row) {
			row[v.col-1] += char
		}
		return
	}
	for len(row) < v.col+width {
		row = append(row, " ")
	}
	row[v.col] = char
	for i := 1; i < width; i++ {
		row[v.col+i] = ""
	}
	v.rows[v.row], v.col = row, v.col+width
}

// resize breaks rows that are too long, as most terminals do.
func (v *terminal) resize(columns int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.columns = columns
	var rows [][]string
	for i, row := range v.rows {
		cursor := i == v.row
		for len(row) > columns {
			rows, row = append(rows, row[:columns:columns]), row[columns:]
			if cursor {
				v.col = max(v.col-columns, 0)
			}
		}
		if cursor {
			v.row = len(rows)
		}
		rows = append(rows, row)
	}
	v.rows = rows
}

func (v *terminal) width() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.columns
}

// Text is what can be read, without blanks at the end of rows.
func (v *terminal) text() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	lines := make([]string, 0, len(v.rows))
	for _, row := range v.rows {
		lines = append(lines, strings.TrimRight(strings.Join(row, ""), " "))
	}
	return strings.Join(lines, "\n")
}

// bottom is the last n rows.
func (v *terminal) bottom(n int) string {
	lines := strings.Split(v.text(), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
