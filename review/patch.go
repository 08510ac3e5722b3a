package review

import (
	"fmt"
	"strings"

	"github.com/plan-engine/plan/internal/patch"
)

// fileChange is what a patch does to one file.
type fileChange struct {
	path    string // as it is now; of a deleted file, as it was
	old     string // as it was; "" for a new file
	created bool
	deleted bool
	added   []string
	removed []string
	// addedAt and removedAt number the blocks that these lines stand in: what is between
	// two lines that stay.
	addedAt   []int
	removedAt []int
	// addedDemands and removedDemands say which of these lines demand something, as an
	// assertion does.
	addedDemands   []bool
	removedDemands []bool
}

// readPatch is what git printed of a change, file by file.
func readPatch(diff string) []fileChange {
	var out []fileChange
	for _, c := range patch.Diff(diff) {
		f := fileChange{
			path:    c.To,
			old:     c.Path,
			created: c.Op == patch.Add,
			deleted: c.Op == patch.Delete,
		}
		if f.created {
			f.old = ""
		}
		block := 0
		for _, h := range c.Hunks {
			block++
			for i, l := range h.Lines {
				switch l.Kind {
				case '+':
					f.added, f.addedAt = append(f.added, l.Text), append(f.addedAt, block)
					f.addedDemands = append(f.addedDemands, demands(h.Lines, i))
				case '-':
					f.removed, f.removedAt = append(f.removed, l.Text), append(f.removedAt, block)
					f.removedDemands = append(f.removedDemands, demands(h.Lines, i))
				default:
					block++
				}
			}
		}
		out = append(out, f)
	}
	return out
}

// Created lists the files that a patch adds, also by giving them another name.
func Created(diff string) []string {
	var out []string
	for _, f := range readPatch(diff) {
		if f.created || !f.deleted && f.old != f.path {
			out = append(out, f.path)
		}
	}
	return out
}

// Summary tells what a patch does in a line for each file.
func Summary(diff string) string {
	var b strings.Builder
	for _, f := range readPatch(diff) {
		verb := "changed"
		switch {
		case f.created:
			verb = "created"
		case f.deleted:
			verb = "deleted"
		case f.old != f.path:
			verb = "renamed from " + f.old
		}
		fmt.Fprintf(&b, "%s: %s, +%d -%d\n", f.path, verb, len(f.added), len(f.removed))
	}
	return b.String()
}

// Hide leaves out of a patch what it does to the files that are hidden: that it does
// something to them stays.
func Hide(diff string, hidden func(path string) bool) string {
	var b strings.Builder
	for _, text := range patch.Files(diff) {
		changes := readPatch(text)
		if len(changes) != 1 || !hidden(changes[0].path) && (changes[0].old == "" || !hidden(changes[0].old)) {
			b.WriteString(text)
			continue
		}
		head, _, _ := strings.Cut(text, "\n@@ ")
		head, _, _ = strings.Cut(head, "\nGIT binary patch")
		fmt.Fprintf(&b, "%s\n[its text is not shown: rules deny that it is read. +%d -%d lines]\n",
			strings.TrimSuffix(head, "\n"), len(changes[0].added), len(changes[0].removed))
	}
	return b.String()
}
