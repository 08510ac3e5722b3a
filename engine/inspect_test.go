package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
)

// TestToolsAreComparedWithThoseBeforeTheFirstImplement, whatever each attempt
// leaves, and a run that has no such digest has nothing to compare with.
func TestToolsAreComparedWithThoseBeforeTheFirstImplement(t *testing.T) {
	t.Parallel()
	digest := func(label string) map[string]string {
		if strings.Contains(label, "implement") {
			return map[string]string{"": label}
		}
		return nil
	}
	for name, c := range map[string]struct {
		tools     func(label string) map[string]string
		snapshots int // start, implement-1 and implement-2 beside the digest's own
		want      []string
	}{
		"digests":    {digest, 4, []string{"before-implement-1 implement-1", "before-implement-1 implement-2"}},
		"no digests": {nil, 3, []string{" ", " "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.crew.outcome, b.snaps.tools = usual(2), c.tools
			var got []string
			b.cfg.Inspect = func(_ context.Context, in plan.Inspection) ([]plan.Finding, error) {
				got = append(got, in.ToolsBefore[""]+" "+in.ToolsAfter[""])
				if in.Since.IsZero() != (c.tools == nil) {
					t.Errorf("they were taken at %v", in.Since)
				}
				return nil, nil
			}
			b.finish()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if n := b.count(plan.TypeSnapshot); n != c.snapshots {
				t.Errorf("%d snapshots are recorded, want %d", n, c.snapshots)
			}
		})
	}
}

// TestNoReviewWithoutAnInspection: what cannot be looked at is not approved, and
// the run goes on where it stands.
func TestNoReviewWithoutAnInspection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	broken := errors.New("the tree cannot be read")
	b.cfg.Inspect = func(context.Context, plan.Inspection) ([]plan.Finding, error) { return nil, broken }
	if _, err := b.drive(t.Context()); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	run, err := engine.Fold(b.db.Events(t.Context(), b.id, memory.Query{}))
	if err != nil || run.State != plan.Reviewing || b.count(plan.TypeVerdict) != 0 {
		t.Fatalf("the run is %s with %d verdicts, error %v", run.State, b.count(plan.TypeVerdict), err)
	}
	b.cfg.Inspect = nil
	if end := b.finish(); end.State != plan.Approved {
		t.Errorf("the run is %s", end.State)
	}
}
