package learning

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/skills"
)

// What a model that asks is told at most.
const (
	askedFacts    = 8
	askedRuns     = 6
	askedPassages = 4    // of a run, beside its request
	askedLine     = 400  // bytes of a fact or of a passage
	askedBytes    = 6000 // in all
	searchedRuns  = 300  // the newest runs of the repository are looked at
)

// pastRun is what is searched of a run.
type pastRun struct {
	memory.RunInfo
	passages []passage
}

// passage is a sentence or two of a run, as long as a fact.
type passage struct {
	part  string // which part of the run it is
	text  string
	terms []string
}

// Recall answers a model that asks what is remembered: facts that hold for the
// repository, and what its earlier runs were about and came to, no less relevant than
// what phases are told. It is data, a line each, and "" where there is nothing. It
// changes nothing, and knows of no other repository's runs.
func (l *Learning) Recall(ctx context.Context, query string) (string, error) {
	if l.settings.Memory.Off || l.repo == "" {
		return "", nil
	}
	var out strings.Builder
	add := func(line string) bool {
		if out.Len()+len(line) > askedBytes {
			return false
		}
		out.WriteString(line + "\n")
		return true
	}
	words := telling(query)
	hits, err := l.db.SearchFacts(ctx, memory.FactQuery{
		Words: words,
		Repo:  l.repo,
		Now:   l.now(),
		Limit: askedFacts,
	})
	if err != nil {
		return "", err
	}
	for _, h := range hits {
		if h.Score >= minFactScore && h.Matched > 0 && !h.Expired {
			add("- fact: " + oneline.CutBytes(l.redact(oneline.Of(h.Text)), askedLine))
		}
	}
	runs, err := l.pastRuns(ctx)
	if err != nil {
		return "", err
	}
	for _, match := range relevantRuns(runs, skills.Terms(strings.Join(words, " "))) {
		r := match.run
		state := string(r.State)
		if r.Parked != "" {
			state = "parked"
		}
		first, _, _ := strings.Cut(strings.TrimSpace(r.Request), "\n")
		if !add(fmt.Sprintf("- run %s of %s, %s: %s", r.ID, r.Created.Format("2006-01-02"), state,
			oneline.CutBytes(l.redact(oneline.Of(first)), askedLine))) {
			break
		}
		for _, p := range match.passages {
			add(fmt.Sprintf("  %s: %s", p.part, oneline.CutBytes(l.redact(p.text), askedLine)))
		}
	}
	return out.String(), nil
}

// pastRuns are the newest runs of the repository, apart from the one that is driven.
func (l *Learning) pastRuns(ctx context.Context) ([]pastRun, error) {
	infos, err := l.db.Runs(ctx, memory.Filter{Repo: l.repo, Limit: searchedRuns})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	driven := l.run
	l.mu.Unlock()
	var out []pastRun
	for _, info := range infos {
		if info.ID == driven {
			continue
		}
		r := pastRun{RunInfo: info}
		r.add("title", info.Title)
		for line := range strings.Lines(info.Request) {
			r.add("request", line)
		}
		query := memory.Query{Types: []plan.EventType{plan.TypePlan, plan.TypeVerdict, plan.TypeGap}}
		for ev, err := range l.db.Events(ctx, info.ID, query) {
			if err != nil {
				break // a journal that cannot be read tells as much as it does
			}
			r.addEvent(ev.Body)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		out = append(out, r)
	}
	return out, nil
}

// addEvent takes in what a run planned, how it was judged, and what stood in the way.
func (r *pastRun) addEvent(body plan.Body) {
	switch b := body.(type) {
	case plan.PlanMade:
		r.drop("plan")
		r.add("plan", titleOfPlan(b.Text))
	case plan.VerdictGiven:
		r.drop("verdict")
		r.add("verdict", b.Word()+": "+b.Why)
	case plan.GapChange:
		part := "open gap"
		if !b.Open() {
			r.dropText("open gap", b.Gap.Gap)
			part = "closed gap"
		}
		r.add(part, b.Gap.Gap)
	}
}

func (r *pastRun) add(part, text string) {
	text = oneline.Of(text)
	same := func(p passage) bool { return p.part == part && p.text == text }
	if text == "" || slices.ContainsFunc(r.passages, same) {
		return
	}
	r.passages = append(r.passages, passage{
		part:  part,
		text:  text,
		terms: skills.Terms(text),
	})
}

func (r *pastRun) drop(part string) {
	r.passages = slices.DeleteFunc(r.passages, func(p passage) bool { return p.part == part })
}

func (r *pastRun) dropText(part, text string) {
	text = oneline.Of(text)
	r.passages = slices.DeleteFunc(r.passages, func(p passage) bool { return p.part == part && p.text == text })
}

// titleOfPlan is the first line of a plan that says something.
func titleOfPlan(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(strings.TrimLeft(line, "#")); line != "" {
			return line
		}
	}
	return ""
}

// foundRun is a run with the passages that are about what was asked for.
type foundRun struct {
	run      pastRun
	passages []passage
	score    float64
}

// relevantRuns are the runs with a passage that is as relevant as a fact has to be,
// the best first, with those passages.
func relevantRuns(runs []pastRun, terms []string) []foundRun {
	holding := map[string]int{}
	for _, r := range runs {
		for _, t := range terms {
			if slices.ContainsFunc(r.passages, func(p passage) bool { return slices.Contains(p.terms, t) }) {
				holding[t]++
			}
		}
	}
	var out []foundRun
	for _, r := range runs {
		if match := r.about(terms, holding, len(runs)); match.score > 0 {
			out = append(out, match)
		}
	}
	slices.SortStableFunc(out, func(a, b foundRun) int { return cmp.Compare(b.score, a.score) })
	return out[:min(len(out), askedRuns)]
}

// about finds the passages that are about terms, of which each is held by so many of
// all runs.
func (r pastRun) about(terms []string, holding map[string]int, runs int) foundRun {
	match := foundRun{run: r}
	for _, p := range r.passages {
		var held []int
		for _, t := range terms {
			if slices.Contains(p.terms, t) {
				held = append(held, holding[t])
			}
		}
		score := memory.Relevance(runs, held, len(strings.Fields(p.text)))
		if score < minFactScore {
			continue
		}
		match.score = max(match.score, score)
		if p.part != "request" && len(match.passages) < askedPassages {
			match.passages = append(match.passages, p)
		}
	}
	return match
}
