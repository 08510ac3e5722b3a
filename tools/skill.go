package tools

import (
	"context"
	_ "embed"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

//go:embed skill.md
var skillDoc string

type skillArgs struct {
	Name string `json:"name" jsonschema:"minLength=1" jsonschema_description:"the skill's name as it is listed, or NAME/FILE for a file beside it"`
}

// skillTool loads the body of a skill.
func skillTool() builtin {
	return builtin{
		info:     loop.Info{Spec: spec("skill", skillDoc), Effect: plan.EffectReplay},
		purpose:  Skill,
		describe: described(func(_ string, a skillArgs) Call { return Call{Title: a.Name} }),
		open:     opens((*Set).runSkill),
	}
}

func (s *Set) runSkill(ctx context.Context, args skillArgs, _ loop.Input) (loop.Result, error) {
	if s.cfg.Skill == nil {
		return loop.Failed("There are no skills in this run."), nil
	}
	text, err := s.cfg.Skill(ctx, args.Name)
	if err != nil {
		return loop.Failed(err.Error()), nil
	}
	return loop.Result{Output: text}, nil
}
