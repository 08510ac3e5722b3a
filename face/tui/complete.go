package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan/face/tui/composer"
	"github.com/plan-engine/plan/face/tui/draw"
	"github.com/plan-engine/plan/host"
)

// mostOffers is how many completions are shown.
const mostOffers = 6

// offer finds what the word at the cursor may become.
func (m *model) offer() {
	w := &m.write
	word, first := w.Word()
	w.offers, w.picked = nil, 0
	if word == w.closed && word != "" {
		return
	}
	w.closed = ""
	switch {
	case strings.HasPrefix(word, "@"):
		w.offers = composer.Match(strings.Trim(word[1:], `"`), w.files, mostOffers)
	case word == "/" && first:
		w.offers = commandNames() // in the order of the help
	case strings.HasPrefix(word, "/") && first:
		w.offers = composer.Match(word[1:], commandNames(), mostOffers)
	}
}

// offerKey takes a key while completions are shown, and reports whether it was for
// them.
func (m *model) offerKey(name string) bool {
	w := &m.write
	if len(w.offers) == 0 {
		return false
	}
	switch name {
	case "up":
		w.picked = (w.picked + len(w.offers) - 1) % len(w.offers)
	case "down":
		w.picked = (w.picked + 1) % len(w.offers)
	case "esc":
		w.closed, _ = w.Word()
		w.offers = nil
	case "tab", "enter":
		word, _ := w.Word()
		whole := "/" + w.offers[w.picked]
		if word[0] == '@' {
			whole = host.Mention(w.offers[w.picked])
		}
		if name == "enter" && word == whole {
			w.offers = nil
			return false // it is written in full: send it
		}
		w.Complete(whole + " ")
		w.offers = nil
		if name == "enter" && word[0] == '/' && !takesText(whole) {
			return false
		}
	default:
		return false
	}
	return true
}

// offerRows are the completions around the one that is picked.
func (m *model) offerRows() []string {
	t, w := m.theme, &m.write
	from := max(0, w.picked-mostOffers+1)
	to := min(len(w.offers), from+mostOffers)
	word, _ := w.Word()
	var rows []string
	for i, offer := range w.offers[from:to] {
		line := draw.CutStart(clean(offer), m.width-6)
		if strings.HasPrefix(word, "/") {
			line = draw.Pad("/"+offer, 16) + t.Dim.Render(helpOf(offer))
		}
		lead := "    "
		if from+i == w.picked {
			lead = t.Accent.Render("  ▸ ")
		}
		rows = append(rows, draw.Cut(lead+line, m.width))
	}
	if to < len(w.offers) {
		rows = append(rows, t.Dim.Render("    …"))
	}
	return rows
}

// composerRows is where one writes, with a hint where nothing is written.
func (m *model) composerRows(hint string) ([]string, *tea.Cursor) {
	t, w := m.theme, &m.write
	const most = 8
	text, row, column := w.Layout(m.width - 4)
	from := max(0, min(row-most+1, len(text)-most))
	shown := text[from:min(len(text), from+most)]
	rows := m.offerRows()
	above := len(rows)
	for i, line := range shown {
		lead := "  "
		if i == 0 {
			lead = t.Accent.Render("› ")
		}
		if w.Empty() {
			line = t.Dim.Render(draw.Cut(hint, m.width-3))
		}
		rows = append(rows, lead+line)
	}
	if m.focus == onStory {
		return rows, nil
	}
	return rows, tea.NewCursor(2+column, above+row-from)
}
