package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
)

// TestReplan gives the plan up in each phase that has one, after a park and
// after a kill: a new version is made and told why, and carried out in a
// conversation of its own.
func TestReplan(t *testing.T) {
	t.Parallel()
	for _, p := range []plan.Phase{plan.Implement, plan.Review} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s killed=%t", p, killed), func(t *testing.T) {
				t.Parallel()
				b, _ := onGround(t)
				b.cfg.Required = nil
				b.crew.outcome = func(br plan.Brief) plan.Outcome {
					if br.Phase == plan.Plan {
						return plan.Outcome{Plan: &plan.PlanDoc{Text: "the plan", Verify: []string{fmt.Sprint("verify ", br.Attempt)}}}
					}
					return usual(1)(br)
				}
				stand(b, p, killed)
				before := len(b.crew.briefs)
				b.cfg.Replan = "too slow"
				if end := b.finish(); end.State != plan.Approved {
					t.Fatalf("ended with %+v", end)
				}
				sound(t, b.events(), true)
				planner, builder := b.crew.briefs[before], b.crew.briefs[before+1]
				if planner.Phase != plan.Plan || planner.Attempt != 2 || planner.Replan != "too slow" || planner.Plan == nil || planner.Plan.Version != 1 {
					t.Errorf("the planner is told %+v", planner)
				}
				if builder.Phase != plan.Implement || builder.Attempt != 2 || builder.Plan.Version != 2 || len(builder.Past) != 0 {
					t.Errorf("the implementer is told %+v", builder)
				}
				if n := b.count(plan.TypePlan); n != 2 {
					t.Errorf("%d plans", n)
				}
				var moves []string
				for _, m := range b.moves() {
					moves = append(moves, m.Event)
				}
				want := []string{"explore", "report", "plan", "replan", "plan", "built", "approve"}
				if p == plan.Review {
					want = []string{"explore", "report", "plan", "built", "replan", "plan", "built", "approve"}
				}
				if diff := cmp.Diff(want, moves); diff != "" {
					t.Error(diff)
				}
				baselines := 0
				for _, ev := range b.events() {
					if c, ok := ev.Body.(plan.CheckEnd); ok && c.Baseline {
						baselines++
					}
				}
				if baselines != 1 {
					t.Errorf("%d baselines: the second would be of the run's own work", baselines)
				}
			})
		}
	}
}

// TestReplanIsNoFixCycle: another plan does not use up the cycles for fixing,
// nor does it give any back.
func TestReplanIsNoFixCycle(t *testing.T) {
	t.Parallel()
	b, _ := onGround(t)
	b.cfg.MaxCycles = 1
	b.crew.outcome = usual(9)
	stand(b, plan.Implement, false)
	b.cfg.Replan = "another way"
	if end := b.finish(); end.State != plan.Exhausted {
		t.Fatalf("ended with %+v", end)
	}
	reviews := 0
	for _, br := range b.crew.briefs {
		if br.Phase == plan.Review {
			reviews++
		}
	}
	if reviews != 2 {
		t.Errorf("%d reviews, want 2", reviews)
	}
	sound(t, b.events(), true)
}

// TestReplanWhereThereIsNoPlan changes nothing.
func TestReplanWhereThereIsNoPlan(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stand(b, plan.Explore, false)
	b.cfg.Replan = "why not"
	if end := b.finish(); end.State != plan.Approved {
		t.Fatalf("ended with %+v", end)
	}
	if n := b.count(plan.TypePlan); n != 1 {
		t.Errorf("%d plans", n)
	}
}

// TestAnotherPlanIsAskedForWhileItWorks stops the phase that goes on; one that
// has no plan yet is not disturbed, and heard later.
func TestAnotherPlanIsAskedForWhileItWorks(t *testing.T) {
	t.Parallel()
	for _, p := range workers {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			b, _ := onGround(t)
			eng, done := b.process()
			defer done()
			asked := false
			b.crew.during = func(ctx context.Context, br plan.Brief) (*plan.Parked, error) {
				if br.Phase == p && !asked {
					asked = true
					eng.Replan("think again")
				}
				return nil, context.Cause(ctx)
			}
			start := plan.RunStart{Request: "the request", Repo: "/repo", Config: []byte(`{}`), Models: map[plan.Phase]string{}, Kit: "kit"}
			if err := eng.Begin(context.Background(), b.id, "job-1", start, nil, nil); err != nil {
				t.Fatal(err)
			}
			end, err := eng.Run(context.Background())
			if err != nil || end.State != plan.Approved {
				t.Fatalf("ended with %+v, %v", end, err)
			}
			sound(t, b.events(), true)
			if n := b.count(plan.TypePlan); n != 2 {
				t.Errorf("%d plans", n)
			}
		})
	}
}

// TestAPlanThatIsOutdated was made for files that are others when a person
// wants to begin with it.
func TestAPlanThatIsOutdated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		on    engine.OnDrift
		move  func(g *ground, times int)
		plans int
		noted int
	}{
		{"and nothing is said of it", engine.DriftParks, func(g *ground, _ int) { g.write("a.go", "a.go-2", time.Time{}) }, 1, 1},
		{"and is made again", engine.DriftReplans, func(g *ground, n int) {
			if n == 1 {
				g.write("a.go", "a.go-2", time.Time{})
			}
		}, 2, 0},
		{"again and again", engine.DriftReplans, func(g *ground, n int) { g.write("a.go", fmt.Sprint("a.go-", n+1), time.Time{}) }, 3, 1},
		{"in a file that it does not name", engine.DriftReplans, func(g *ground, n int) { g.write("b.go", fmt.Sprint("b.go-", n+1), time.Time{}) }, 1, 1},
		{"by another commit", engine.DriftReplans, func(g *ground, n int) {
			if n == 1 {
				g.head = "c2"
				g.write("b.go", "b.go-2", time.Time{})
			}
		}, 2, 0},
		{"not at all", engine.DriftParks, func(*ground, int) {}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, g := onGround(t)
			b.cfg.OnDrift = c.on
			times := 0
			b.crew.outcome = func(br plan.Brief) plan.Outcome {
				if br.Phase != plan.Plan {
					return usual(1)(br)
				}
				out := plan.Outcome{Plan: &plan.PlanDoc{Text: "the plan", Files: map[string]string{"a.go": g.files["a.go"].Hash}, Base: g.head}}
				times++
				c.move(g, times)
				return out
			}
			if end := b.finish(); end.State != plan.Approved {
				t.Fatalf("ended with %+v", end)
			}
			sound(t, b.events(), true)
			if n := b.count(plan.TypePlan); n != c.plans {
				t.Errorf("%d plans, want %d", n, c.plans)
			}
			noted := 0
			for _, ev := range b.events() {
				if d, ok := ev.Body.(plan.Drift); ok && d.Choice == plan.DriftNoted {
					noted++
				}
			}
			if noted != c.noted {
				t.Errorf("it was noted %d times, want %d", noted, c.noted)
			}
			i := slices.IndexFunc(b.crew.briefs, func(br plan.Brief) bool { return br.Phase == plan.Implement })
			if told := strings.Contains(b.crew.briefs[i].Notice, "not by you"); told != (c.noted > 0) {
				t.Errorf("the implementer is told %q", b.crew.briefs[i].Notice)
			}
			if n := b.count(plan.TypeCheckEnd); n != 2 {
				t.Errorf("%d checks ran, want a baseline and one after", n)
			}
		})
	}
}

// TestTheImplementerAsksForAnotherPlan, once: the run goes back to planning with what
// it found, what it built stays, and the reviewer sees both plans. It counts as asked
// for also where the process dies before the run has moved.
func TestTheImplementerAsksForAnotherPlan(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed=%t", killed), func(t *testing.T) {
			t.Parallel()
			b, _ := onGround(t)
			b.cfg.ApprovePlan, b.cfg.PlanApprover = true, yes{}
			b.crew.tool = func(br plan.Brief) string {
				if br.Phase == plan.Implement && br.Attempt == 1 {
					return plan.ReplanTool
				}
				return "tool"
			}
			b.crew.outcome = func(br plan.Brief) plan.Outcome {
				if br.Phase == plan.Implement && br.Attempt == 1 {
					return plan.Outcome{Replan: "there is no such table"}
				}
				return usual(1)(br)
			}
			if killed {
				killAfter(t, b, plan.TypeToolEnd)
			}
			if end := b.finish(); end.State != plan.Approved {
				t.Fatalf("ended with %+v", end)
			}
			sound(t, b.events(), true)
			last := map[plan.Phase]plan.Brief{}
			for _, br := range b.crew.briefs {
				last[br.Phase] = br
			}
			const why = "the implementer found it wrong: there is no such table"
			if p := last[plan.Plan]; p.Attempt != 2 || p.Replan != why || p.Plan == nil || p.Plan.Version != 1 {
				t.Errorf("Plan is told %+v", p)
			}
			if p := last[plan.Implement]; p.Attempt != 2 || !p.Asked || p.Plan.Version != 2 || len(p.Past) > 0 {
				t.Errorf("Implement is told %+v", p)
			}
			if p := last[plan.Review]; p.Replan != why || p.Plan.Version != 2 || p.Earlier == nil || p.Earlier.Version != 1 {
				t.Errorf("Review is told %+v", p)
			}
			if n := b.count(plan.TypeApprovalResolved); n != 2 {
				t.Errorf("%d versions were approved, want 2", n)
			}
			if b.crew.briefs[2].Asked {
				t.Error("it counts as asked for from the start")
			}
		})
	}
}

// yes approves every plan.
type yes struct{}

func (yes) Ruling(context.Context, plan.PlanDoc) (*engine.Ruling, error) {
	return &engine.Ruling{Approved: true, By: "person"}, nil
}
