package host

import (
	"context"

	"github.com/plan-engine/plan/engine"
)

// Graph draws the workflow as Mermaid; with the prefix of a run's id, the way that
// the run took through it is marked.
func (h *Host) Graph(ctx context.Context, prefix string) (string, error) {
	if prefix == "" {
		return engine.Mermaid(nil), nil
	}
	id, err := h.Resolve(ctx, prefix)
	if err != nil {
		return "", err
	}
	db, err := h.DB(ctx)
	if err != nil {
		return "", err
	}
	run, err := Fold(ctx, db, id, nil)
	if err != nil {
		return "", err
	}
	return engine.Mermaid(run.Moves), nil
}
