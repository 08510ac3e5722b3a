package main

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/skills"
	"github.com/plan-engine/plan/skills/auto"
)

// closing is what a run that ends has taught: how its skills did, and whether
// it completes a row of successes. It is recorded with the end. Learning is an
// adviser: what goes wrong here is said, and the run ends all the same.
func (l *learning) closing(maxCycles int) func(context.Context, plan.State, []plan.Body) []plan.Body {
	return func(ctx context.Context, to plan.State, last []plan.Body) []plan.Body {
		h := l.history(last)
		out := l.outcomes(ctx, &h, skills.Result{
			Outcome:   to,
			Reviews:   h.reviews,
			MaxCycles: maxCycles,
		})
		if draft := l.draft(ctx, &h, to, last); draft != nil {
			out = append(out, *draft)
		}
		l.lessons(ctx, &h, to)
		l.style(ctx, &h)
		return out
	}
}

// saw keeps what matters of the journal of the run that is driven, as it is
// written or read: the journal of a long run is not to be read again for it.
func (l *learning) saw(events ...plan.Event) {
	if l == nil { // who only ends a run learns nothing from it
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ev := range events {
		if matters(ev.Body) {
			l.seen = append(l.seen, ev)
		}
	}
}

// matters says whether history looks at an event.
func matters(body plan.Body) bool {
	switch b := body.(type) {
	case plan.RunStart, plan.Steering, plan.FollowUp, plan.VerdictGiven, plan.SkillPick, plan.GapChange:
		return true
	case plan.ToolStart:
		return b.Name == skillTool
	case plan.ToolEnd:
		return b.Name == skillTool
	}
	return false
}

// skillTool is the tool that loads a skill.
const skillTool = "skill"

// history is what was seen of the run, with what is about to be recorded.
func (l *learning) history(last []plan.Body) history {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := history{}
	for _, ev := range l.seen {
		h.take(ev)
	}
	for _, b := range last {
		h.take(plan.Event{
			Run:   l.run,
			Phase: plan.Review,
			Body:  b,
		})
	}
	return h
}

// events is the whole journal of the run with what is about to be recorded.
func (l *learning) events(ctx context.Context, last []plan.Body) iter.Seq2[plan.Event, error] {
	return func(yield func(plan.Event, error) bool) {
		for ev, err := range l.db.Events(ctx, l.run, memory.Query{}) {
			if !yield(ev, err) {
				return
			}
		}
		for _, b := range last {
			if !yield(plan.Event{
				Run:   l.run,
				Phase: plan.Review,
				Body:  b,
			}, nil) {
				return
			}
		}
	}
}

// history is what is worth knowing of a run's journal for learning.
type history struct {
	request string
	said    []string
	reviews int
	picks   map[plan.Phase]plan.SkillPick
	loaded  map[plan.Phase]map[string]bool
	calls   map[string]string // name that a call of the skill tool asks for
	closed  []plan.Gap
}

func (h *history) take(ev plan.Event) {
	if h.picks == nil {
		h.picks, h.loaded, h.calls = map[plan.Phase]plan.SkillPick{}, map[plan.Phase]map[string]bool{}, map[string]string{}
	}
	switch b := ev.Body.(type) {
	case plan.RunStart:
		h.request = b.Request
	case plan.Steering:
		h.said = append(h.said, b.Text)
	case plan.FollowUp:
		h.said = append(h.said, b.Text)
	case plan.VerdictGiven:
		h.reviews++
	case plan.SkillPick:
		h.picks[ev.Phase] = b
	case plan.GapChange:
		if !b.Open() {
			h.closed = append(h.closed, b.Gap)
		}
	case plan.ToolStart:
		if b.Name == skillTool {
			h.calls[b.Call] = skillNamed(b.Args)
		}
	case plan.ToolEnd:
		if name := h.calls[b.Call]; name != "" && !b.Error {
			if h.loaded[ev.Phase] == nil {
				h.loaded[ev.Phase] = map[string]bool{}
			}
			h.loaded[ev.Phase][name] = true
		}
	}
}

// outcomes credits the picks of a run, and says what was credited.
func (l *learning) outcomes(ctx context.Context, h *history, res skills.Result) []plan.Body {
	var out []plan.Body
	for _, p := range plan.Phases() {
		pick, ok := h.picks[p]
		if !ok || pick.Why == plan.PickFailed {
			continue
		}
		s := skills.Skill{}
		if pick.Skill != "" {
			if s, ok = l.current(ctx, pick); !ok {
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
			o.Neutral, o.Why = true, err.Error()
		}
		out = append(out, o)
	}
	return out
}

// current is the skill that was picked, if its bytes are still the same.
func (l *learning) current(ctx context.Context, pick plan.SkillPick) (skills.Skill, bool) {
	c, _, err := l.find(ctx)
	if err != nil {
		return skills.Skill{}, false
	}
	s, ok := c.Get(pick.Skill)
	return s, ok && s.Digest == pick.Version
}

// draft counts the run and makes a draft if it completes a row. It returns nil
// where there is nothing to say.
func (l *learning) draft(ctx context.Context, h *history, to plan.State, last []plan.Body) *plan.SkillDraft {
	if l.cfg.Skills.Off || l.cfg.Skills.NoDraft || to == plan.Failed && h.reviews == 0 {
		return nil // a wrong key, say, ends no row of successes
	}
	signature, runs, err := auto.Bucketer{Streaks: l.db, Threshold: auto.Threshold}.Observe(ctx, l.run, h.request, to)
	if err != nil {
		return &plan.SkillDraft{Signature: signature, Error: err.Error()}
	}
	if len(runs) == 0 {
		return nil
	}
	draft, err := l.draftFrom(ctx, signature, runs, last)
	if err != nil {
		return &plan.SkillDraft{
			Signature: signature,
			Runs:      runs,
			Error:     err.Error(),
		}
	}
	return draft
}

func (l *learning) draftFrom(
	ctx context.Context,
	signature string,
	runs []plan.RunID,
	last []plan.Body,
) (*plan.SkillDraft, error) {
	var all []auto.Evidence
	for _, run := range runs {
		events := l.db.Events(ctx, run, memory.Query{})
		if run == l.run {
			events = l.events(ctx, last)
		}
		e, err := auto.Gather(events)
		if errors.Is(err, memory.ErrNoRun) {
			continue // somebody has removed it since
		}
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", run, err)
		}
		all = append(all, e)
	}
	if len(all) < 2 {
		return nil, nil // one run has nothing in common with any other
	}
	c, _, err := l.find(ctx)
	if err != nil {
		return nil, err
	}
	return l.library.Draft(ctx, signature, all, c.Skills)
}

// lessons keeps what reviews found missing and the run then mended, so that a
// later run can do it at once.
func (l *learning) lessons(ctx context.Context, h *history, to plan.State) {
	if l.cfg.Memory.Off || to != plan.Approved {
		return
	}
	for _, g := range h.closed {
		if g.Severity == plan.SeverityShould {
			continue
		}
		// A fact that cannot be kept is no reason for a run to end otherwise.
		_, _, _ = l.db.AddFact(ctx, plan.Fact{
			Text:    "A review found missing, and it was then done: " + cutText(l.redact(g.Gap), 400),
			Repo:    l.repo,
			Source:  plan.FactFromLesson,
			Run:     l.run,
			Expires: l.now().Add(l.retention()),
		})
	}
}

// style takes in how the person wrote.
func (l *learning) style(ctx context.Context, h *history) {
	if l.cfg.Memory.Off {
		return
	}
	_ = l.db.ObserveStyle(ctx, append([]string{h.request}, h.said...)) // an adviser fails open
}
