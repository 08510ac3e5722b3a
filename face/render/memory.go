package render

import (
	"io"
	"strconv"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/memory"
)

// Facts writes a table of facts. Their age is counted to now.
func Facts(w io.Writer, facts []plan.Fact, now time.Time) error {
	if len(facts) == 0 {
		return writef(w, "Nothing is remembered yet. Add a fact with: plan memory add \"…\"\n")
	}
	return factTable(w, facts, now)
}

// FoundFacts writes a table of facts that were searched for.
func FoundFacts(w io.Writer, hits []learning.FoundFact, now time.Time) error {
	if len(hits) == 0 {
		return writef(w, "No fact holds these words.\n")
	}
	facts := make([]plan.Fact, len(hits))
	for i, f := range hits {
		facts[i] = f.Fact
	}
	return factTable(w, facts, now)
}

func factTable(w io.Writer, facts []plan.Fact, now time.Time) error {
	rows := [][]string{{"FACT", "FROM", "AGE", "USED", "TEXT"}}
	for _, f := range facts {
		rows = append(rows, []string{
			strconv.FormatInt(f.ID, 10),
			string(f.Source),
			Duration(now.Sub(f.Created)),
			strconv.Itoa(f.Used),
			SafeLine(f.Text),
		})
	}
	return writeTable(w, rows)
}

// FactAdded writes that a fact is remembered, or was already.
func FactAdded(w io.Writer, f plan.Fact, merged bool) error {
	word := "Remembered"
	if merged {
		word = "Remembered already"
	}
	return writef(w, "%s as fact %d.\n", word, f.ID)
}

// FactForgotten writes that a fact is forgotten.
func FactForgotten(w io.Writer, f plan.Fact) error {
	return writef(w, "Forgotten: %s\n", SafeLine(f.Text))
}

// Fact writes a fact and where it comes from.
func Fact(w io.Writer, f plan.Fact) error {
	tellf(w, "%s\n\nfrom     %s\n", SafeLine(f.Text), f.Source)
	if f.Run != "" {
		tellf(w, "run      %s\n", f.Run)
	}
	scope := f.Repo
	if scope == "" {
		scope = "every repository"
	}
	tellf(w, "holds    %s\n", SafeLine(scope))
	tellf(w, "created  %s\n", f.Created.Format(time.RFC3339))
	err := writef(w, "used     %d times\n", f.Used)
	if !f.Expires.IsZero() {
		err = writef(w, "expires  %s\n", f.Expires.Format(time.RFC3339))
	}
	return err
}

// FactsImported writes what became of facts that were imported.
func FactsImported(w io.Writer, count map[memory.Added]int) error {
	return writef(
		w,
		"%d new, %d known, %d forgotten before and left out.\n",
		count[memory.FactNew],
		count[memory.FactMerged],
		count[memory.FactForgotten],
	)
}

// Style writes what is known of how a person writes, and what a model is told
// of it.
func Style(w io.Writer, s memory.Style) error {
	tellf(w, "formality  %.2f\n", s.Formality)
	tellf(w, "energy     %.2f\n", s.Energy)
	tellf(w, "terseness  %.2f\n", s.Terseness)
	tellf(w, "emoji      %.2f\n", s.Emoji)
	tellf(w, "seen       %d\n", s.Seen)
	for _, words := range s.Stated {
		tellf(w, "stated     %s\n", SafeLine(words))
	}
	line := s.Line()
	if line == "" {
		line = "Nothing is said to a model about it: it is close to neutral, or too little is known."
	}
	return writef(w, "\n%s\n", SafeLine(line))
}
