package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// writeTable writes rows of cells under each other. The first row is the head.
func writeTable(w io.Writer, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, len(columnGap), ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = SafeLine(cell)
		}
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// tellf is writef where what cannot be written is found out later.
func tellf(w io.Writer, format string, args ...any) { _ = writef(w, format, args...) }

// writef writes text for people, in which nothing acts on a terminal whatever the
// arguments hold.
func writef(w io.Writer, format string, args ...any) error {
	if _, err := io.WriteString(w, SafeText(fmt.Sprintf(format, args...))); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
