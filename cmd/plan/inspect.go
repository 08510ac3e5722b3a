package main

import (
	"context"
	"maps"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/review"
	"github.com/plan-engine/plan/worktree"
)

// inspector notices what a reviewer could overlook: in the patch, in the two
// trees, in what the checks reported, and in what git ignores.
type inspector struct{ repo *worktree.Repo }

// inspect implements engine.Config.Inspect.
func (i inspector) inspect(ctx context.Context, in plan.Inspection) ([]plan.Finding, error) {
	w := review.Work{
		Patch:    in.Patch,
		Closing:  in.Closing,
		Plan:     in.Plan,
		Baseline: in.Baseline,
		After:    in.After,
	}
	var err error
	if w.ChangedTools, err = i.tools(ctx, in); err != nil {
		return nil, err
	}
	if in.Trees.Start == in.Trees.Work {
		return review.Inspect(w), nil
	}
	start, err := i.repo.FilesOf(ctx, in.Trees.Start)
	if err != nil {
		return nil, err
	}
	work, err := i.repo.FilesOf(ctx, in.Trees.Work)
	if err != nil {
		return nil, err
	}
	changed, err := checks.Compare(ctx, start, work, in.Checks)
	if err != nil {
		return nil, err
	}
	w.ChangedJudges, w.LostTests, w.Mains = changed.Judges, changed.Lost, changed.Mains
	return review.Inspect(w), nil
}

// tools are the top folders whose ignored files look otherwise than before the
// first Implement, with the files in them that were written to since.
func (i inspector) tools(ctx context.Context, in plan.Inspection) (map[string][]string, error) {
	if in.ToolsBefore == nil || in.ToolsBefore[""] == in.ToolsAfter[""] {
		return nil, nil
	}
	newer, err := i.repo.ToolsSince(ctx, in.Since)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	tops := maps.Clone(in.ToolsBefore)
	maps.Copy(tops, in.ToolsAfter)
	for top := range tops {
		if top != "" && in.ToolsBefore[top] != in.ToolsAfter[top] {
			out[top] = newer[top]
		}
	}
	return out, nil
}
