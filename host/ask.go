package host

import (
	"context"
	"fmt"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// ContinueAnswer makes a question one that goes on from the newest answer about the
// repository at r.Dir: Explore begins with the questions and answers before it, and what they rest on. The run
// that gave the answer stays as it is.
func (h *Host) ContinueAnswer(ctx context.Context, r *Request) error {
	repo, err := h.OpenRepo(ctx, r.Dir)
	if err != nil {
		return err
	}
	db, err := h.DB(ctx)
	if err != nil {
		return err
	}
	runs, err := db.Runs(ctx, memory.Filter{
		Limit:  1,
		Repo:   repo.Root(),
		States: []plan.State{plan.QuestionAnswered},
	})
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return hint.New(
			"there is no answer to go on from in "+repo.Root(),
			"Leave --continue out: `plan ask \"…\"` begins a conversation.",
		)
	}
	run, err := h.Load(ctx, runs[0].ID)
	if err != nil {
		return err
	}
	r.Continues = run.ID
	if r.Context, err = h.conversationOf(ctx, run.ID); err != nil {
		return fmt.Errorf("go on from run %s: it cannot be read: %w", run.ID, err)
	}
	return nil
}
