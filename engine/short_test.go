package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
)

// short is a run in which Explore hands over the plan.
func short(b plan.Brief) plan.Outcome {
	if b.Phase == plan.Explore {
		return plan.Outcome{Plan: &plan.PlanDoc{Text: "the short plan", Verify: []string{"verify"}}}
	}
	return usual(1)(b)
}

// TestTheShortWay passes through planning without a conversation: what looks at a plan
// and what approves it stay where they are, and one that is sent back is material for
// Plan. Each is tried once more with the process killed when Explore had handed over.
func TestTheShortWay(t *testing.T) {
	t.Parallel()
	critique := func(br plan.Brief) plan.Outcome {
		if br.Phase == plan.Critique {
			return plan.Outcome{Remarks: "too much"}
		}
		return short(br)
	}
	for name, c := range map[string]struct {
		outcome  func(plan.Brief) plan.Outcome
		cfg      func(*engine.Config)
		ruled    []engine.Ruling // one for each process after the first
		want     plan.State
		phases   string
		moves    string
		versions int
		remarks  string
	}{
		"as it is": {
			outcome: short, want: plan.Approved, phases: "explore implement review",
			moves: "explore report plan built approve", versions: 1,
		},
		"to a plan only": {
			outcome: short, cfg: func(c *engine.Config) { c.PlanOnly = true }, want: plan.Planned, phases: "explore",
			moves: "explore report plan_only", versions: 1,
		},
		"with a critique": {
			outcome: critique, cfg: func(c *engine.Config) { c.Critique = true }, want: plan.Approved,
			phases: "explore critique plan implement review", moves: "explore report revise plan built approve",
			versions: 2, remarks: "too much",
		},
		"approved": {
			outcome: short, cfg: func(c *engine.Config) { c.ApprovePlan = true },
			ruled: []engine.Ruling{{Approved: true, By: "person"}}, want: plan.Approved,
			phases: "explore implement review", moves: "explore report plan built approve", versions: 1,
		},
		"sent back": {
			outcome: short, cfg: func(c *engine.Config) { c.ApprovePlan = true },
			ruled: []engine.Ruling{{Text: "smaller", By: "person"}, {Approved: true, By: "person"}}, want: plan.Approved,
			phases: "explore plan implement review", moves: "explore report revise plan built approve",
			versions: 2, remarks: "smaller",
		},
	} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s killed=%t", name, killed), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				b.crew.outcome = c.outcome
				if c.cfg != nil {
					c.cfg(&b.cfg)
				}
				b.cfg.PlanApprover = rulings{}
				if killed {
					killAfter(t, b, plan.TypeWay)
				}
				end := b.finish()
				for i, r := range c.ruled {
					if end.Parked == nil || end.Parked.Reason != plan.ParkApproval {
						t.Fatalf("it does not ask, but ended with %+v", end)
					}
					b.cfg.PlanApprover = rulings{i + 1: r}
					end = b.finish()
				}
				if end.State != c.want {
					t.Fatalf("ended with %+v", end)
				}
				sound(t, b.events(), true)
				var moves, phases []string
				for _, m := range b.moves() {
					moves = append(moves, m.Event)
				}
				for _, br := range b.crew.briefs {
					phases = append(phases, string(br.Phase))
					if br.Phase == plan.Plan && (br.Plan == nil || br.Plan.Text != "the short plan" || br.Remarks != c.remarks || br.Report != "") {
						t.Errorf("Plan is told %+v", br)
					}
				}
				if diff := cmp.Diff([]string{c.moves, c.phases}, []string{strings.Join(moves, " "), strings.Join(phases, " ")}); diff != "" {
					t.Error(diff)
				}
				if n := b.count(plan.TypePlan); n != c.versions || b.count(plan.TypeWay) != 1 {
					t.Errorf("%d plans and %d ways, want %d and 1", n, b.count(plan.TypeWay), c.versions)
				}
				drawn := engine.Mermaid(b.moves())
				if !strings.Contains(drawn, "exploring --> planning: report ✓ 2") {
					t.Errorf("it is drawn as\n%s", drawn)
				}
			})
		}
	}
}

// killAfter drives the run in a process that dies once it has recorded an event of
// this type.
func killAfter(t *testing.T, b *bench, kind plan.EventType) {
	t.Helper()
	eng, done := b.process()
	start := plan.RunStart{Request: "the request", Repo: "/repo", Config: []byte(`{}`), Models: map[plan.Phase]string{}, Kit: "kit"}
	if err := eng.Begin(context.Background(), b.id, "job-1", start, b.given, nil); err != nil {
		t.Fatal(err)
	}
	b.j.fail = func(_ int, events []plan.Event) (bool, error) {
		for _, ev := range events {
			if ev.Type() == kind {
				return true, errKilled
			}
		}
		return false, nil
	}
	if _, err := eng.Run(context.Background()); err == nil {
		t.Fatalf("no %s was recorded", kind)
	}
	done()
	b.j = nil
}
