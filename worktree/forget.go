package worktree

import (
	"context"
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
)

// Kept lists the refs under refs/plan/RUN/, which keep what the run needs.
func (r *Repo) Kept(ctx context.Context, run plan.RunID) ([]string, error) {
	out, err := r.run(ctx, "for-each-ref", "--format=%(refname)", "refs/plan/"+string(run)+"/")
	if err != nil {
		return nil, fmt.Errorf("list the snapshots of run %s in %q: %w", run, r.root, err)
	}
	return strings.Fields(out), nil
}

// Forget deletes refs, all or none. What they kept goes when git next collects
// garbage.
func (r *Repo) Forget(ctx context.Context, refs []string) error {
	if len(refs) == 0 {
		return nil
	}
	_, err := r.git.run(ctx, call{
		dir: r.root, args: []string{"update-ref", "--stdin"},
		stdin: "delete " + strings.Join(refs, "\ndelete ") + "\n",
	})
	if err != nil {
		return fmt.Errorf("let go of %d snapshots in %q: %w", len(refs), r.root, refused(err))
	}
	return nil
}
