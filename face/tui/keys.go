package tui

import (
	"strings"

	"github.com/plan-engine/plan/face/tui/draw"
	"github.com/plan-engine/plan/face/tui/story"
)

// keyRows say which keys there are, and which commands.
func keyRows(t *draw.Theme, width int) []string {
	var rows []string
	row := func(name, help string) {
		const column = 20
		lead := "  " + t.Accent.Render(draw.Pad(name, column-2))
		for _, line := range t.Wrapped(help, max(width-column, column), story.Output) {
			rows = append(rows, lead+line)
			lead = strings.Repeat(" ", column)
		}
	}
	for _, k := range [][2]string{
		{"enter", "start a run; while one goes on, say what should be heeded"},
		{"tab", "say it for after the work (a follow-up)"},
		{"alt+enter ctrl+j", "another line; a \\ before enter, too"},
		{"↑ ↓", "what was written before; choose a run, batch or job"},
		{"@", "complete a file, whose content goes along"},
		{"/", "complete a command"},
		{"pgup pgdn wheel", "move through the story; ctrl+end goes to its end"},
		{"esc", "browse the story: ↑ ↓ choose, enter folds, o opens all of it, O unfolds all, g G go to its ends, " +
			"d diff, p plan, c checks, $ cost, q leave the run, esc or / write again"},
		{"ctrl+c", "park the run; once more, half a second later: end plan at once. Where none is parked: leave plan"},
		{"ctrl+d", "leave the run, which goes on; on the first screen: leave plan"},
		{"ctrl+z", "suspend"},
	} {
		row(k[0], k[1])
	}
	rows = append(rows, "")
	for _, c := range commands() {
		row("/"+c.name, c.help)
	}
	return rows
}
