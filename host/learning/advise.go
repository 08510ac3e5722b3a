package learning

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan/phases"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/skills"
)

// What a phase may be told.
const (
	maxFacts        = 6
	maxFactBytes    = 2000 // about 500 tokens
	minFactScore    = 2.5  // a fact below is about something else
	maxSearchedHits = 20   // facts that are looked at for a request
	maxListedSkills = 20
)

// stopWords are in most requests and say nothing about what one is about.
const stopWords = ` add fix make change update use new file files code function support remove implement bug error ` +
	`issue need want test tests work run get set all some any when where which into out only also just now then than `

// Advise implements [phases.Adviser]: what is remembered that has to do with the
// request, and the skill that the router picks for the phase. Review is told of
// no skill.
func (l *Learning) Advise(ctx context.Context, p plan.Phase, request string) []plan.Body {
	var out []plan.Body
	if r := l.recall(ctx, p, request); r != nil {
		out = append(out, *r)
	}
	if l.settings.Skills.Off || phases.TraitsOf(p).Judges {
		return out
	}
	c, ix, err := l.readSkills(ctx)
	if err != nil {
		return append(out, plan.SkillPick{Why: plan.PickFailed, Error: err.Error()})
	}
	pick := l.router.Choose(ctx, ix, p, request)
	if pick.Why == plan.PickIrrelevant && pick.Error == "" {
		return out
	}
	pick.Hint = skills.Hint(pick, c)
	var index strings.Builder
	for _, m := range ix.Relevant(request, p, maxListedSkills) {
		fmt.Fprintf(&index, "- %s: %s\n", m.Skill.Name, m.Skill.Description)
	}
	pick.Index = index.String()
	return append(out, pick)
}

// recall finds what a phase is told from memory, nil for a phase that is told
// nothing. Facts go to the phases of the settings (Explore, where they name
// none), how the person writes to Implement.
func (l *Learning) recall(ctx context.Context, p plan.Phase, request string) *plan.Recall {
	if l.settings.Memory.Off {
		return nil
	}
	withFacts := l.settings.Memory.Recall
	if withFacts == nil {
		withFacts = config.UsualRecall()
	}
	var r plan.Recall
	if p == plan.Implement {
		if s, err := l.db.Style(ctx); err == nil {
			r.Style = s.Line()
		}
	}
	if slices.Contains(withFacts, string(p)) {
		l.recallFacts(ctx, request, &r)
	}
	if len(r.Facts)+len(r.Withheld) == 0 && r.Style == "" && r.Error == "" {
		return nil
	}
	return &r
}

// recallFacts fills in which facts are told and which are withheld, and why. The
// repository's own are all told while they fit: "how tests are run here" shares no
// word with most requests that need it. Of the others, and where they do not fit,
// those are told that have to do with the request.
func (l *Learning) recallFacts(ctx context.Context, request string, r *plan.Recall) {
	r.Facts = []plan.Recalled{}
	r.Terms = telling(request)
	hits, err := l.db.SearchFacts(ctx, memory.FactQuery{
		Words: r.Terms,
		Repo:  l.repo,
		Now:   l.now(),
		Limit: maxSearchedHits,
	})
	if err != nil {
		r.Error = err.Error()
		return
	}
	facts, err := l.ownFacts(ctx)
	if err != nil {
		r.Error = err.Error()
		return
	}
	given := map[int64]bool{}
	size := 0
	for _, f := range facts {
		given[f.ID] = true
		size += len(f.Text)
	}
	var used []int64
	related := 0
	for _, h := range hits {
		why := ""
		switch {
		case h.Expired:
			why = "expired"
		case given[h.ID] && h.Score < minFactScore:
			continue // it is told with the rest
		case given[h.ID]:
		case h.Score < minFactScore:
			why = "score"
		case h.Matched == 0:
			why = "no shared word"
		case related == maxFacts:
			why = "too many"
		case size+len(h.Text) > maxFactBytes:
			why = "too long"
		}
		if why != "" {
			r.Withheld = append(r.Withheld, plan.WithheldFact{
				ID:    h.ID,
				Score: h.Score,
				Why:   why,
			})
			continue
		}
		if !given[h.ID] {
			related++
			size += len(h.Text)
		}
		used = append(used, h.ID)
		r.Facts = append(r.Facts, plan.Recalled{
			ID:    h.ID,
			Text:  h.Text,
			Score: h.Score,
		})
	}
	for _, f := range facts {
		if !slices.Contains(used, f.ID) {
			r.Facts = append(r.Facts, plan.Recalled{ID: f.ID, Text: f.Text})
		}
	}
	// Only a fact that the request asked for lives on for it: one that is told
	// every time would otherwise never expire.
	if err := l.db.UseFacts(ctx, used, l.now().Add(l.retention())); err != nil {
		r.Error = err.Error()
	}
}

// telling are the words that say what a text is about.
func telling(text string) []string {
	return slices.DeleteFunc(
		skills.Words(text),
		func(w string) bool { return strings.Contains(stopWords, " "+w+" ") },
	)
}

// ownFacts are those of the repository, none where they are too much to tell.
func (l *Learning) ownFacts(ctx context.Context) ([]plan.Fact, error) {
	if l.repo == "" {
		return nil, nil
	}
	return l.db.FactsWithin(ctx, l.repo, maxFactBytes, l.now())
}
