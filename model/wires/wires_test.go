package wires_test

import (
	"slices"
	"testing"

	"github.com/plan-engine/plan/model/scripted"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
	"github.com/plan-engine/plan/model/wires"
)

func TestList(t *testing.T) {
	t.Parallel()
	names := wires.Names()
	if names[0] != wire.Default || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("the names are %v", names)
	}
	for _, name := range names {
		kind, ok := wires.Find(name)
		if !ok || kind.Name != name || !slices.Contains(wire.Auths(), kind.Auth) || len(kind.Fields) == 0 {
			t.Errorf("of %s is known %+v", name, kind)
		}
	}
	if _, ok := wires.Find(""); ok || wires.Auth("") != wire.AuthBearer {
		t.Error("there is a wire without a name")
	}
}

// TestConformance: every wire of the list is spoken as its row says, and the
// scripted server speaks it too.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, kind := range wires.All() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			wiretest.Conform(t, kind)
		})
	}
	for _, name := range scripted.Wires() {
		if _, ok := wires.Find(name); !ok {
			t.Errorf("the scripted server speaks %s, which has no row in wires.All", name)
		}
	}
}
