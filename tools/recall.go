package tools

import (
	"context"
	_ "embed"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

//go:embed recall.md
var recallDoc string

type recallArgs struct {
	Query string `json:"query"`
}

// recallTool searches what earlier runs left.
func recallTool() builtin {
	return builtin{
		info:     loop.Info{Spec: spec("recall", recallDoc), Effect: plan.EffectReplay},
		purpose:  Recall,
		describe: described(func(_ string, a recallArgs) Call { return Call{Title: a.Query} }),
		open:     opens((*Set).runRecall),
	}
}

func (s *Set) runRecall(ctx context.Context, args recallArgs, _ loop.Input) (loop.Result, error) {
	if s.cfg.Recall == nil {
		return loop.Failed("Nothing is remembered here. Go on without it."), nil
	}
	text, err := s.cfg.Recall(ctx, args.Query)
	switch {
	case ctx.Err() != nil:
		return loop.Result{}, context.Cause(ctx)
	case err != nil:
		return loop.Failed("It could not be searched: " + err.Error() + ". Go on without it."), nil
	}
	return loop.Result{Output: text}, nil
}
