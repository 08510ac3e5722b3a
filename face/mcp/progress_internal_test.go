package mcp

import (
	"testing"

	"github.com/plan-engine/plan/internal/eventcases"
)

// TestProgressTellsEveryEvent: what has no words of its own is told by its headline.
func TestProgressTellsEveryEvent(t *testing.T) {
	t.Parallel()
	for _, name := range eventcases.Unshown(t, eventcases.Named(t, "progressText"), progressText) {
		t.Errorf("progress forgets %s", name)
	}
}
