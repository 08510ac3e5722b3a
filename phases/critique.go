package phases

import (
	"context"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// critiqueTurns bounds a critique, in model calls: it advises, and must not
// become another exploration.
const critiqueTurns = 20

// critique has a plan looked at by a model that did not write it. Its exit is
// what should be changed, or nothing.
func (ph *Phases) critique(ctx context.Context, b plan.Brief, s *session) (out plan.Outcome, err error) {
	prompt := ph.opening(b, "critique", map[string]string{"PLAN": fence("plan", "", b.Plan.Text)})
	err = s.ask(ctx, 0, prompt)
	if err != nil {
		return out, err
	}
	text := strings.TrimSpace(s.end.Text)
	switch {
	case s.end.Cut:
		return out, errEmpty("Critique", "whole finding")
	case text == "":
		return out, errEmpty("Critique", "finding")
	}
	if word := strings.Trim(text, "*_`.\"' \n"); !strings.EqualFold(word, "none") {
		out.Remarks = text
	}
	return out, nil
}

// model names the model of a phase.
func (ph *Phases) model(p plan.Phase) string { return ph.cfg.Models[ph.modelledAs(p)] }

// modelledAs is the phase whose model a phase has: its own, unless none is set.
func (ph *Phases) modelledAs(p plan.Phase) plan.Phase {
	if d, _ := describe(p); ph.cfg.Models[p] == "" && d.modelOf != "" {
		return d.modelOf
	}
	return p
}

// limits bound a phase.
func (ph *Phases) limits(p plan.Phase) plan.Limits {
	limits := ph.cfg.Limits
	if d, _ := describe(p); d.maxTurns > 0 && (limits.Turns == 0 || limits.Turns > d.maxTurns) {
		limits.Turns = d.maxTurns
	}
	return limits
}

// part is what bounds a phase by itself.
func (ph *Phases) part(b plan.Brief) loop.Part {
	own := ph.cfg.Own[b.Phase]
	if own == (plan.Limits{}) {
		return loop.Part{}
	}
	return loop.Part{
		Name:   "phase." + string(b.Phase),
		Limits: own,
		Spent:  b.PhaseSpent,
		Cost:   b.PhaseCost,
	}
}

// earlierPlan shows the plan that a new one takes the place of, with what is to
// be changed about it.
func earlierPlan(b plan.Brief) string {
	if b.Plan == nil {
		return ""
	}
	old := fence("earlier-plan", "", b.Plan.Text)
	switch {
	case b.Remarks == "":
		return givenUp(b, old)
	case b.By == string(plan.Critique):
		return "This is your plan so far, and what somebody found who looked at it without having written it. " +
			"Check each finding against the code. Change the plan where it is right; where it is not, leave the " +
			"plan as it is. Hand over the whole plan, in the form below.\n\n" +
			old + "\n\n" + fence(
			"findings",
			"",
			b.Remarks,
		)
	}
	return "The person who wants the work has read this plan and sent it back. What they say counts as part of " +
		"the request. Hand over the whole plan anew, in the form below.\n\n" +
		old + "\n\n" + fence(
		"comments",
		"",
		b.Remarks,
	)
}

// siblingPlan shows a plan for the same work elsewhere. What it names need not
// be here.
func siblingPlan(b plan.Brief) string {
	if b.Sibling == "" {
		return ""
	}
	return "A person has approved this plan for the same work in another repository. Keep its approach and its " +
		"decisions, and adapt it: every file, name and command in it belongs there, so check each against the " +
		"code here, leave out what has no counterpart, and add what only this repository needs.\n\n" +
		fence(
			"approved-elsewhere",
			"",
			b.Sibling,
		)
}

// givenUp shows a plan that was not carried through, with why.
func givenUp(b plan.Brief, old string) string {
	out := "An earlier plan for this request was given up. Some of it may have been carried out: look at the tree " +
		"as it is now. Say in Why what this one does differently.\n\n" + old
	if b.Replan != "" {
		out += "\n\n" + givenUpBecause(b)
	}
	if slices.ContainsFunc(b.Gaps, plan.Gap.Open) {
		out += "\n\nReviews found these gaps, which are still open:\n\n" + gapList(b.Gaps)
	}
	return out
}
