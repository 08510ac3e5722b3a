package provider

import (
	"testing"

	"github.com/plan-engine/plan/model/wire/wiretest"
	"github.com/plan-engine/plan/model/wires"
)

// Every wire of the list has a client, which speaks it as its row says, and the
// scripted server speaks it too.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, kind := range wires.All() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			open := openers()[kind.Name]
			if open == nil {
				t.Fatalf("no client speaks %s: it has no row in openers", kind.Name)
			}
			wiretest.Conform(t, kind, open)
		})
	}
	for name := range openers() {
		if _, ok := wires.Find(name); !ok {
			t.Errorf("%s has a client and no row in wires.All: settings refuse the name", name)
		}
	}
}
