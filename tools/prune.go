package tools

import (
	"context"
	_ "embed"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

//go:embed prune.md
var pruneDoc string

type pruneArgs struct {
	Tokens int64  `json:"tokens" jsonschema:"minimum=1" jsonschema_description:"about how much room to make"`
	Memo   string `json:"memo,omitempty" jsonschema_description:"what to remember of the results that go"`
}

// prune takes old results out of the conversation. The loop does it.
func prune() loop.Tool {
	return define(loop.Info{
		Spec:   loop.Spec{Name: "prune", Description: strings.TrimSpace(pruneDoc)},
		Effect: plan.EffectReplay,
		Prunes: true,
	}, func(context.Context, pruneArgs, loop.Input) (loop.Result, error) {
		return loop.Result{Output: "The oldest calls and their results are taken out before your next turn."}, nil
	})
}
