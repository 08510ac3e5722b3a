package worktree

import (
	"context"
	"fmt"
	"strings"
)

// Standing is how a work tree stands: what is checked out, and what differs
// from it.
type Standing struct {
	Head   string // the commit
	Branch string // "" when HEAD is detached
	// Dirty says that the work tree, as this package counts it, or the index
	// differs from HEAD.
	Dirty bool
	// Submodules are those with changes inside that are not committed there,
	// as paths.
	Submodules []string
}

// Standing is what Head, Branch, Dirty and DirtySubmodules say, in one call of
// git where there are no submodules.
func (r *Repo) Standing(ctx context.Context) (Standing, error) {
	out, err := r.run(ctx, "status", "--porcelain=v2", "--branch", "--no-ahead-behind", "-z", "--no-renames",
		"--untracked-files=all", "--ignore-submodules=dirty")
	if err != nil {
		return Standing{}, fmt.Errorf("read the status: %w", err)
	}
	var s Standing
	for _, entry := range splitNUL(out) {
		kind, rest, _ := strings.Cut(entry, " ")
		switch kind {
		case "#":
			s.header(rest)
		case "?":
			s.Dirty = s.Dirty || !isNested(rest) || ownGitDir(r.root, rest)
		default: // a change, of a submodule's commit too, or a conflict
			s.Dirty = true
		}
	}
	if exists(r.root, ".gitmodules") {
		if s.Submodules, err = r.DirtySubmodules(ctx); err != nil {
			return s, err
		}
	}
	if s.Branch == detached { // or a branch of that name
		s.Branch, err = r.Branch(ctx)
	}
	return s, err
}

const detached = "(detached)"

func (s *Standing) header(text string) {
	name, value, _ := strings.Cut(text, " ")
	switch name {
	case "branch.oid":
		s.Head = value
	case "branch.head":
		s.Branch = value
	}
}
