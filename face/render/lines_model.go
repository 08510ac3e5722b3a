package render

import (
	"fmt"

	"github.com/plan-engine/plan"
)

// windowLearnt tells why history is made shorter, where a refusal of the server
// is the reason.
func (n *narrator) windowLearnt(b plan.CompactionStart) []string {
	words := learntWords(b)
	if words == "" {
		return nil
	}
	return n.labelled(n.note, InkYellow, "context", words)
}

// adjusted is one line, and the server's own words where all is to be told. That
// a server reads less than it is sent needs something done about it: it is never
// cut.
func (n *narrator) adjusted(b plan.Adjusted) []string {
	if b.Part == plan.PartContext {
		return n.labelled(n.halt, InkYellow, "context", b.String())
	}
	lines := n.oneLine(n.note, InkDim, "note", b.String())
	if n.opts.Verbose && b.Why != "" {
		lines = append(
			lines,
			n.hang(n.Columns(), []Span{{Text: fmt.Sprintf("%*s", restColumn, "")}}, InkDim, b.Why)...)
	}
	return lines
}

// oneLine is a labelled line that is cut rather than wrapped.
func (n *narrator) oneLine(glyph string, k Ink, label, text string) []string {
	head := []Span{{Text: "  "}, {Ink: k, Text: glyph}, {Text: " " + labelPad(label) + " "}}
	return []string{n.fill(n.Columns(), head, Span{Text: n.firstLine(text)}, nil)}
}

// learntWords say why history is made shorter, where a refusal of the server is
// the reason; "" where the window was known before.
func learntWords(b plan.CompactionStart) string {
	size, window := Tokens(b.Tokens), Tokens(b.Window)
	switch b.Learnt {
	case "":
		return ""
	case plan.WindowSaid:
		return fmt.Sprintf("the server takes %s tokens, as it said; about %s are made shorter", window, size)
	}
	return fmt.Sprintf(
		"the server found the request too long and named no window, so %s tokens are taken for it; about %s are "+
			"made shorter",
		window,
		size,
	)
}
