package memory

import (
	"slices"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/eventcases"
)

// TestProjectedIsWhatTheFoldTakes: the fold sees the bodies of projected events
// alone, so the two have to name the same types.
func TestProjectedIsWhatTheFoldTakes(t *testing.T) {
	t.Parallel()
	named := eventcases.Named(t, "RunInfo.fold")
	for _, name := range plan.EventTypes() {
		if taken := slices.Contains(named, name); taken != projected(name) {
			t.Errorf("%s: taken by RunInfo.fold is %v, projected is %v", name, taken, projected(name))
		}
	}
}
