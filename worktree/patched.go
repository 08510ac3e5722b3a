package worktree

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan/internal/scratch"
)

// Patched is the tree of a commit with a patch of it, as [Repo.Patch] makes one. Files
// and index stay as they are.
func (r *Repo) Patched(ctx context.Context, commit string, patch []byte) (tree string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("apply a patch to %s in %q: %w", commit, r.root, err)
		}
	}()
	if err := areNames(commit); err != nil {
		return "", err
	}
	room, err := scratch.New(r.scratch(), scratch.Index)
	if err != nil {
		return "", fmt.Errorf("make room for a private index: %w", err)
	}
	defer room.Close() //nolint:errcheck // what is left is swept up
	a := area{dir: r.root, index: filepath.Join(room.Dir, "index")}
	if _, err := r.git.Run(ctx, r.call(a, "", "read-tree", commit)); err != nil {
		return "", err
	}
	if len(patch) > 0 {
		apply := r.call(a, string(patch), "apply", "--cached", "--whitespace=nowarn", "-")
		if _, err := r.git.Run(ctx, apply); err != nil {
			return "", err
		}
	}
	out, err := r.git.Run(ctx, r.call(a, "", "write-tree"))
	return strings.TrimSpace(out), err
}
