package catalog

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"github.com/plan-engine/plan/model/wire"
)

var update = flag.Bool("update", false, "write models.tsv anew")

// TestModelsAreThoseOfTheList compares the list that is part of the program with
// the one that it is made of.
func TestModelsAreThoseOfTheList(t *testing.T) {
	t.Parallel()
	made := written(embedded.GetAll())
	if *update {
		if err := os.WriteFile("models.tsv", []byte(made), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if made != models {
		t.Error("models.tsv is not what catwalk has; run make golden, and look at the difference")
	}
}

// written writes the list.
func written(providers []catwalk.Provider) string {
	var b strings.Builder
	for _, p := range providers {
		fmt.Fprintf(&b, "%s%s\t%s\t%s\t%s\n", providerMark, p.ID, p.APIEndpoint, strings.TrimPrefix(p.APIKey, "$"), wireOf(p))
		for _, m := range p.Models {
			b.WriteString(listingOf(string(p.ID), m).line() + "\n")
		}
	}
	return b.String()
}

// wireOf is how a provider is spoken to. The type of the list says it of those
// with Anthropic's; that a server is compatible with OpenAI's does not mean that
// it has Responses.
func wireOf(p catwalk.Provider) string {
	switch {
	case p.Type == catwalk.TypeAnthropic:
		return wire.Anthropic
	case p.ID == theOpenAI, p.ID == theXAI, p.ID == theAzure:
		return wire.Responses
	}
	return wire.Chat
}

func listingOf(provider string, m catwalk.Model) listing {
	return listing{provider: provider, id: strings.ToLower(m.ID), entry: entryOf(provider, m)}
}

// line is what readListing reads.
func (l listing) line() string {
	var b strings.Builder
	last := ""
	for _, form := range forms(l.id) {
		if form != last {
			b.WriteString(form)
		}
		last = form
		b.WriteByte('\t')
	}
	e, flags := l.entry, "-"
	if e.Priced {
		flags += "p"
	}
	if e.Reasoning {
		flags += "r"
	}
	if strings.HasSuffix(e.Source, corrected) {
		flags += "c"
	}
	fmt.Fprintf(&b, "%d\t%d\t%v\t%v\t%s\t%s\t%v\t%s",
		e.Window, e.MaxOutput, e.InputUSD, e.CachedUSD, orNothing(e.WriteUSD), orNothing(e.WriteHourUSD), e.OutputUSD, flags)
	return b.String()
}

// orNothing writes a price that most models do not have.
func orNothing(price float64) string {
	if price == 0 {
		return ""
	}
	return fmt.Sprint(price)
}

// TestEveryModelIsRead: each line says what the list does, under each of its names.
func TestEveryModelIsRead(t *testing.T) {
	t.Parallel()
	for _, p := range embedded.GetAll() {
		for _, m := range p.Models {
			want := listingOf(string(p.ID), m)
			for _, form := range forms(want.id) {
				if got, ok := readListing(string(p.ID), want.line(), form); !ok || got.entry != want.entry || got.id != want.id {
					t.Errorf("%s of %s, as %q: %+v, want %+v", m.ID, p.ID, form, got, want)
				}
			}
		}
	}
}

// TestCorrectionsAreStillNeeded fails when the list was mended, so that no
// correction outlives its mistake.
func TestCorrectionsAreStillNeeded(t *testing.T) {
	t.Parallel()
	needed := 0
	for _, p := range embedded.GetAll() {
		for _, m := range p.Models {
			right, ok := corrections[correction{string(p.ID), m.ID}]
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
	for _, p := range providers {
		for _, m := range p.Models {
			l := listingOf(string(p.ID), m)
			for _, form := range forms(l.id) {
				if form == "" || strings.ContainsAny(form, "\t\n") {
					t.Errorf("a model has a form without a name: %q", l.id)
				}
			}
			e := l.entry
			if e.InputUSD < 0 || e.OutputUSD < 0 || e.CachedUSD < 0 || e.CachedUSD > e.InputUSD {
				t.Errorf("%s of %s has impossible prices: %+v", l.id, l.provider, e)
			}
		}
	}
	for _, m := range makers {
		known := false
		for _, p := range providers {
			known = known || string(p.ID) == m.maker
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
	got := mergeListings([]listing{subscription, sold})
	if got != sold {
		t.Errorf("settle = %+v, want %+v", got, sold)
	}
}

// entryOf reads a listing. A price of zero is a price only where the name says
// that the model is free; elsewhere it is not known, or a subscription.
func entryOf(provider string, m catwalk.Model) Entry {
	e := Entry{
		Window: int(m.ContextWindow), MaxOutput: int(m.DefaultMaxTokens),
		InputUSD: m.CostPer1MIn, CachedUSD: cachedPrice(m), OutputUSD: m.CostPer1MOut,
		Reasoning: m.CanReason, Source: provider,
	}
	id := strings.ToLower(m.ID)
	free := strings.HasSuffix(id, ":free") || strings.HasSuffix(id, "-free")
	e.Priced = free || e.InputUSD > 0 || e.OutputUSD > 0
	if c, ok := corrections[correction{provider, id}]; ok {
		e.InputUSD, e.CachedUSD, e.OutputUSD = c.InputUSD, c.CachedUSD, c.OutputUSD
		e.Source += corrected
	}
	e.WriteUSD, e.WriteHourUSD = writePrices(provider, id, m, e.InputUSD)
	return e
}

// writePrices are those of input that is put into a cache for minutes and for an
// hour, where that is dearer than to send it: the list's, or what Anthropic asks.
// Of the list's two cache prices the one above the input's is that of writing.
func writePrices(provider, id string, m catwalk.Model, input float64) (minutes, hour float64) {
	if theirs := max(m.CostPer1MInCached, m.CostPer1MOutCached); theirs > input && input > 0 {
		minutes = theirs
	}
	if provider == theAnthropic || makerOf(id) == theAnthropic {
		minutes, hour = max(minutes, rounded(1.25*input)), rounded(2*input)
	}
	return minutes, hour
}

// rounded is a price without what a product of decimals leaves at its end.
func rounded(price float64) float64 { return math.Round(price*1e6) / 1e6 }

// cachedPrice is the price of input read from the cache. The list holds two
// cache prices, to write and to read, and its sources do not agree on which is
// which; reading is the cheaper one, and never dearer than fresh input.
func cachedPrice(m catwalk.Model) float64 {
	price := m.CostPer1MIn
	for _, p := range []float64{m.CostPer1MInCached, m.CostPer1MOutCached} {
		if p > 0 {
			price = min(price, p)
		}
	}
	return price
}

// correction names a listing with a wrong price.
type correction struct {
	provider string
	id       string
}

// corrections are prices that are plainly wrong in the list. Every other
// provider of the same model there has the price that stands here.
var corrections = map[correction]Entry{
	// The list has the output price of gpt-5.4-pro, 180.
	{theOpenAI, "gpt-5.4-mini"}: {InputUSD: 0.75, CachedUSD: 0.075, OutputUSD: 4.5},
}
