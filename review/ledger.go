package review

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/plan-engine/plan"
)

// matchGaps returns the changes that a review's list of gaps makes to the ledger.
// A gap keeps its id when the review names the id or tells it in the same
// words, white space, case and closing marks apart; others get the next G<n>.
// A closed gap that is named again is reopened. With all, missing is
// everything that is left, and an open gap that is not in it is closed.
//
// Changes come in the order of missing, then of the ledger. A gap that is
// named again in other words is a change of its text. What is missing comes back
// with the ids filled in and repetitions left out.
func matchGaps(gaps []plan.Gap, missing []plan.Missing, complete bool) (changes []plan.Gap, named []plan.Missing) {
	b := newLedgerIndex(gaps)
	seen := make(map[string]bool, len(missing))
	named = []plan.Missing{}
	for _, m := range missing {
		g, changed := b.resolve(m)
		if g.ID == "" || seen[g.ID] {
			continue
		}
		seen[g.ID] = true
		named = append(named, plan.Missing{
			ID:       g.ID,
			Gap:      g.Gap,
			Severity: g.Severity,
		})
		if changed {
			changes = append(changes, g)
		}
	}
	for _, id := range b.order {
		if g := b.gaps[id]; complete && g.Open() && !seen[g.ID] {
			g.Status = plan.GapClosed
			changes = append(changes, g)
		}
	}
	return changes, named
}

// ledgerIndex is the ledger by id and by text.
type ledgerIndex struct {
	gaps   map[string]plan.Gap // by upper-case id
	byText map[string]string   // normalised text to upper-case id
	order  []string
	last   int // the highest number given so far
}

func newLedgerIndex(gaps []plan.Gap) *ledgerIndex {
	b := &ledgerIndex{gaps: make(map[string]plan.Gap, len(gaps)), byText: make(map[string]string, len(gaps))}
	for _, g := range gaps {
		if g.ID != "" {
			b.add(g)
		}
	}
	return b
}

func (b *ledgerIndex) add(g plan.Gap) {
	key := strings.ToUpper(g.ID)
	if old, ok := b.gaps[key]; ok {
		delete(b.byText, normalized(old.Gap))
	} else {
		b.order = append(b.order, key)
	}
	b.gaps[key] = g
	if other, ok := b.byText[normalized(g.Gap)]; !ok || !b.gaps[other].Open() {
		b.byText[normalized(g.Gap)] = key
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(key, "G")); err == nil && strings.HasPrefix(key, "G") {
		b.last = max(b.last, n)
	}
}

// resolve finds or makes the gap that a reviewer names, and reports whether that
// changes the ledger. A gap without an id means that nothing was named.
func (b *ledgerIndex) resolve(m plan.Missing) (plan.Gap, bool) {
	key := strings.ToUpper(strings.TrimSpace(m.ID))
	old, known := b.gaps[key]
	if !known {
		old, known = b.gaps[b.byText[normalized(m.Gap)]]
	}
	g := plan.Gap{
		ID:       old.ID,
		Gap:      strings.TrimSpace(m.Gap),
		Severity: m.Severity,
		Status:   old.Status,
	}
	switch {
	case !known && g.Gap == "":
		return plan.Gap{}, false
	case !known:
		g.ID, g.Status = fmt.Sprintf("G%d", b.last+1), plan.GapOpened
	case old.Status == plan.GapClosed:
		g.Status = plan.GapReopened
	}
	if g.Gap == "" {
		g.Gap = old.Gap
	}
	if g.Severity == "" {
		g.Severity = old.Severity
	}
	if g.Severity == "" {
		g.Severity = plan.SeverityMust
	}
	if g != old {
		b.add(g)
	}
	return g, g != old
}
