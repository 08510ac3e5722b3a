package catalog

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/plan-engine/plan/internal/lazy"
)

// models is the list that is part of this program: a line for each provider, with
// where it serves, the variable of its key and its wire, and behind it one for
// each of its models, as readListing reads it. A test makes it, and sees to it that it is what catwalk
// has: to decode that list takes longer than all else before the first request.
//
//go:embed models.tsv
var models string

// providerMark begins a provider's line, and is nowhere else. It begins with a
// rare character, which is found faster than a frequent one.
const providerMark = "@ "

// index finds models by ever looser forms of their names.
type index []providerIndex

// providerIndex is a provider with the lines of its models.
type providerIndex struct {
	provider string
	endpoint string // an address, or "$NAME" where that is left to the environment
	keyEnv   string // the variable of its key; "" where there is none
	wire     string
	models   string
}

// listing is one model as one provider sells it.
type listing struct {
	provider string
	id       string
	entry    Entry
	level    int // how much was taken off the name for the form it is under
}

// newIndex reads a list as models.tsv is one.
func newIndex(text string) index {
	var x index
	for _, part := range strings.Split(text, providerMark)[1:] {
		head, lines, _ := strings.Cut(part, "\n")
		fields := strings.Split(head, "\t")
		if len(fields) != fieldsOfProvider {
			continue
		}
		x = append(x, providerIndex{
			provider: fields[0],
			endpoint: fields[1],
			keyEnv:   fields[2],
			wire:     fields[3],
			models:   lines,
		})
	}
	return x
}

// lookup finds a model at a base URL, where the provider has this name; ""
// leaves that to the base URL.
func (x index) lookup(provider, model, baseURL string) (Entry, bool) {
	model = strings.ToLower(strings.TrimSpace(model))
	where := x.locateNamed(provider, baseURL)
	if where.provider != "" {
		if matches := x.find(model, where.provider); len(matches) > 0 {
			l := mergeListings(matches)
			l.entry.StructuredOutput = structured(l.provider, l.id)
			l.entry.TakesFound = takesFound(l.provider, l.id)
			return l.entry, true
		}
	}
	matches := x.find(model, "")
	if len(matches) == 0 {
		return Entry{}, false
	}
	l := mergeListings(matches)
	switch {
	case where.local:
		return l.entry.unpriced("; a local server has no known price"), true
	case where.provider != "":
		return l.entry.unpriced("; " + where.provider + " does not list it"), true
	case l.provider == makerOf(l.id):
		l.entry.Source += ", which makes the model"
	}
	l.entry.Source += "; the base URL is no known provider's"
	return l.entry, true
}

// find returns a provider's listings, or those of all for "", under the strictest
// form of the name that has any.
func (x index) find(model, provider string) []listing {
	last := ""
	for _, form := range forms(model) {
		if form == "" || form == last {
			continue
		}
		last = form
		var out []listing
		for _, s := range x {
			if provider == "" || s.provider == provider {
				out = s.appendListed(out, form)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// appendListed appends the listings that are under this form of a name. Only
// lines that hold it are read.
func (s providerIndex) appendListed(out []listing, form string) []listing {
	field := form + "\t"
	for rest := s.models; ; {
		at := strings.Index(rest, field)
		if at < 0 {
			return out
		}
		var line string
		line, rest, _ = strings.Cut(rest[strings.LastIndexByte(rest[:at], '\n')+1:], "\n")
		if l, ok := readListing(s.provider, line, form); ok {
			out = append(out, l)
		}
	}
}

// A model's line has the forms of its name, where one that is like that before
// is left empty, and then its entry.
const (
	formsOfName      = 4
	fieldsOfAll      = formsOfName + 8
	fieldsOfProvider = 4
)

// readListing reads a line if one of the model's names is this form.
func readListing(provider, line, form string) (listing, bool) {
	fields := strings.Split(line, "\t")
	if len(fields) != fieldsOfAll {
		return listing{}, false
	}
	l := listing{
		provider: provider,
		id:       fields[0],
		level:    slices.Index(fields[:formsOfName], form),
	}
	if l.level < 0 {
		return listing{}, false
	}
	entry, flags := fields[formsOfName:], fields[fieldsOfAll-1]
	l.entry = Entry{
		Window:       int(number(entry[0])),
		MaxOutput:    int(number(entry[1])),
		InputUSD:     number(entry[2]),
		CachedUSD:    number(entry[3]),
		WriteUSD:     number(entry[4]),
		WriteHourUSD: number(entry[5]),
		OutputUSD:    number(entry[6]),
		Priced:       strings.Contains(flags, "p"),
		Reasoning:    strings.Contains(flags, "r"),
		Source:       provider,
	}
	if strings.Contains(flags, "c") {
		l.entry.Source += corrected
	}
	return l, true
}

// corrected ends the source of an entry whose price the list has wrong.
const corrected = " (corrected)"

// number reads a number of the list, which a test has checked; "" is 0.
func number(s string) float64 {
	v, _ := strconv.ParseFloat(s, 64)
	return v
}

// mergeListings makes one listing of those of a model: a priced one before others,
// the maker's before others, the one that is closest to the name before others.
func mergeListings(matches []listing) listing {
	matches = preferred(matches, func(l listing) bool { return l.entry.Priced })
	matches = preferred(matches, func(l listing) bool { return l.provider == makerOf(l.id) })
	closest := slices.MinFunc(matches, func(a, b listing) int { return a.level - b.level }).level
	matches = preferred(matches, func(l listing) bool { return l.level == closest })
	out := matches[0]
	for _, l := range matches[1:] {
		if !out.entry.samePrice(l.entry) {
			out.entry = out.entry.unpriced("; providers price it differently")
		}
		// Too small a window costs a little, too large a one fails.
		out.entry.Window = min(out.entry.Window, l.entry.Window)
		out.entry.MaxOutput = min(out.entry.MaxOutput, l.entry.MaxOutput)
		out.entry.Reasoning = out.entry.Reasoning && l.entry.Reasoning
		if out.entry.Priced { // too low a price breaks a limit, too high a one stops early
			out.entry.WriteUSD = max(out.entry.WriteUSD, l.entry.WriteUSD)
			out.entry.WriteHourUSD = max(out.entry.WriteHourUSD, l.entry.WriteHourUSD)
		}
	}
	return out
}

// preferred returns the listings that are good, or all if none is.
func preferred(matches []listing, good func(listing) bool) []listing {
	if rest := slices.DeleteFunc(slices.Clone(matches), func(l listing) bool { return !good(l) }); len(rest) > 0 {
		return rest
	}
	return matches
}

func (e Entry) samePrice(o Entry) bool {
	return e.Priced == o.Priced && e.InputUSD == o.InputUSD && e.CachedUSD == o.CachedUSD &&
		e.OutputUSD == o.OutputUSD
}

// unpriced takes the prices away and says why, once.
func (e Entry) unpriced(why string) Entry {
	e.InputUSD, e.CachedUSD, e.OutputUSD, e.Priced = 0, 0, 0, false
	e.WriteUSD, e.WriteHourUSD = 0, 0
	if !strings.Contains(e.Source, why) {
		e.Source += why
	}
	return e
}

var (
	// vendors stand before a name: "openai/", "accounts/x/models/", "hf:",
	// "us.anthropic.".
	vendors = lazy.Regexp(`^(?:hf:)?(?:.*/)?(?:(?:us|eu|apac|global)\.)?(?:anthropic\.)?`)
	// dates stand behind it: "-2025-08-07", "-20250929", "@20250929",
	// "-v1:0", "-latest". Four digits (2507) name another model, not a date.
	dates = lazy.Regexp(`(?:[-@]20\d\d-?[01]\d-?[0-3]\d)?(?:-v\d+(?::\d+)?)?(?:@default|-latest)?$`)
)

// forms returns the forms of a name, the strictest first: as it is, without
// the vendor, and also without the date. The last one writes version dots as
// dashes, which providers do not agree on either.
func forms(id string) [formsOfName]string {
	bare := id
	if hasAny(id, "/", "hf:", "us.", "eu.", "apac.", "global.", "anthropic.") {
		bare = vendors().ReplaceAllString(id, "")
	}
	undated := bare
	if hasAny(bare, "-20", "@20", "-v", "@default", "-latest") {
		undated = dates().ReplaceAllString(bare, "")
	}
	return [formsOfName]string{id, bare, undated, strings.ReplaceAll(undated, ".", "-")}
}

// hasAny reports whether an expression can fit.
func hasAny(id string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(id, part) })
}

// builtIn is the index of the list that is part of this program, made once.
var builtIn = sync.OnceValue(func() index { return newIndex(models) })
