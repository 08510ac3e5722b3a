package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// What a person changed before an attempt to implement is named, once for each
// attempt, and nothing is named where nothing was changed.
func TestTheTreeIsNamedBeforeImplement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edited bool
		want   []string
	}{
		"left alone": {false, []string{"start", "implement-1", "implement-2"}},
		"edited":     {true, []string{"start", "before-implement-1", "implement-1", "before-implement-2", "implement-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.crew.outcome, b.snaps.edited = usual(2), c.edited
			b.finish()
			var got []string
			for _, ev := range b.events() {
				if snap, ok := ev.Body.(plan.Snapshot); ok {
					got = append(got, snap.Label)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
