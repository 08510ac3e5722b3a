package tui

import (
	"github.com/plan-engine/plan/face/tui/draw"
)

// keysPage says which keys there are, and which commands.
func (m *model) keysPage() []string {
	t := m.theme
	rows := []string{t.Bold.Render("Keys") + t.Dim.Render("  (any key goes back)"), ""}
	for _, k := range [][2]string{
		{"enter", "start a run; while one goes on, say what should be heeded"},
		{"tab", "say it for after the work (a follow-up)"},
		{"alt+enter ctrl+j", "another line"},
		{"↑ ↓", "what was written before; choose a run, batch or job"},
		{"@ /", "complete a file, whose content goes along; a command"},
		{"pgup pgdn wheel", "move through the story"},
		{"esc", "browse the story: ↑ ↓ choose, enter folds, o opens all of it, O unfolds all,"},
		{"", "g G go to its ends, d diff, p plan, c checks, $ cost, q leave the run, esc write"},
		{"ctrl+c", "park the run; once more, half a second later: end plan at once"},
		{"ctrl+d", "leave the run, which goes on; on the first screen: leave plan"},
		{"ctrl+z", "suspend"},
	} {
		rows = append(rows, "  "+t.Accent.Render(draw.Pad(k[0], 18))+k[1])
	}
	rows = append(rows, "", t.Bold.Render("Commands"), "")
	for _, c := range commands() {
		rows = append(rows, "  "+t.Accent.Render(draw.Pad("/"+c.name, 18))+c.help)
	}
	return rows
}
