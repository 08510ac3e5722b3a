package catalog

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

// index finds models by ever looser forms of their names.
type index struct {
	places []place
	// names maps each form of a name to the listings that have it.
	names map[string][]listing
}

// listing is one model as one provider sells it.
type listing struct {
	provider catwalk.InferenceProvider
	id       string
	entry    Entry
	level    int // how much was taken off the name for the form it is under
}

func newIndex(providers []catwalk.Provider) *index {
	x := &index{names: make(map[string][]listing)}
	for _, p := range providers {
		x.places = append(x.places, placesOf(p)...)
		for _, m := range p.Models {
			l := listing{provider: p.ID, id: strings.ToLower(m.ID), entry: entryOf(p.ID, m)}
			last := ""
			for level, form := range forms(l.id) {
				if form != last {
					l.level = level
					x.names[form] = append(x.names[form], l)
				}
				last = form
			}
		}
	}
	return x
}

// lookup finds a model at a base URL.
func (x *index) lookup(model, baseURL string) (Entry, bool) {
	model = strings.ToLower(strings.TrimSpace(model))
	where := x.locate(baseURL)
	if where.provider != "" {
		if found := x.find(model, func(l listing) bool { return l.provider == where.provider }); len(found) > 0 {
			l := settle(found)
			l.entry.StructuredOutput = structured(l.provider, l.id)
			return l.entry, true
		}
	}
	found := x.find(model, func(listing) bool { return true })
	if len(found) == 0 {
		return Entry{}, false
	}
	l := settle(found)
	switch {
	case where.local:
		return l.entry.unpriced("; a local server has no known price"), true
	case where.provider != "":
		return l.entry.unpriced("; " + string(where.provider) + " does not list it"), true
	case l.provider == makerOf(l.id):
		l.entry.Source += ", which makes the model"
	}
	l.entry.Source += "; the base URL is no known provider's"
	return l.entry, true
}

// find returns the listings under the strictest form of the name that has any.
func (x *index) find(model string, wanted func(listing) bool) []listing {
	for _, form := range forms(model) {
		var out []listing
		for _, l := range x.names[form] {
			if wanted(l) {
				out = append(out, l)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// settle makes one listing of those of a model: a priced one before others,
// the maker's before others, the one that is closest to the name before others.
func settle(found []listing) listing {
	found = preferred(found, func(l listing) bool { return l.entry.Priced })
	found = preferred(found, func(l listing) bool { return l.provider == makerOf(l.id) })
	closest := slices.MinFunc(found, func(a, b listing) int { return a.level - b.level }).level
	found = preferred(found, func(l listing) bool { return l.level == closest })
	out := found[0]
	for _, l := range found[1:] {
		if !out.entry.samePrice(l.entry) {
			out.entry = out.entry.unpriced("; providers price it differently")
		}
		// Too small a window costs a little, too large a one fails.
		out.entry.Window = min(out.entry.Window, l.entry.Window)
		out.entry.MaxOutput = min(out.entry.MaxOutput, l.entry.MaxOutput)
		out.entry.Reasoning = out.entry.Reasoning && l.entry.Reasoning
	}
	return out
}

// preferred returns the listings that are good, or all if none is.
func preferred(found []listing, good func(listing) bool) []listing {
	if rest := slices.DeleteFunc(slices.Clone(found), func(l listing) bool { return !good(l) }); len(rest) > 0 {
		return rest
	}
	return found
}

func (e Entry) samePrice(o Entry) bool {
	return e.Priced == o.Priced && e.InputUSD == o.InputUSD && e.CachedUSD == o.CachedUSD && e.OutputUSD == o.OutputUSD
}

// unpriced takes the prices away and says why, once.
func (e Entry) unpriced(why string) Entry {
	e.InputUSD, e.CachedUSD, e.OutputUSD, e.Priced = 0, 0, 0, false
	if !strings.Contains(e.Source, why) {
		e.Source += why
	}
	return e
}

var (
	// vendors stand before a name: "openai/", "accounts/x/models/", "hf:",
	// "us.anthropic.".
	vendors = regexp.MustCompile(`^(?:hf:)?(?:.*/)?(?:(?:us|eu|apac|global)\.)?(?:anthropic\.)?`)
	// dates stand behind it: "-2025-08-07", "-20250929", "@20250929",
	// "-v1:0", "-latest". Four digits (2507) name another model, not a date.
	dates = regexp.MustCompile(`(?:[-@]20\d\d-?[01]\d-?[0-3]\d)?(?:-v\d+(?::\d+)?)?(?:@default|-latest)?$`)
)

// forms returns the forms of a name, the strictest first: as it is, without
// the vendor, and also without the date. The last one writes version dots as
// dashes, which providers do not agree on either.
func forms(id string) []string {
	bare := id
	if hasAny(id, "/", "hf:", "us.", "eu.", "apac.", "global.", "anthropic.") {
		bare = vendors.ReplaceAllString(id, "")
	}
	undated := bare
	if hasAny(bare, "-20", "@20", "-v", "@default", "-latest") {
		undated = dates.ReplaceAllString(bare, "")
	}
	return []string{id, bare, undated, strings.ReplaceAll(undated, ".", "-")}
}

// hasAny reports whether an expression can fit: to run it on every name of the
// catalogue would cost more than all else that is done before the first request.
func hasAny(id string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(id, part) })
}

// kept is the index of the catalogue that is part of this program, made once.
var kept = sync.OnceValue(func() *index { return newIndex(embedded.GetAll()) })
