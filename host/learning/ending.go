package learning

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/skills"
	"github.com/plan-engine/plan/skills/auto"
)

// maxLessonBytes is how much of a gap's text a lesson keeps.
const maxLessonBytes = 400

// StartRun says which run is driven from here on, and what its journal holds so
// far; up to the seq foreign it was written elsewhere. It comes before the first phase is
// advised.
func (l *Learning) StartRun(run plan.RunID, past []plan.Event, foreign int64) {
	l.mu.Lock()
	l.run, l.style = run, style{notOurs: foreign}
	l.mu.Unlock()
	l.Observe(past...)
}

// Observe takes in what was recorded of the run that is driven: at its end its
// journal, which may be long, is not read again. A nil Learning observes
// nothing.
func (l *Learning) Observe(events ...plan.Event) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ev := range events {
		if matters(ev.Body) {
			l.seen = append(l.seen, ev)
		}
		l.style.hear(ev)
	}
}

// Closing returns what says, as a run ends, what it has taught: how its skills
// did, and the draft that it makes if it completes a row of successes. Both are
// recorded with the end; lessons are kept beside the journal. MaxCycles
// is the run's limit of review cycles. What goes wrong is said in the events,
// and the run ends all the same.
func (l *Learning) Closing(maxCycles int) func(context.Context, plan.State, []plan.Body) []plan.Body {
	return func(ctx context.Context, to plan.State, last []plan.Body) []plan.Body {
		h := l.history(last)
		did := skills.Result{
			Outcome:   to,
			Reviews:   h.reviews,
			MaxCycles: maxCycles,
		}
		if h.aim != plan.AimChange {
			did.Outcome = plan.Unstarted // an answer is not judged, and what a review finds is the work of others
		}
		credited, counted := l.thread(ctx, h.continues)
		out := l.creditSkills(ctx, &h, did, credited)
		if h.aim == plan.AimChange && !counted {
			if draft := l.draftSkill(ctx, &h, to, last); draft != nil {
				out = append(out, *draft)
			}
		}
		l.keepLessons(ctx, &h, to)
		return out
	}
}

// creditSkills credits the picks of a run, and says what was credited.
func (l *Learning) creditSkills(
	ctx context.Context,
	h *history,
	res skills.Result,
	before map[plan.Phase]bool,
) []plan.Body {
	var out []plan.Body
	for _, p := range plan.Phases() {
		pick, ok := h.picks[p]
		if !ok || pick.Why == plan.PickFailed || pick.Why == plan.PickIrrelevant {
			continue
		}
		if before[p] {
			out = append(out, plan.SkillOutcome{
				Skill:   pick.Skill,
				Phase:   p,
				Neutral: true,
				Why:     "the run that this one continues has counted",
			})
			continue
		}
		s := skills.Skill{}
		if pick.Skill != "" {
			if s, ok = l.unchangedSkill(ctx, pick); !ok {
				out = append(out, plan.SkillOutcome{
					Skill:   pick.Skill,
					Phase:   p,
					Neutral: true,
					Why:     "the skill has changed or gone since",
				})
				continue
			}
		}
		o, err := l.router.Credit(ctx, l.run, p, s, h.loaded[p][pick.Skill], res)
		if err != nil {
			o.Neutral = true
			o.Why = err.Error()
		}
		out = append(out, o)
	}
	return out
}

// unchangedSkill is the skill that was picked, if its bytes are still the same.
func (l *Learning) unchangedSkill(ctx context.Context, pick plan.SkillPick) (skills.Skill, bool) {
	c, _, err := l.readSkills(ctx)
	if err != nil {
		return skills.Skill{}, false
	}
	s, ok := c.Get(pick.Skill)
	return s, ok && s.Digest == pick.Version
}

// draftSkill counts the run, and makes a draft if it completes a row of
// successes. It returns nil where there is nothing to say.
func (l *Learning) draftSkill(ctx context.Context, h *history, to plan.State, last []plan.Body) *plan.SkillDraft {
	if l.settings.Skills.Off || l.settings.Skills.NoDraft {
		return nil
	}
	if to == plan.Failed && h.reviews == 0 {
		return nil // a wrong key, say, ends no row of successes
	}
	bucketer := auto.Bucketer{
		Streaks:   l.db,
		Threshold: auto.Threshold,
	}
	signature, runs, err := bucketer.Observe(ctx, l.run, auto.Kind(h.request, h.repo), to)
	if err != nil {
		return &plan.SkillDraft{Signature: signature, Error: err.Error()}
	}
	if len(runs) == 0 {
		return nil
	}
	draft, err := l.draftFromRuns(ctx, signature, runs, last)
	if err != nil {
		return &plan.SkillDraft{
			Signature: signature,
			Runs:      runs,
			Error:     err.Error(),
		}
	}
	return draft
}

// draftFromRuns makes a draft from what the runs had in common, nil where too
// few of them are left to compare.
func (l *Learning) draftFromRuns(
	ctx context.Context,
	signature string,
	runs []plan.RunID,
	last []plan.Body,
) (*plan.SkillDraft, error) {
	var evidence []auto.Evidence
	for _, run := range runs {
		events := l.db.Events(ctx, run, memory.Query{})
		if run == l.run {
			events = l.journalWith(ctx, last)
		}
		e, err := auto.Gather(events)
		if errors.Is(err, memory.ErrNoRun) {
			continue // it was removed since
		}
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", run, err)
		}
		evidence = append(evidence, e)
	}
	if len(evidence) < 2 {
		return nil, nil // one run has nothing in common with any other
	}
	c, _, err := l.readSkills(ctx)
	if err != nil {
		return nil, err
	}
	return l.library.Draft(ctx, signature, evidence, c.Skills)
}

// journalWith is the whole journal of the run that is driven, followed by what
// is about to be recorded.
func (l *Learning) journalWith(ctx context.Context, last []plan.Body) iter.Seq2[plan.Event, error] {
	return func(yield func(plan.Event, error) bool) {
		for ev, err := range l.db.Events(ctx, l.run, memory.Query{}) {
			if !yield(ev, err) {
				return
			}
		}
		for _, b := range last {
			if !yield(l.closingEvent(b), nil) {
				return
			}
		}
	}
}

// closingEvent is an event of the run's last review that is not recorded yet.
func (l *Learning) closingEvent(b plan.Body) plan.Event {
	return plan.Event{
		Run:   l.run,
		Phase: plan.Review,
		Body:  b,
	}
}

// keepLessons remembers what reviews found missing and the run then mended, so
// that a later run can do it at once.
func (l *Learning) keepLessons(ctx context.Context, h *history, to plan.State) {
	if l.settings.Memory.Off || to != plan.Approved {
		return
	}
	for _, g := range h.closedGaps {
		if g.Severity == plan.SeverityShould {
			continue
		}
		// A fact that cannot be kept is no reason for a run to end otherwise.
		_, _, _ = l.db.AddFact(ctx, plan.Fact{
			Text:    "A review found missing, and it was then done: " + cutText(l.redact(g.Gap), maxLessonBytes),
			Repo:    l.repo,
			Source:  plan.FactFromLesson,
			Run:     l.run,
			Expires: l.now().Add(l.retention()),
		})
	}
}

// cutText shortens a text to about n bytes, at a rune.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
