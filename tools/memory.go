package tools

import (
	"context"
	_ "embed"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

//go:embed remember.md
var rememberDoc string

//go:embed skill.md
var skillDoc string

type rememberArgs struct {
	Text string `json:"text" jsonschema:"minLength=1,maxLength=2000" jsonschema_description:"one fact, in a sentence or two that can be understood without this conversation"`
}

// remember keeps a fact for later runs.
func (s *Set) remember() loop.Tool {
	return define(loop.Info{
		Spec: loop.Spec{Name: "remember", Description: strings.TrimSpace(rememberDoc)},
		// The same fact is kept once, however often it is said.
		Effect: plan.EffectReplay,
	}, func(ctx context.Context, args rememberArgs, _ loop.Input) (loop.Result, error) {
		if s.cfg.Remember == nil {
			return loop.Failed("Nothing can be remembered in this run. Go on without it."), nil
		}
		said, err := s.cfg.Remember(ctx, args.Text)
		if err != nil {
			return loop.Failed("It could not be remembered: " + err.Error() + ". Go on without it."), nil
		}
		return loop.Result{Output: said}, nil
	})
}

type skillArgs struct {
	Name string `json:"name" jsonschema:"minLength=1" jsonschema_description:"the skill's name as it is listed, or NAME/FILE for a file beside it"`
}

// skill loads the body of a skill.
func (s *Set) skill() loop.Tool {
	return define(loop.Info{
		Spec:   loop.Spec{Name: "skill", Description: strings.TrimSpace(skillDoc)},
		Effect: plan.EffectReplay,
	}, func(ctx context.Context, args skillArgs, _ loop.Input) (loop.Result, error) {
		if s.cfg.Skill == nil {
			return loop.Failed("There are no skills in this run."), nil
		}
		text, err := s.cfg.Skill(ctx, args.Name)
		if err != nil {
			return loop.Failed(err.Error()), nil
		}
		return loop.Result{Output: text}, nil
	})
}
