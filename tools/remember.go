package tools

import (
	"context"
	_ "embed"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

//go:embed remember.md
var rememberDoc string

type rememberArgs struct {
	Text string `json:"text" jsonschema:"minLength=1,maxLength=2000"`
}

// rememberTool keeps a fact for later runs.
func rememberTool() builtin {
	return builtin{
		// The same fact is kept once, however often it is said.
		info:     loop.Info{Spec: spec("remember", rememberDoc), Effect: plan.EffectReplay},
		purpose:  Remember,
		describe: described(func(_ string, a rememberArgs) Call { return Call{Title: a.Text} }),
		open:     opens((*Set).runRemember),
	}
}

func (s *Set) runRemember(ctx context.Context, args rememberArgs, _ loop.Input) (loop.Result, error) {
	if s.cfg.Remember == nil {
		return loop.Failed("Nothing can be remembered in this run. Go on without it."), nil
	}
	answer, err := s.cfg.Remember(ctx, args.Text)
	if err != nil {
		return loop.Failed("It could not be remembered: " + err.Error() + ". Go on without it."), nil
	}
	return loop.Result{Output: answer}, nil
}
