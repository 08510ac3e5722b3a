package engine

import (
	"slices"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/eventcases"
)

// TestTheFoldTakesWhatStateIsMadeOf: what package plan calls folded, and nothing
// else, changes a run. A type that is folded and forgotten here would be lost at
// the next resume.
func TestTheFoldTakesWhatStateIsMadeOf(t *testing.T) {
	t.Parallel()
	named := eventcases.Named(t, "Run.Apply", "Run.Apply", "Run.trackOpen", "Run.trackTree")
	for _, name := range plan.EventTypes() {
		switch taken := slices.Contains(named, name); {
		case name.Folded() && !taken:
			t.Errorf("the state of a run is made of %s, and Run.Apply does not take it", name)
		case !name.Folded() && taken:
			t.Errorf("Run.Apply takes %s, which package plan does not call folded", name)
		}
	}
}
