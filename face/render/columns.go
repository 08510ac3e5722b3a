package render

import (
	"slices"
	"strings"
)

// columnGap stands between the columns of a table.
const columnGap = "  "

// Columns lays rows of cells under each other, each as one line. The columns
// whose indexes are named are set to the right. A row may have fewer cells than
// others. Cells are made safe for a terminal.
func (l Look) Columns(rows [][]string, right ...int) []string {
	var widths []int
	cells := make([][]string, len(rows))
	for i, row := range rows {
		for at, cell := range row {
			cell = l.Safe(cell)
			cells[i] = append(cells[i], cell)
			if at == len(widths) {
				widths = append(widths, 0)
			}
			widths[at] = max(widths[at], cellWidth(cell))
		}
	}
	lines := make([]string, 0, len(rows))
	for _, row := range cells {
		var b strings.Builder
		for at, cell := range row {
			pad := strings.Repeat(" ", widths[at]-cellWidth(cell))
			if slices.Contains(right, at) {
				b.WriteString(pad + cell)
			} else {
				b.WriteString(cell + pad)
			}
			b.WriteString(columnGap)
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}
