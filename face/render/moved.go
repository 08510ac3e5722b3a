package render

import (
	"io"

	"github.com/plan-engine/plan/host"
)

// WriteMoved tells people what was done to a work tree.
func WriteMoved(to io.Writer, m host.ApplyResult) {
	words := map[string]string{
		host.ResultApplied:   "applied to",
		host.ResultRestored:  "restored in",
		host.ResultUndone:    "undone in",
		host.ResultCommitted: "committed in",
	}
	what := words[m.Result]
	if m.Check && what != "" {
		what = "would be " + what
	}
	switch {
	case m.Result == host.ResultNothing:
		tellf(to, "%s: there is nothing to do, %s has it already\n", m.ID, SafeLine(m.Repo))
	case what != "":
		tellf(to, "%s: %s %s %s\n", m.ID, Count(len(m.Files), "file"), what, SafeLine(m.Repo))
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
