package host

import (
	"encoding/json"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
)

// What a journal from elsewhere says that servers do not take holds for no run that goes on
// from it here; what was found out here does.
func TestAJournalAdjustsNoRequests(t *testing.T) {
	t.Parallel()
	h, db := waitingRun(t, 3, plan.Adjusted{Model: "m", Part: "context", To: "1"})
	start := &plan.RunStart{Repo: t.TempDir(), Config: json.RawMessage(`{}`)}
	for id, want := range map[plan.RunID]int{"R": 0, "S": 1} {
		before := &engine.Run{
			ID:       id,
			Start:    start,
			Adjusted: []plan.Adjusted{{Model: "m", Part: "context", To: "1"}},
		}
		_, known, err := h.settingsAfter(t.Context(), db, before, Request{})
		if err != nil || len(known) != want {
			t.Errorf("%s: %v, %v", id, known, err)
		}
	}
}
