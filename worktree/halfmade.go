package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan/worktree/git"
)

// onWhole has git do in a clone of this home what it refuses for as long as its list has a
// work tree that another git was killed at while it made it: it takes in no objects then.
func (r *Repo) onWhole(ctx context.Context, c git.Call) error {
	_, err := r.git.Run(ctx, c)
	if err != nil && r.forgetHalfMade(ctx) {
		_, err = r.git.Run(ctx, c)
	}
	return err
}

// forgetHalfMade takes from git's list of work trees those whose HEAD names nothing yet, and
// reports whether there were any. There are no files in such a tree. One that is being made
// right now names something soon.
func (r *Repo) forgetHalfMade(ctx context.Context) (some bool) {
	heads, err := filepath.Glob(filepath.Join(escapeGlob(r.common), "worktrees", "*", "HEAD"))
	if err != nil {
		return false
	}
	for _, head := range heads {
		text, err := os.ReadFile(head)
		if err != nil || strings.Trim(string(text), "0\n") != "" {
			continue
		}
		some = true
		if abandoned(ctx, head) {
			_ = os.RemoveAll(filepath.Dir(head)) // what is left is refused again, and found again
		}
	}
	return some
}
