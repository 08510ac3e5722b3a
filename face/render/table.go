package render

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// writeTable writes rows of cells, which are safe for a terminal already, under
// each other. The first row is the head.
func writeTable(w io.Writer, rows [][]string) error {
	tw := tabwriter.NewWriter(w, 0, 0, len(columnGap), ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// writef writes text for people.
func writef(w io.Writer, format string, args ...any) error {
	if _, err := fmt.Fprintf(w, format, args...); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
