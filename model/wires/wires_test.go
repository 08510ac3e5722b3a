package wires_test

import (
	"slices"
	"testing"

	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wires"
)

func TestList(t *testing.T) {
	t.Parallel()
	names := wires.Names()
	if names[0] != wires.Default || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
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
