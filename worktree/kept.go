package worktree

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/internal/failpoint"
	"github.com/plan-engine/plan/worktree/git"
)

// Keep keeps a tree under a private ref of a run, like a snapshot.
func (r *Repo) Keep(ctx context.Context, run plan.RunID, label, tree string) (plan.Snapshot, error) {
	snap := plan.Snapshot{
		Label: label,
		Tree:  tree,
		Ref:   refOf(run, label),
	}
	if err := r.keep(ctx, run, snap, "HEAD"); err != nil {
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
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		ref, tree, _ := strings.Cut(strings.TrimSpace(line), " ")
		refs[strings.TrimPrefix(ref, prefix)] = tree
	}
	return refs, nil
}

// AllKept returns the labels of the trees that are kept for each run.
func (r *Repo) AllKept(ctx context.Context) (map[plan.RunID][]string, error) {
	out, err := r.run(ctx, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/plan/")
	if err != nil {
		return nil, fmt.Errorf("list the trees of runs in %q: %w", r.root, err)
	}
	refs := map[plan.RunID][]string{}
	for line := range strings.Lines(out) {
		if run, label, ok := strings.Cut(strings.TrimSpace(line), "/"); ok {
			refs[plan.RunID(run)] = append(refs[plan.RunID(run)], label)
		}
	}
	return refs, nil
}

// Forget drops trees that were kept for a run, all or none. What they kept goes
// when git next collects garbage.
func (r *Repo) Forget(ctx context.Context, run plan.RunID, labels ...string) error {
	return r.ForgetAll(ctx, map[plan.RunID][]string{run: labels})
}

// ForgetAll is [Repo.Forget] of many runs, all or none.
func (r *Repo) ForgetAll(ctx context.Context, runs map[plan.RunID][]string) error {
	var commands strings.Builder
	for run, labels := range runs {
		for _, label := range labels {
			fmt.Fprintf(&commands, "delete %s\n", refOf(run, label))
		}
	}
	if commands.Len() == 0 {
		return nil
	}
	failpoint.Hit("before snapshots go")
	defer failpoint.Hit("after snapshots go")
	err := r.onRefs(ctx, git.Call{
		Dir:   r.root,
		Args:  []string{"update-ref", "--stdin"},
		Stdin: commands.String(),
	}, "")
	if err != nil {
		return fmt.Errorf("forget trees of %d runs in %q: %w", len(runs), r.root, refused(err))
	}
	return nil
}

// updateRef has git update a ref, and makes its name outlast a loss of power: git
// syncs what is in the file before it renames it, but not the directory. The branch is
// one that is plan's to move, "" for none; see [Repo.onRefs].
func (r *Repo) updateRef(ctx context.Context, ref, branch string, args ...string) error {
	call := git.Call{
		Dir:  r.root,
		Args: append([]string{"update-ref"}, args...),
	}
	if err := r.onRefs(ctx, call, branch); err != nil {
		return err
	}
	if exists(r.common, "reftable") {
		return durable.SyncDir(filepath.Join(r.common, "reftable"))
	}
	if ref == "HEAD" {
		return durable.SyncDir(r.gitDir)
	}
	for dir := filepath.Dir(filepath.FromSlash(ref)); dir != "."; dir = filepath.Dir(dir) {
		if err := durable.SyncDir(filepath.Join(r.common, dir)); err != nil {
			return err
		}
	}
	return nil
}

func refOf(run plan.RunID, label string) string { return "refs/plan/" + string(run) + "/" + label }
