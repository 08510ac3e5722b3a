package render

import (
	"io"

	"github.com/plan-engine/plan/host"
)

// WorkTrees writes a table of the work trees of runs, and which of them can go or
// went.
func WorkTrees(w io.Writer, trees []host.OwnedTree) error {
	if len(trees) == 0 {
		return writef(w, "No run has a work tree. `plan run --worktree` gives it one.\n")
	}
	rows := [][]string{{"RUN", "STATE", "TREE", "WHY"}}
	for _, t := range trees {
		word := "keep"
		switch {
		case t.Removed:
			word = "removed"
		case t.Safe:
			word = "can go"
		}
		rows = append(rows, []string{SafeLine(string(t.ID)), string(t.State), word, SafeLine(t.Why)})
	}
	return writeTable(w, rows)
}
