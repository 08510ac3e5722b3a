package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/internal/sampling"
)

// opening is a reviewer that leaves these gaps open, review by review, and is
// content when there is no more to say.
func opening(reviews ...string) func(plan.Brief) plan.Outcome {
	return func(b plan.Brief) plan.Outcome {
		if b.Phase != plan.Review {
			return usual(1)(b)
		}
		j := plan.Judgement{Verdict: plan.NeedsFix, Why: "gaps", Missing: []plan.Missing{}, Commands: []plan.RanCommand{}}
		if b.Attempt > len(reviews) {
			j.Verdict, j.Approved = plan.Done, true
		}
		wanted := []string{}
		if !j.Approved {
			wanted = strings.Fields(reviews[b.Attempt-1])
		}
		for _, g := range b.Gaps {
			if g.Open() && !slices.Contains(wanted, g.ID) {
				g.Status = plan.GapClosed
				j.Gaps = append(j.Gaps, g)
			}
		}
		for _, id := range wanted {
			g := plan.Gap{ID: id, Gap: "gap " + id, Severity: plan.SeverityMust, Status: plan.GapOpened}
			i := slices.IndexFunc(b.Gaps, func(old plan.Gap) bool { return old.ID == id })
			switch {
			case i < 0:
			case b.Gaps[i].Open():
				continue
			default:
				g.Status = plan.GapReopened
			}
			j.Gaps = append(j.Gaps, g)
		}
		return plan.Outcome{Judgement: &j}
	}
}

// TestRunsConverge: a run that goes round in circles ends with what stays open,
// long before its cycles are used up; one that makes progress goes on.
func TestRunsConverge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reviews []string
		named   map[string]string
		at      int    // reviews when it ends
		why     string // "" for approved
	}{
		"progress":                  {[]string{"G1 G2 G3", "G1 G2", "G1"}, nil, 4, ""},
		"the same gap again":        {[]string{"G1", "G1", "G1"}, nil, 4, ""},
		"a gap that came back once": {[]string{"G1", "G2", "G1 G3"}, nil, 4, ""},
		"back and forth":            {[]string{"G1", "G2", "G1", "G2"}, nil, 3, "they go back and forth between G2 and G1"},
		"a gap that came back twice": {
			[]string{"G1", "G2", "G1 G3", "G4", "G1 G5", "G6"},
			nil, 5,
			"the reviews do not converge: G1 was closed and came back twice",
		},
		"the work of before":    {[]string{"G1", "G2", "G3", "G4"}, map[string]string{"implement-3": "tree-implement-1"}, 3, "it is back at what review 1 saw"},
		"nothing was changed":   {[]string{"G1", "G1"}, map[string]string{"implement-2": "tree-implement-1", "review-3": "tree-implement-3"}, 3, ""},
		"out of cycles as well": {[]string{"G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "G10"}, nil, 9, "gaps"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cfg.MaxCycles = 8
			b.crew.outcome = opening(c.reviews...)
			b.snaps.named = c.named
			end := b.finish()
			want := plan.Exhausted
			if c.why == "" {
				want = plan.Approved
			}
			last := b.events()[len(b.events())-1].Body.(plan.RunEnd)
			if n := b.count(plan.TypeVerdict); end.State != want || n != c.at || !strings.Contains(last.Why, c.why) {
				t.Errorf("%s after %d reviews: %s; want %s after %d: %s", end.State, n, last.Why, want, c.at, c.why)
			}
		})
	}
}

// TestAPlanIsCritiquedOnce: what is found goes back to Plan with the plan it is
// about, in a new conversation; the next plan is carried out.
func TestAPlanIsCritiquedOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		found string
		fails error
		plans int
		want  plan.Critiqued
	}{
		"findings": {"forgets a caller", nil, 2, plan.Critiqued{Version: 1, Findings: "forgets a caller"}},
		"none":     {"", nil, 1, plan.Critiqued{Version: 1}},
		"failure":  {"", errors.New("no model"), 1, plan.Critiqued{Version: 1, Error: "no model"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cfg.Critique = true
			b.crew.outcome = func(brief plan.Brief) plan.Outcome {
				if brief.Phase == plan.Critique {
					return plan.Outcome{Remarks: c.found}
				}
				return usual(1)(brief)
			}
			b.crew.during = func(_ context.Context, brief plan.Brief) (*plan.Parked, error) {
				if brief.Phase == plan.Critique {
					return nil, c.fails
				}
				return nil, nil
			}
			if end := b.finish(); end.State != plan.Approved {
				t.Errorf("the run is %s", end.State)
			}
			var got []plan.Critiqued
			for _, ev := range b.events() {
				if body, ok := ev.Body.(plan.Critiqued); ok {
					got = append(got, body)
				}
			}
			if diff := cmp.Diff([]plan.Critiqued{c.want}, got); diff != "" || b.count(plan.TypePlan) != c.plans {
				t.Errorf("%d plans, and\n%s", b.count(plan.TypePlan), diff)
			}
			for _, brief := range b.crew.briefs {
				switch {
				case brief.Phase == plan.Critique && (brief.Conv != "c3" || brief.Attempt != 1 || brief.Plan == nil || brief.Report != ""):
					t.Errorf("the critic is told %+v", brief)
				case brief.Phase == plan.Plan && brief.Attempt == 2 && (brief.Remarks != c.found || brief.By != "critique" || brief.Plan.Version != 1 || brief.Conv != "c4"):
					t.Errorf("the planner is told %+v", brief)
				}
			}
		})
	}
}

// rulings is what a person has decided, by version.
type rulings map[int]engine.Ruling

func (d rulings) Ruling(_ context.Context, doc plan.PlanDoc) (*engine.Ruling, error) {
	if r, ok := d[doc.Version]; ok {
		return &r, nil
	}
	return nil, nil
}

// TestAPlanWaits goes through every decision, in one process each, as often as
// it takes.
func TestAPlanWaits(t *testing.T) {
	t.Parallel()
	mine := &plan.PlanDoc{Text: "mine"}
	for name, c := range map[string]struct {
		rulings []engine.Ruling // one for each process
		want    plan.State
		plans   []string
	}{
		"approved":  {[]engine.Ruling{{Approved: true, By: "person"}}, plan.Approved, []string{"the plan"}},
		"edited":    {[]engine.Ruling{{Approved: true, Plan: mine, By: "person"}}, plan.Approved, []string{"the plan", "mine"}},
		"sent back": {[]engine.Ruling{{Text: "smaller", By: "person"}, {Approved: true, By: "person"}}, plan.Approved, []string{"the plan", "the plan"}},
		"rejected":  {[]engine.Ruling{{Rejected: true, Text: "no", By: "person"}}, plan.Cancelled, []string{"the plan"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cfg.ApprovePlan, b.cfg.PlanApprover = true, rulings{}
			for i, r := range c.rulings {
				b.finish()
				end := b.finish() // waiting on asks no person again
				if end.Parked == nil || end.Parked.Reason != plan.ParkApproval || end.ExitCode != plan.ExitWaiting || end.Parked.Waiting[0].Call != plan.PlanCall(i+1) {
					t.Fatalf("process %d ends as %+v", i+1, end)
				}
				b.cfg.PlanApprover = rulings{i + 1: r}
			}
			if end := b.finish(); end.State != c.want {
				t.Errorf("the run is %s, want %s", end.State, c.want)
			}
			var plans []string
			for _, ev := range b.events() {
				if made, ok := ev.Body.(plan.PlanMade); ok {
					plans = append(plans, made.Text)
				}
			}
			if diff := cmp.Diff(c.plans, plans); diff != "" {
				t.Error(diff)
			}
			if n := b.count(plan.TypeApprovalResolved); n != len(c.rulings) || b.count(plan.TypeApprovalRequired) != n {
				t.Errorf("asked %d times, resolved %d times", b.count(plan.TypeApprovalRequired), n)
			}
			for _, brief := range b.crew.briefs {
				if brief.Phase == plan.Plan && brief.Attempt == 2 && (brief.Remarks != "smaller" || brief.By != "person") {
					t.Errorf("the planner is told %+v", brief)
				}
			}
		})
	}
}

// TestPlanningGoesOnAnywhere kills the process after each append of a run that
// plans twice, is critiqued and approved, and goes on: the same plans, one
// critique, one decision. A sample dies at some of them.
func TestPlanningGoesOnAnywhere(t *testing.T) {
	t.Parallel()
	stage := func(b *bench) {
		b.cfg.Critique, b.cfg.ApprovePlan = true, true
		b.cfg.PlanApprover = rulings{2: {Text: "smaller", By: "person"}, 3: {Approved: true, By: "person"}}
		b.crew.outcome = func(brief plan.Brief) plan.Outcome {
			if brief.Phase == plan.Critique {
				return plan.Outcome{Remarks: "forgets a caller"}
			}
			return usual(1)(brief)
		}
	}
	db := openDB(t)
	whole := benchOn(t, db, "whole")
	stage(whole)
	whole.finish()
	type death struct {
		at     int
		stored bool
	}
	var deaths []death
	for at := 1; at <= whole.j.appends; at++ {
		deaths = append(deaths, death{at: at}, death{at: at, stored: true})
	}
	if len(deaths) < sampledDeaths {
		t.Fatalf("the run has only %d appends", whole.j.appends)
	}
	for _, d := range sampling.Pick(sampling.New(t), sampledDeaths, deaths) {
		b := benchOn(t, db, plan.RunID(fmt.Sprintf("R%d%v", d.at, d.stored)))
		stage(b)
		b.j = &journal{fail: func(n int, _ []plan.Event) (bool, error) {
			if n == d.at {
				return d.stored, errDisk
			}
			return false, nil
		}}
		if _, err := b.drive(context.Background()); !errors.Is(err, errDisk) {
			t.Fatalf("append %d: %v", d.at, err)
		}
		b.j = nil
		if end := b.finish(); end.State != plan.Approved {
			t.Errorf("append %d: the run is %s", d.at, end.State)
		}
		for _, typ := range []plan.EventType{plan.TypePlan, plan.TypeCritique, plan.TypeApprovalResolved, plan.TypeState, plan.TypeVerdict} {
			if got, want := b.count(typ), whole.count(typ); got != want {
				t.Errorf("append %d, stored %v: %d %s events, want %d", d.at, d.stored, got, typ, want)
			}
		}
	}
}

// sampledDeaths is at how many places of a run a sample kills it.
const sampledDeaths = 24

// TestFindingsAreNoticedOnce, before the reviewer is asked, who is told of them.
func TestFindingsAreNoticedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.crew.outcome = usual(2)
	finding := plan.Finding{Kind: plan.FindScope, Path: "p", Text: "p was changed."}
	var patches []string
	b.cfg.Inspect = func(_ context.Context, in plan.Inspection) ([]plan.Finding, error) {
		patches = append(patches, in.Patch)
		if in.Plan == nil || len(in.Checks) != 1 || len(in.Baseline) != 1 || len(in.After) != 1 || in.Trees.Start != "tree-start" {
			t.Errorf("inspected with %+v", in)
		}
		return []plan.Finding{finding}, nil
	}
	b.finish()
	if diff := cmp.Diff([]string{"diff tree-start tree-implement-1", "diff tree-start tree-implement-2"}, patches); diff != "" {
		t.Error(diff)
	}
	for _, brief := range b.crew.briefs {
		if told := len(brief.Noticed) > 0; told != (brief.Phase == plan.Review) {
			t.Errorf("%s is told %v", brief.Phase, brief.Noticed)
		}
	}
	if n := b.count(plan.TypeFinding); n != 2 {
		t.Errorf("%d findings are recorded, want one for each review", n)
	}
}
