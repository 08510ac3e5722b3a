package looptest

import (
	"context"

	"github.com/plan-engine/plan/loop"
)

// Cases lets a test put a model through one case after the other.
func Cases() []Case {
	var out []Case
	for _, c := range cases() {
		out = append(out, Case{Scenario: c.Scenario, Try: func(ctx context.Context, m loop.Model) error {
			return c.try(ctx, m)
		}})
	}
	return out
}

// Case is a scenario and what tells whether a model copes with it.
type Case struct {
	Scenario
	Try func(context.Context, loop.Model) error
}
