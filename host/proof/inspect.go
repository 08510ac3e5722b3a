package proof

import (
	"context"
	"maps"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/checks"
	"github.com/plan-engine/plan/review"
)

// Inspect implements engine.Config.Inspect. It notices what a reviewer could
// overlook: in the patch, in the two trees, in what the checks reported, and in
// what git ignores.
func (p *Proof) Inspect(ctx context.Context, in plan.Inspection) ([]plan.Finding, error) {
	w := review.Work{
		Patch:    in.Patch,
		Closing:  in.Closing,
		Plan:     in.Plan,
		Baseline: in.Baseline,
		After:    in.After,
	}
	var err error
	if w.ChangedTools, err = p.changedTools(ctx, in); err != nil {
		return nil, err
	}
	if in.Trees.Start == in.Trees.Work {
		return review.Inspect(w), nil
	}
	start, err := p.Tree.repo.FilesOf(ctx, in.Trees.Start)
	if err != nil {
		return nil, err
	}
	work, err := p.Tree.repo.FilesOf(ctx, in.Trees.Work)
	if err != nil {
		return nil, err
	}
	compared, err := checks.Compare(ctx, start, work, in.Checks)
	if err != nil {
		return nil, err
	}
	w.ChangedJudges = compared.Judges
	w.LostTests = compared.Lost
	w.Mains = compared.Mains
	return review.Inspect(w), nil
}

// changedTools are the top folders whose ignored files look otherwise than before
// the first Implement, with the files in them that were written to since.
func (p *Proof) changedTools(ctx context.Context, in plan.Inspection) (map[string][]string, error) {
	if in.ToolsBefore == nil || in.ToolsBefore[""] == in.ToolsAfter[""] {
		return nil, nil
	}
	newer, err := p.Tree.repo.ToolsSince(ctx, in.Since)
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
