package learning

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/skills"
)

// Which repositories facts are about, beside the root of one.
const (
	Everywhere = ""  // facts that hold for every repository
	AllFacts   = "*" // those of all repositories, and those that hold everywhere
)

// Facts are what is remembered across runs, as people see and change them.
type Facts struct {
	// DB holds them. Required.
	DB *memory.DB
	// Redact replaces secrets in what is added; nil replaces nothing.
	Redact func(string) string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// FoundFact is a fact that holds words that were searched for.
type FoundFact struct {
	plan.Fact
	Score float64 `json:"score"` // how well it fits; more is better
}

// Add keeps a fact that a person states about the repository at repo, or
// [Everywhere]. It is forgotten after keep, never with 0. Merged says that a
// fact like it is remembered already: that one is returned.
func (f Facts) Add(
	ctx context.Context,
	repo string,
	text string,
	keep time.Duration,
) (fact plan.Fact, merged bool, err error) {
	if f.Redact != nil {
		text = f.Redact(text)
	}
	fact = plan.Fact{
		Text:   text,
		Repo:   repo,
		Source: plan.FactFromPerson,
	}
	if keep > 0 {
		fact.Expires = f.now().Add(keep)
	}
	fact, how, err := f.DB.AddFact(ctx, fact)
	return fact, how == memory.FactMerged, err
}

// Search finds at most limit facts by the words of a text, the best first: those
// that hold for the repository at repo, or [AllFacts].
func (f Facts) Search(ctx context.Context, repo, text string, limit int) ([]FoundFact, error) {
	hits, err := f.DB.SearchFacts(ctx, memory.FactQuery{
		Words: skills.Words(text),
		Repo:  repo,
		Limit: limit,
		Now:   f.now(),
	})
	if err != nil {
		return nil, err
	}
	out := make([]FoundFact, 0, len(hits))
	for _, h := range hits {
		out = append(out, FoundFact{
			Fact:  h.Fact,
			Score: h.Score,
		})
	}
	return out, nil
}

// List returns at most limit facts, all of them with 0, the newest first: those
// that hold for the repository at repo, or [AllFacts].
func (f Facts) List(ctx context.Context, repo string, limit int) ([]plan.Fact, error) {
	facts, err := f.DB.Facts(ctx, repo, limit)
	if err != nil {
		return nil, err
	}
	return append([]plan.Fact{}, facts...), nil // an empty list is no null in JSON
}

// Export writes all facts, one JSON object a line.
func (f Facts) Export(ctx context.Context, to io.Writer) error {
	facts, err := f.DB.Facts(ctx, AllFacts, 0)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(to)
	for _, fact := range facts {
		line, err := plan.MarshalCompact(fact)
		if err != nil {
			return fmt.Errorf("write fact %d: %w", fact.ID, err)
		}
		fmt.Fprintf(out, "%s\n", line) // the first error is kept for Flush
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the facts: %w", err)
	}
	return nil
}

// Import adds facts that [Facts.Export] wrote, and counts what became of them. A
// fact that a person has asked to be forgotten is left out.
func (f Facts) Import(ctx context.Context, facts []plan.Fact) (map[memory.Added]int, error) {
	count := map[memory.Added]int{}
	for _, fact := range facts {
		_, how, err := f.DB.AddFact(ctx, fact)
		if err != nil {
			return nil, err
		}
		count[how]++
	}
	return count, nil
}

// mostFactBytes is how many bytes a file of facts may have.
const mostFactBytes = 64 << 20

// ReadFacts reads what [Facts.Export] wrote. One bad fact is an error, which
// calls the input by name, so that a bad file adds nothing. A fact that no run
// has learned counts as one that a person has stated.
func ReadFacts(in io.Reader, name string) ([]plan.Fact, error) {
	var out []plan.Fact
	bounded := &io.LimitedReader{R: in, N: mostFactBytes + 1}
	dec := json.NewDecoder(bounded)
	for n := 1; ; n++ {
		var f plan.Fact
		err := dec.Decode(&f)
		if bounded.N == 0 {
			return nil, fmt.Errorf("%s is larger than %d MiB; nothing was added", name, mostFactBytes>>20)
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil && strings.TrimSpace(f.Text) == "" {
			err = errors.New("it has no text")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: fact %d: %w; nothing was added", name, n, err)
		}
		if f.Source != plan.FactFromTool && f.Source != plan.FactFromLesson {
			f.Source = plan.FactFromPerson
		}
		out = append(out, f)
	}
}

// SetStyle changes what is known of how the person writes, and returns it: with
// reset all of it is forgotten first, and stated is added in their own words, ""
// adds nothing.
func (f Facts) SetStyle(ctx context.Context, reset bool, stated string) (memory.Style, error) {
	if reset {
		if err := f.DB.ResetStyle(ctx); err != nil {
			return memory.Style{}, err
		}
	}
	if err := f.DB.StateStyle(ctx, stated); err != nil {
		return memory.Style{}, err
	}
	return f.DB.Style(ctx)
}

func (f Facts) now() time.Time {
	if f.Now == nil {
		return time.Now()
	}
	return f.Now()
}
