package tools

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

//go:embed prune.md
var pruneDoc string

type pruneArgs struct {
	Tokens int64  `json:"tokens" jsonschema:"minimum=1"`
	Memo   string `json:"memo,omitempty"`
}

// pruneTool takes old results out of the conversation. The loop does it.
func pruneTool() builtin {
	return builtin{
		info: loop.Info{
			Spec:   spec("prune", pruneDoc),
			Effect: plan.EffectReplay,
			Prunes: true,
		},
		purpose: Prune,
		describe: described(func(_ string, a pruneArgs) Call {
			return Call{Title: fmt.Sprintf("%d tokens", a.Tokens)}
		}),
		open: opens(func(*Set, context.Context, pruneArgs, loop.Input) (loop.Result, error) {
			return loop.Result{
				Output: "The oldest calls and their results are taken out before your next turn.",
			}, nil
		}),
	}
}
