package wire

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// Mends says what a model's server was found not to take: for each part of a
// request what is sent in its place, "" for nothing. It is never changed once
// made.
type Mends map[string]string

// Has reports whether a part is not taken as it is.
func (m Mends) Has(part string) bool {
	_, ok := m[part]
	return ok
}

// with returns the mends with these in them.
func (m Mends) with(parts []Optional) Mends {
	out := make(Mends, len(m)+len(parts))
	maps.Copy(out, m)
	for _, p := range parts {
		out[p.Part] = p.To
	}
	return out
}

// Without are the mends with a part in them that the model is not known to take.
func (m Mends) Without(part Optional) Mends { return m.with([]Optional{part}) }

// without returns the records without those of a part that is mended once after
// all: what was tried before that did not help, and is not to be remembered.
func without(adjusted []plan.Adjusted, part Optional) []plan.Adjusted {
	if !part.Once {
		return adjusted
	}
	return slices.DeleteFunc(adjusted, func(a plan.Adjusted) bool { return a.Part == part.Part })
}

// lasting returns the mends with those in them that are to be remembered. What
// was mended once goes back to how it was.
func (m Mends) lasting(parts []Optional) Mends {
	var remaining []Optional
	out := maps.Clone(m)
	for _, p := range parts {
		if p.Once {
			delete(out, p.Part)
		} else {
			remaining = append(remaining, p)
		}
	}
	return out.with(remaining)
}

// Form names the mends, so that what was written with the same ones can be told
// from the rest.
func (m Mends) Form() string {
	if len(m) == 0 {
		return ""
	}
	var b strings.Builder
	for _, part := range slices.Sorted(maps.Keys(m)) {
		b.WriteString(part + "=" + m[part] + ";")
	}
	return b.String()
}

// Optional is a part of a request that the server may refuse.
type Optional struct {
	Part string // as [plan.Adjusted] names it
	From string // its value, for the record; "" where it does not matter
	To   string // what is sent instead; "" for nothing
	// Words are the names under which servers complain about it, in lower case;
	// default Part.
	Words []string
	// Missing says that the part is not in the request and that a server may
	// demand it.
	Missing bool
	// Once says that a refusal is about this conversation rather than the model:
	// the request is mended, and nothing is remembered.
	Once bool
}

// once is what the record of a part that is mended for one request ends in.
const once = ", for this request"

// adjusted is the record of a part that was mended.
func (o Optional) adjusted(model, why string) plan.Adjusted {
	a := plan.Adjusted{
		Model: model,
		Part:  o.Part,
		From:  o.From,
		To:    o.To,
		Why:   why,
	}
	if o.Once {
		a.Part += once
	}
	return a
}

// names reports whether the text of a refusal, in lower case, speaks of the part.
func (o Optional) names(text string) bool {
	if len(o.Words) == 0 {
		return hasName(text, strings.ToLower(o.Part))
	}
	return slices.ContainsFunc(o.Words, func(w string) bool { return strings.Contains(text, w) })
}

// hasName reports whether a name stands in a text by itself: reasoning is not in
// reasoning_effort.
func hasName(text, name string) bool {
	for rest := text; name != ""; {
		at := strings.Index(rest, name)
		if at < 0 {
			return false
		}
		end := at + len(name)
		if (at == 0 || !inName(rest[at-1])) && (end == len(rest) || !inName(rest[end])) {
			return true
		}
		rest = rest[end:]
	}
	return false
}

// inName reports whether a byte of a text in lower case can be part of a name.
func inName(b byte) bool { return b == '_' || b >= 'a' && b <= 'z' || b >= '0' && b <= '9' }

// Optionals collects the optional parts of a request while it is written.
type Optionals struct {
	Mends Mends
	list  []Optional
}

// May reports whether the server has not refused a part, and notes that it is
// used.
func (o *Optionals) May(part Optional) bool {
	if o.Mends.Has(part.Part) {
		return false
	}
	o.Also(part)
	return true
}

// Also notes a part that can be said in yet another way. Of several ways to mend
// one part the first that fits a refusal is taken.
func (o *Optionals) Also(part Optional) {
	if to, mended := o.Mends[part.Part]; mended && to == part.To {
		return
	}
	same := func(p Optional) bool { return p.Part == part.Part && p.To == part.To }
	if !slices.ContainsFunc(o.list, same) {
		o.list = append(o.list, part)
	}
}

// List is what was noted.
func (o *Optionals) List() []Optional { return o.list }

// PartOutput is the part that holds an output limit which was too large.
const PartOutput = "output limit"

// What servers write about a part that they do not take, and about one that they
// miss. "Invalid" is no complaint: it is the type of most errors, those of a
// request that is too long among them.
var (
	complaints = []string{
		"unsupported", "not support", "unknown", "unrecognized", "unexpected", "not permitted", "not allowed",
		"extra inputs", "extra fields", "deprecated", "cannot be used", "can't be used", "is only",
		"not available", "not compatible",
	}
	missing = []string{
		"must be passed",
		"missing",
		"required",
		"must be",
		"must provide",
		"expected",
		"pass back",
		"passed back",
		"without",
	}
)

// mendable returns the optional parts that a refusal speaks of.
func (f Failure) mendable(optional []Optional) []Optional {
	switch f.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotFound, http.StatusNotImplemented:
	default:
		return nil
	}
	says := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(f.text, w) })
	}
	switch {
	case f.Kind == loop.ErrRefused:
	case f.Kind == loop.ErrTooLong && says(complaints):
	case f.Kind == loop.ErrNotFound && (says(complaints) || strings.Contains(f.text, "invalid")):
	default:
		return nil
	}
	if part, ok := f.outputLimit(optional); ok {
		return []Optional{part}
	}
	misses := says(missing)
	var out []Optional
	for _, part := range optional {
		if !part.names(f.text) || part.Missing && !misses {
			continue
		}
		same := func(p Optional) bool { return p.Part == part.Part }
		switch i := slices.IndexFunc(out, same); {
		case i < 0:
			out = append(out, part)
		case part.Missing: // what is demanded is not left out
			out[i] = part
		}
	}
	return out
}

// outputLimit is the limit that the server has for an answer, where it refused a
// larger one.
func (f Failure) outputLimit(optional []Optional) (Optional, bool) {
	limit, ok := outputOf(largestOutput(f.text))
	if !ok {
		return Optional{}, false
	}
	for _, part := range optional {
		if part.Part != PartOutput {
			continue
		}
		if sent, err := strconv.ParseInt(part.From, 10, 64); err == nil && limit < sent {
			part.To = strconv.FormatInt(limit, 10)
			return part, true
		}
	}
	return Optional{}, false
}

// smallestOutput is a limit of an answer, in tokens, below which no model could
// work. A server that names less means something else.
const smallestOutput = 256

// outputOf reads a limit that an answer can have.
func outputOf(text string) (tokens int64, ok bool) {
	tokens, err := strconv.ParseInt(text, 10, 64)
	return tokens, err == nil && tokens >= smallestOutput
}

// memory is what was found about each model.
type memory struct {
	mu    sync.Mutex
	found map[string]Mends
}

func (m *memory) of(model string) Mends {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.found[model]
}

// keep remembers what had to be mended of a request that was then taken.
func (m *memory) keep(model string, mends Mends) {
	if len(mends) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.found == nil {
		m.found = map[string]Mends{}
	}
	merged := maps.Clone(m.found[model])
	if merged == nil {
		merged = Mends{}
	}
	maps.Copy(merged, mends)
	m.found[model] = merged
}

// recall takes over what was recorded.
func (m *memory) recall(known []plan.Adjusted) {
	for _, a := range known {
		if a.Part != plan.PartContext && !strings.HasSuffix(a.Part, once) && sensible(a) {
			m.keep(a.Model, Mends{a.Part: a.To})
		}
	}
}

// sensible reports whether a record can be one of ours. A journal may come from
// elsewhere, and what it says a part is mended to can be sent.
func sensible(a plan.Adjusted) bool {
	const longest = 100 // bytes
	if a.Part == PartOutput {
		_, ok := outputOf(a.To)
		return ok
	}
	return a.Part != "" && len(a.Part) <= longest && len(a.To) <= longest && oneLine(a.Part) == a.Part &&
		oneLine(a.To) == a.To
}
