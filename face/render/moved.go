package render

import (
	"io"

	"github.com/plan-engine/plan/host"
)

// WriteMoved tells people what was done to a work tree.
func WriteMoved(to io.Writer, m host.ApplyResult) {
	switch words := SafeLine(m.Words()); {
	case m.Result == host.ResultNothing:
		tellf(to, "%s: %s\n", m.ID, words)
	case words != "":
		tellf(to, "%s: %s %s\n", m.ID, Count(len(m.Files), "file"), words)
		for _, path := range m.Files {
			tellf(to, "  %s\n", SafeLine(path))
		}
	}
	if m.Commit != "" && m.Result != host.ResultNothing {
		tellf(to, "commit %s\n", m.Commit)
	}
	if m.Undo != "" {
		tellf(to, "The tree as it was is kept as %s; `plan restore %s --undo` goes back to it.\n", m.Undo, m.ID)
	}
}
