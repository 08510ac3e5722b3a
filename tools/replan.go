package tools

import (
	"context"
	_ "embed"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

//go:embed replan.md
var replanDoc string

type replanArgs struct {
	Evidence string `json:"evidence" jsonschema:"minLength=1,maxLength=4000" jsonschema_description:"what the plan says, what you found instead, and the command or path:line that shows it"`
}

// replanTool asks for another plan. What offers it ends the conversation then.
func replanTool() builtin {
	return builtin{
		info: loop.Info{
			Spec:   spec(plan.ReplanTool, replanDoc),
			Effect: plan.EffectReplay,
			Serial: true,
		},
		purpose:  Replan,
		describe: described(func(_ string, a replanArgs) Call { return Call{Title: a.Evidence} }),
		open:     opens((*Set).runReplan),
	}
}

func (s *Set) runReplan(_ context.Context, args replanArgs, _ loop.Input) (loop.Result, error) {
	if s.cfg.Replan == nil {
		return loop.Failed("No other plan can be made in this run. " + replanElse), nil
	}
	if !s.cfg.Replan(args.Evidence) {
		return loop.Failed("Another plan was asked for before, and that is possible once in a run. " + replanElse), nil
	}
	return loop.Result{Output: "Another plan is made. What you changed stays in the tree as it is."}, nil
}

// replanElse is what to do without another plan.
const replanElse = "Do what the request needs, keep as close to the plan as that allows, and say in your last " +
	"message where you left it and what showed that it is wrong."
