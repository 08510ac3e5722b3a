package costs

import (
	"cmp"
	"math"
	"slices"

	"github.com/plan-engine/plan"
)

// What input was spent on that is no part of a request.
const (
	KindReRead  = "re_read" // bytes of results that stood in the conversation already
	KindRetry   = "retry"   // calls that failed, and were made again
	KindSummary = "compact" // summaries of conversations
	KindUnknown = "unknown" // requests of versions that did not tell their parts
)

// BytesPerToken is what a token is taken for where the server reports none.
const BytesPerToken = 4

// InputRow is what was sent to models for one purpose.
type InputRow struct {
	Phase   plan.Phase // "" in sums
	Attempt int        // from 1; 0 in sums
	For     string     // as in [Row]
	Kind    string     // of a [plan.Part], or re_read, retry, compact, unknown
	Tool    string     // of a result
	// New and Cached are tokens: what the server took in, and of a prefix that it
	// had kept. They are shares of what it reported.
	New, Cached float64
	// Guessed is the part of New that the server did not report.
	Guessed float64
}

// Tokens is all of it.
func (r InputRow) Tokens() float64 { return r.New + r.Cached }

// inputs attributes what servers report to the parts of the requests.
type inputs struct {
	rows  []InputRow
	convs map[string]*sending
}

// sending is the latest request of a conversation.
type sending struct {
	parts    []plan.Part // in the order in which they were sent
	bytes    int64
	awaiting bool // it is not answered
}

// request takes in what a request holds. What it adds to the one before it follows
// what that one held, so that a server's cache is a beginning of it.
func (in *inputs) request(e plan.Event, b plan.Request) {
	if in.convs == nil {
		in.convs = map[string]*sending{}
	}
	s := in.convs[e.Conv]
	if s == nil || b.Whole {
		s = &sending{}
		in.convs[e.Conv] = s
	}
	s.awaiting = true
	for _, p := range b.Parts {
		if p.Again > 0 {
			s.put(plan.Part{Kind: KindReRead, Bytes: p.Again})
		}
		p.Bytes, p.Again = p.Bytes-p.Again, 0
		s.put(p)
	}
}

// put adds a part at the end.
func (s *sending) put(p plan.Part) {
	s.bytes += p.Bytes
	if n := len(s.parts); n > 0 && s.parts[n-1].Kind == p.Kind && s.parts[n-1].Tool == p.Tool {
		s.parts[n-1].Bytes += p.Bytes
		return
	}
	s.parts = append(s.parts, p)
}

// answered notes that the answer to a conversation's request is there.
func (in *inputs) answered(conv string) {
	if s := in.convs[conv]; s != nil {
		s.awaiting = false
	}
}

// usage attributes what a call consumed.
func (in *inputs) usage(e plan.Event, row Row) {
	at := InputRow{
		Phase:   row.Phase,
		Attempt: row.Attempt,
		For:     row.For,
	}
	s := in.convs[e.Conv]
	whole := func(kind string) {
		at.Kind = kind
		at.New, at.Cached = float64(row.Usage.Input-row.Usage.Cached), float64(row.Usage.Cached)
		in.put(at)
	}
	switch {
	case row.For == ForSummary:
		whole(KindSummary)
		return
	case s != nil && s.awaiting:
		whole(KindRetry)
		return
	case s == nil || s.bytes == 0:
		whole(KindUnknown)
		return
	}
	ratio := float64(row.Usage.Input) / float64(s.bytes)
	cached := float64(row.Usage.Cached)
	for _, p := range s.parts {
		at.Kind, at.Tool = p.Kind, p.Tool
		at.New, at.Cached, at.Guessed = 0, 0, 0
		if row.Usage.Input == 0 {
			at.New = float64(p.Bytes) / BytesPerToken
			at.Guessed = at.New
		} else {
			tokens := float64(p.Bytes) * ratio
			at.Cached = math.Min(tokens, cached)
			at.New = tokens - at.Cached
			cached -= at.Cached
		}
		in.put(at)
	}
}

// put adds a row to the one for the same.
func (in *inputs) put(row InputRow) {
	if row.Tokens() == 0 {
		return
	}
	i := slices.IndexFunc(in.rows, row.samePurpose)
	if i < 0 {
		in.rows = append(in.rows, row)
		return
	}
	in.rows[i] = in.rows[i].plus(row)
}

// samePurpose reports whether two rows are for the same purpose.
func (r InputRow) samePurpose(o InputRow) bool {
	return r.Phase == o.Phase && r.Attempt == o.Attempt && r.For == o.For && r.Kind == o.Kind && r.Tool == o.Tool
}

// plus is the sum of two rows, called as the first one is.
func (r InputRow) plus(o InputRow) InputRow {
	r.New += o.New
	r.Cached += o.Cached
	r.Guessed += o.Guessed
	return r
}

// Input is what was sent, by phase, attempt, purpose and kind: the largest kind of
// each first.
func (c *Costs) Input() []InputRow {
	type part struct {
		phase   plan.Phase
		attempt int
		purpose string
	}
	first := map[part]int{}
	of := func(r InputRow) int { return first[part{r.Phase, r.Attempt, r.For}] }
	for i, r := range c.input.rows {
		if _, known := first[part{r.Phase, r.Attempt, r.For}]; !known {
			first[part{r.Phase, r.Attempt, r.For}] = i
		}
	}
	rows := slices.Clone(c.input.rows)
	slices.SortStableFunc(rows, func(a, b InputRow) int {
		return cmp.Or(of(a)-of(b), cmp.Compare(b.Tokens(), a.Tokens()))
	})
	return rows
}

// InputKinds are the sums of each kind over all phases, the largest first.
func (c *Costs) InputKinds() []InputRow {
	var sums inputs
	for _, r := range c.input.rows {
		r.Phase, r.Attempt, r.For = "", 0, ""
		sums.put(r)
	}
	slices.SortStableFunc(sums.rows, func(a, b InputRow) int { return cmp.Compare(b.Tokens(), a.Tokens()) })
	return sums.rows
}

// Round makes tokens of a share of them.
func Round(tokens float64) int64 { return int64(math.Round(tokens)) }
