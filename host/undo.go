package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/worktree"
)

// step is a change that a command made to a work tree for a run. The trees on
// both sides of it are kept under its name, so that it can be undone.
type step struct {
	n    int
	kind string // apply, commit (an apply that made one) or restore
}

func (s step) label(side string) string { return fmt.Sprintf("undo-%d-%s-%s", s.n, s.kind, side) }

// steps lists what commands changed for a run and what was not undone, oldest
// first.
func steps(refs map[string]string) []step {
	var out []step
	for n := 1; n <= len(refs); n++ {
		for _, kind := range []string{"apply", "commit", "restore"} {
			if s := (step{n, kind}); refs[s.label("after")] != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// keepBothSides keeps the trees on both sides of a change before it is made, and
// names the step.
func keepBothSides(
	ctx context.Context,
	repo *worktree.Repo,
	id plan.RunID,
	kind string,
	undoStep *step,
) func(before, after string) error {
	return func(before, after string) error {
		refs, err := repo.Kept(ctx, id)
		if err != nil {
			return err
		}
		*undoStep = step{n: 1, kind: kind}
		if done := steps(refs); len(done) > 0 {
			undoStep.n = done[len(done)-1].n + 1
			// A command that died before it touched a file has kept them already.
			last := done[len(done)-1]
			if last.kind == kind && refs[last.label("before")] == before && refs[last.label("after")] == after {
				undoStep.n = last.n
			}
		}
		for side, tree := range map[string]string{"before": before, "after": after} {
			if _, err := repo.Keep(ctx, id, undoStep.label(side), tree); err != nil {
				return err
			}
		}
		return nil
	}
}

// dropUnmade drops what was kept of a step that has failed and left all as it was.
func dropUnmade(ctx context.Context, repo *worktree.Repo, id plan.RunID, undoStep step, err error) error {
	if err == nil || undoStep.n == 0 || worktree.Halfway(err) {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	return errors.Join(err, repo.Forget(ctx, id, undoStep.label("before"), undoStep.label("after")))
}

// undoLast takes the last step back. What was committed is taken back by a commit of
// its own, whose id it returns: the history, which others may have, stays.
func undoLast(
	ctx context.Context,
	repo *worktree.Repo,
	id plan.RunID,
	opts worktree.Options,
) (commit string, merge worktree.MergeResult, err error) {
	refs, err := repo.Kept(ctx, id)
	if err != nil {
		return "", merge, err
	}
	done := steps(refs)
	if len(done) == 0 {
		return "", merge, hint.New(
			fmt.Sprintf("nothing that `plan apply` or `plan restore` did for run %s is left to undo", id),
			"`plan restore "+string(id)+" --to start` undoes the run itself.",
		)
	}
	last := done[len(done)-1]
	before, after := refs[last.label("before")], refs[last.label("after")]
	err = worktree.ErrNothing
	if last.kind == "commit" {
		message := fmt.Sprintf("Take back what plan applied\n\nIt was the change of run %s.", id)
		commit, merge, err = repo.MergeCommit(ctx, after, before, message, opts)
	}
	if errors.Is(err, worktree.ErrNothing) { // no commit has it, so it is in the files alone
		merge, err = repo.Restore(ctx, after, before, opts)
	}
	if err != nil || opts.Check {
		return commit, merge, err
	}
	if err = repo.Forget(ctx, id, last.label("after"), last.label("before")); err != nil {
		err = fmt.Errorf("the change is undone (files: %d), but not noted as undone: %w", len(merge.Paths), err)
	}
	return commit, merge, err
}

// wasApplied says whether the change of a run was brought over and not taken back.
func wasApplied(refs map[string]string) bool {
	for _, s := range steps(refs) {
		if s.kind != "restore" {
			return true
		}
	}
	return false
}
