package tools

import (
	"context"
	_ "embed"
	"errors"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

//go:embed ask.md
var askDoc string

type askArgs struct {
	Question string   `json:"question" jsonschema:"minLength=1"`
	Options  []string `json:"options,omitempty" jsonschema_description:"answers to choose from; the person may give another"`
}

// askTool puts a question to the person who wants the work. The loop answers it.
func askTool() builtin {
	return builtin{
		info: loop.Info{
			Spec:   spec("ask", askDoc),
			Effect: plan.EffectReplay,
			Asks:   true,
		},
		purpose:  Ask,
		describe: described(func(_ string, a askArgs) Call { return Call{Title: a.Question} }),
		open: opens(func(*Set, context.Context, askArgs, loop.Input) (loop.Result, error) {
			return loop.Result{}, errors.New("a question is answered, not run")
		}),
	}
}
