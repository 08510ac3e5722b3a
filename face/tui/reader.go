package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan/face/tui/draw"
	"github.com/plan-engine/plan/face/tui/story"
	"github.com/plan-engine/plan/internal/sanitize"
)

// reader shows one text on the whole of the terminal.
type reader struct {
	readMsg
	width int
	rows  []string
	top   int
}

// readMsg is a text that is to be read.
type readMsg struct {
	title string
	text  string
	form  story.Form
	lay   func(t *draw.Theme, width int) []string // in the place of a text
}

func newReader(msg readMsg) *reader {
	msg.text = sanitize.Text(msg.text)
	msg.title = clean(msg.title)
	return &reader{readMsg: msg}
}

// read is a message that shows a text, or says what went wrong.
func read(title, text string, form story.Form, err error) tea.Msg {
	switch {
	case err != nil:
		return doneMsg{err: err}
	case strings.TrimSpace(text) == "":
		return doneMsg{text: title + ": there is nothing."}
	}
	return readMsg{title: title, text: text, form: form}
}

// all are all rows, with the title.
func (r *reader) all(t *draw.Theme, width int) []string {
	r.layOut(t, width)
	return append([]string{"", t.Bold.Render(r.title)}, r.rows...)
}

// layOut makes rows of the text.
func (r *reader) layOut(t *draw.Theme, width int) {
	if r.width == width {
		return
	}
	r.width = width
	switch {
	case r.lay != nil:
		r.rows = r.lay(t, width)
	case r.form == story.Prose:
		r.rows = t.Markdown(r.text, width)
	default:
		r.rows = t.Wrapped(r.text, width, r.form)
	}
}

func (r *reader) view(t *draw.Theme, width, height int) []string {
	r.layOut(t, width)
	room := height - 2
	r.top = max(0, min(r.top, len(r.rows)-room))
	to := min(len(r.rows), r.top+room)
	where := fmt.Sprintf("%d–%d of %d", r.top+1, to, len(r.rows))
	rows := []string{draw.Row(t.Bold.Render(r.title), t.Dim.Render(where), width)}
	rows = append(rows, r.rows[r.top:to]...)
	for len(rows) < height-1 {
		rows = append(rows, "")
	}
	return append(rows, t.Dim.Render("↑↓ pgup pgdn g G move · q closes"))
}

// key moves, and reports whether the reader is to be closed.
func (r *reader) key(name string, height int) bool {
	page := max(1, height-3)
	switch name {
	case "q", "esc", "enter":
		return true
	case "up", "k":
		r.top--
	case "down", "j":
		r.top++
	case "pgup", "b", "ctrl+b":
		r.top -= page
	case "pgdown", "space", " ", "f", "ctrl+f":
		r.top += page
	case "g", "home":
		r.top = 0
	case "G", "end":
		r.top = len(r.rows)
	}
	return false
}
