package phases

import (
	"context"
	"slices"

	"github.com/plan-engine/plan"
)

// answer is Explore in a run that was asked a question: nothing comes after it, so
// its report is for the person.
func (ph *Phases) answer(ctx context.Context, b plan.Brief, s *session) (plan.Outcome, error) {
	prompt := ph.opening(b, "ask", nil)
	product := ph.report(b, s)
	product.noun = "answer"
	product.lacks = "it names no file of this repository, and rests on nothing that was looked at"
	product.form = "Look at the repository, and answer the question, with `path:line` for what you say about the code."
	text, err := s.handOver(ctx, product, append(slices.Clone(b.Context), prompt)...)
	return plan.Outcome{Report: text}, err
}
