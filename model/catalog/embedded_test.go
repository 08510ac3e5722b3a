package catalog

import (
	"testing"

	"charm.land/catwalk/pkg/embedded"
)

// TestCorrectionsAreStillNeeded fails when the list was mended, so that no
// correction outlives its mistake.
func TestCorrectionsAreStillNeeded(t *testing.T) {
	t.Parallel()
	needed := 0
	for _, p := range embedded.GetAll() {
		for _, m := range p.Models {
			right, ok := corrections[correction{p.ID, m.ID}]
			if !ok {
				continue
			}
			needed++
			if m.CostPer1MOut == right.OutputUSD {
				t.Errorf("%s of %s has the right price in the list now: remove its correction", m.ID, p.ID)
			}
		}
	}
	if needed != len(corrections) {
		t.Errorf("%d of %d corrections match a listing: remove the others", needed, len(corrections))
	}
}

// TestEmbeddedList checks what every entry must keep, whatever the list says.
func TestEmbeddedList(t *testing.T) {
	t.Parallel()
	providers := embedded.GetAll()
	x := newIndex(providers)
	for form, found := range x.names {
		if form == "" {
			t.Errorf("a model has a form without a name: %v", found[0].id)
		}
		for _, l := range found {
			e := l.entry
			if e.InputUSD < 0 || e.OutputUSD < 0 || e.CachedUSD < 0 || e.CachedUSD > e.InputUSD {
				t.Errorf("%s of %s has impossible prices: %+v", l.id, l.provider, e)
			}
		}
	}
	for _, m := range makers {
		known := false
		for _, p := range providers {
			known = known || p.ID == m.maker
		}
		if !known {
			t.Errorf("maker %q is no provider of the list", m.maker)
		}
	}
}

// TestSettlePrefersPrices: a listing without a price says nothing about one.
func TestSettlePrefersPrices(t *testing.T) {
	t.Parallel()
	subscription := listing{provider: "a", id: "m", entry: Entry{Window: 10, Source: "a"}}
	sold := listing{provider: "b", id: "m", entry: Entry{Window: 20, InputUSD: 1, Priced: true, Source: "b"}}
	got := settle([]listing{subscription, sold})
	if got != sold {
		t.Errorf("settle = %+v, want %+v", got, sold)
	}
}
