// Package catalog knows the windows, output caps and prices of models, from
// the list that catwalk keeps and from overrides; and of the usual providers
// where they serve, which variable their key is in, and which wire they speak.
//
// It must not know about requests, keys or runs: it is asked for a model's name,
// a provider and a base URL, and answers from memory.
package catalog

import (
	"strings"
	"sync"

	"github.com/plan-engine/plan"
)

// Entry is what is known about a model on a server.
type Entry struct {
	Window    int // tokens of input and output together; 0 if unknown
	MaxOutput int // tokens a server is asked for by default; 0 if unknown

	// Prices in USD per million tokens. They mean something only if Priced.
	InputUSD  float64
	CachedUSD float64 // input read from a prompt cache; 0 means as InputUSD
	// WriteUSD and WriteHourUSD are for input that is put into a prompt cache,
	// to be kept for minutes or for an hour; 0 means as InputUSD.
	WriteUSD     float64
	WriteHourUSD float64
	OutputUSD    float64
	Priced       bool

	StructuredOutput bool // json_schema is known to work on this server
	Reasoning        bool
	// TakesFound says that this server is known to take tools that a search finds in
	// the middle of a conversation.
	TakesFound bool

	// Wire is how an override says that the model is spoken to; "" for what is
	// usual at its provider, which [Catalog.Wire] says.
	Wire string

	// Source says in a few words where the entry comes from and how sure that is.
	Source string
}

// Cost is the price of what was consumed, in USD; priced is false, and the cost
// 0, when no price is known. Cached, Written and WrittenHour are parts of Input
// that do not overlap; the rest of it is fresh. What a provider charges for very
// long inputs is not in it.
func (e Entry) Cost(u plan.Usage) (usd float64, priced bool) {
	if !e.Priced {
		return 0, false
	}
	rest := max(0, u.Input)
	take := func(n int64) float64 {
		n = min(max(0, n), rest)
		rest -= n
		return float64(n)
	}
	cachedUSD := e.CachedUSD
	if cachedUSD == 0 {
		cachedUSD = e.InputUSD
	}
	sum := take(u.Cached) * cachedUSD
	sum += take(u.WrittenHour) * max(e.WriteHourUSD, e.WriteUSD, e.InputUSD)
	sum += take(u.Written) * max(e.WriteUSD, e.InputUSD)
	sum += float64(rest) * e.InputUSD
	sum += float64(max(0, u.Output)) * e.OutputUSD
	return sum / 1e6, true
}

// Catalog answers questions about models. It is safe for concurrent use. The
// list is read at the first question that needs it, so that programs which
// ask nothing start fast.
type Catalog struct {
	overrides map[string]Entry
	load      func() index

	mu    sync.Mutex
	asked map[question]answer // without overrides: a run asks the same every turn
}

type question struct{ provider, model, baseURL string }

type answer struct {
	entry Entry
	found bool
}

// New makes a catalog. The keys of overrides are model names as they are used
// in requests, or "provider/model", which count before those. The fields an
// override sets win: a window, an output cap, the prices together when Priced is
// set (so that a free model is Priced with prices of zero), those of cache
// writes also alone, a wire, and the abilities, which it can only add.
func New(overrides map[string]Entry) *Catalog {
	own := make(map[string]Entry, len(overrides))
	for name, entry := range overrides {
		own[strings.ToLower(name)] = entry
	}
	return &Catalog{
		overrides: own,
		load:      builtIn,
		asked:     map[question]answer{},
	}
}

// Lookup finds a model; it is false when nothing is known about it.
//
// The provider is the one that the base URL belongs to ("" is OpenAI's own),
// and then only its prices count. If the base URL belongs to no known provider,
// the name decides: if providers price it differently the model's maker wins,
// and without the maker among them it has no price. Names match as they are,
// then without a vendor prefix, then without a date. A server on this machine
// or a private network has no price unless an override gives it one.
func (c *Catalog) Lookup(model, baseURL string) (Entry, bool) {
	return c.LookupAt("", model, baseURL)
}

// LookupAt is Lookup for a provider that has a name: the settings' or the
// catalogue's. Its prices count where the base URL is "" or that of no provider that is
// known; else those of whose host it is do. An own name with a base URL of "" is
// no provider's.
func (c *Catalog) LookupAt(provider, model, baseURL string) (Entry, bool) {
	entry, found := c.listed(provider, model, baseURL)
	for _, override := range c.overridesOf(provider, model, baseURL) {
		entry, found = entry.with(override), true
	}
	return entry, found
}

// overridesOf are the overrides that hold for a model, the most exact one last.
func (c *Catalog) overridesOf(provider, model, baseURL string) []Entry {
	if len(c.overrides) == 0 {
		return nil
	}
	if provider == "" {
		provider, _ = c.At(baseURL)
	}
	model = strings.ToLower(model)
	var out []Entry
	for _, name := range []string{model, strings.ToLower(provider) + "/" + model} {
		if override, ok := c.overrides[name]; ok {
			out = append(out, override)
		}
	}
	return out
}

// listed looks a model up in the list, once.
func (c *Catalog) listed(provider, model, baseURL string) (Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := question{provider, model, baseURL}
	a, ok := c.asked[q]
	if !ok {
		a.entry, a.found = c.load().lookup(provider, model, baseURL)
		c.asked[q] = a
	}
	return a.entry, a.found
}

// with lays an override over an entry.
func (e Entry) with(o Entry) Entry {
	if o.Window > 0 {
		e.Window = o.Window
	}
	if o.MaxOutput > 0 {
		e.MaxOutput = o.MaxOutput
	}
	if o.Priced {
		e.WriteUSD, e.WriteHourUSD = scaled(
			e.WriteUSD,
			e.InputUSD,
			o.InputUSD,
		), scaled(
			e.WriteHourUSD,
			e.InputUSD,
			o.InputUSD,
		)
		e.InputUSD, e.CachedUSD, e.OutputUSD, e.Priced = o.InputUSD, o.CachedUSD, o.OutputUSD, true
	}
	if o.WriteUSD > 0 {
		e.WriteUSD = o.WriteUSD
	}
	if o.WriteHourUSD > 0 {
		e.WriteHourUSD = o.WriteHourUSD
	}
	if o.Wire != "" {
		e.Wire = o.Wire
	}
	e.StructuredOutput = e.StructuredOutput || o.StructuredOutput
	e.Reasoning = e.Reasoning || o.Reasoning
	e.TakesFound = e.TakesFound || o.TakesFound
	switch {
	case o.Source != "":
		e.Source = o.Source
	case e.Source == "":
		e.Source = "override"
	case !strings.HasPrefix(e.Source, "override"):
		e.Source = "override over " + e.Source
	}
	return e
}

// scaled is a price in the proportion that it had to another one, 0 for none.
func scaled(price, to, now float64) float64 {
	if to <= 0 {
		return 0
	}
	return price * now / to
}
