package worktree

import (
	"context"
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
)

// Keep keeps a tree under a private ref of a run, like a snapshot.
func (r *Repo) Keep(ctx context.Context, run plan.RunID, label, tree string) (plan.Snapshot, error) {
	snap := plan.Snapshot{Label: label, Tree: tree, Ref: refOf(run, label)}
	if err := r.keep(ctx, snap); err != nil {
		return plan.Snapshot{}, fmt.Errorf("keep tree %q of %q: %w", label, r.root, refused(err))
	}
	return snap, nil
}

// Kept returns the trees that are kept for a run, by label.
func (r *Repo) Kept(ctx context.Context, run plan.RunID) (map[string]string, error) {
	prefix := refOf(run, "")
	out, err := r.run(ctx, "for-each-ref", "--format=%(refname) %(tree)", prefix)
	if err != nil {
		return nil, fmt.Errorf("list the trees of run %s in %q: %w", run, r.root, err)
	}
	kept := map[string]string{}
	for line := range strings.Lines(out) {
		ref, tree, _ := strings.Cut(strings.TrimSpace(line), " ")
		kept[strings.TrimPrefix(ref, prefix)] = tree
	}
	return kept, nil
}

// Forget drops a tree that was kept for a run.
func (r *Repo) Forget(ctx context.Context, run plan.RunID, label string) error {
	if _, err := r.run(ctx, "update-ref", "-d", refOf(run, label)); err != nil {
		return fmt.Errorf("forget tree %q of run %s in %q: %w", label, run, r.root, refused(err))
	}
	return nil
}

func refOf(run plan.RunID, label string) string { return "refs/plan/" + string(run) + "/" + label }
