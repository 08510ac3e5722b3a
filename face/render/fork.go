package render

import (
	"io"

	"github.com/plan-engine/plan/host"
)

// Forked writes where a new run begins, and how to go on with it.
func Forked(w io.Writer, f host.Forked) error {
	return writef(
		w,
		"%s: forked from %s after event %d (%s), with the tree as of %q\n"+
			"  work tree  %s\n  branch     %s\nGo on with: plan resume %s\n",
		f.ID,
		f.From.Run,
		f.From.Seq,
		f.State,
		f.Tree,
		SafeLine(f.Worktree),
		f.Branch,
		f.ID,
	)
}
