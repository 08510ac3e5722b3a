package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// testdata/dirge_verdict.jsonl holds what another system does. Rows of kind
// sequence and phase say which phase follows; the others are for other
// packages.

type row struct {
	Name  string
	Input struct {
		Kind      string
		MaxCycles int `json:"max_review_cycles"`
		Reviews   []string
		Phase     plan.Phase
		Report    string
		Error     string
		Approval  bool
		Decision  string
		Feedback  string
	}
	Expected json.RawMessage
}

func rows(t *testing.T, kind string) []row {
	t.Helper()
	f, err := os.Open("testdata/dirge_verdict.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var out []row
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var probe struct{ Input struct{ Kind string } }
		if err := json.Unmarshal(sc.Bytes(), &probe); err != nil {
			t.Fatal(err)
		}
		if probe.Input.Kind != kind {
			continue
		}
		var r row
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		t.Fatalf("no rows of kind %q", kind)
	}
	return out
}

// TestSequenceCases drives whole runs through the reviews of each row. A
// reviewer that cannot be reached ends the other system's run; here the run
// parks, and is reviewed when it goes on.
func TestSequenceCases(t *testing.T) {
	t.Parallel()
	for _, r := range rows(t, "sequence") {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			var want struct {
				Steps         []string
				ImplementRuns int `json:"implement_runs"`
				ReviewsUsed   int `json:"reviews_used"`
			}
			if err := json.Unmarshal(r.Expected, &want); err != nil {
				t.Fatal(err)
			}
			b := setup(t)
			b.cfg.MaxCycles = r.Input.MaxCycles
			b.crew.outcome = func(br plan.Brief) plan.Outcome {
				if br.Phase != plan.Review {
					return usual(1)(br)
				}
				return reviewed(r.Input.Reviews[br.Attempt-1])
			}
			end := b.finish()
			var steps []string
			for _, ev := range b.events() {
				move, ok := ev.Body.(plan.StateChange)
				if step := map[string]string{"fix": "retry", "approve": "approved", "exhaust": "exhausted", "block": "blocked"}[move.Event]; ok && step != "" {
					steps = append(steps, step)
				}
			}
			if end.Parked != nil && end.State == plan.Reviewing && end.ExitCode == 5 {
				steps = append(steps, "reviewer_error")
			}
			if diff := cmp.Diff(want.Steps, steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			ran := map[plan.Phase]int{}
			for _, br := range b.crew.briefs {
				ran[br.Phase]++
			}
			if ran[plan.Implement] != want.ImplementRuns || ran[plan.Review] != want.ReviewsUsed {
				t.Errorf("%d implements and %d reviews, want %d and %d", ran[plan.Implement], ran[plan.Review], want.ImplementRuns, want.ReviewsUsed)
			}
			sound(t, b.events(), true)
		})
	}
}

// reviewed is what comes of a review, as far as the engine can tell.
func reviewed(text string) plan.Outcome {
	j := plan.Judgement{Verdict: plan.NeedsFix, Why: "a gap"}
	switch {
	case text == "ERR":
		return plan.Outcome{Park: &plan.Parked{Reason: plan.ParkRateLimit, Detail: "the model server is not there"}}
	case strings.Contains(text, `"DONE"`):
		j = plan.Judgement{Verdict: plan.Done, Approved: true, Why: "proven"}
	case strings.Contains(text, `"BLOCKED"`):
		j = plan.Judgement{Verdict: plan.CannotSay, Why: "cannot be verified here"}
	}
	return plan.Outcome{Judgement: &j}
}

// gate is what a person decides at the gate behind the plan, in the table's words.
// Whatever is no clear yes and no change is a gate that was closed: it decides
// nothing, and the run waits until it is cancelled.
func gate(decision, feedback string) rulings {
	switch decision {
	case "approve":
		return rulings{1: {Approved: true, By: "person"}}
	case "edit":
		return rulings{1: {Text: feedback, By: "person"}, 2: {Approved: true, By: "person"}}
	}
	return rulings{}
}

// TestPhaseCases: an aborted run is one that ends without an approval.
func TestPhaseCases(t *testing.T) {
	t.Parallel()
	for _, r := range rows(t, "phase") {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			var want struct{ Next string }
			if err := json.Unmarshal(r.Expected, &want); err != nil {
				t.Fatal(err)
			}
			b := setup(t)
			if r.Input.Approval {
				b.cfg.ApprovePlan, b.cfg.PlanApprover = true, gate(r.Input.Decision, r.Input.Feedback)
			}
			b.crew.during = func(_ context.Context, br plan.Brief) (*plan.Parked, error) {
				switch {
				case br.Phase != r.Input.Phase:
					return nil, nil
				case r.Input.Error != "":
					return nil, errors.New(r.Input.Error)
				case strings.TrimSpace(r.Input.Report) == "": // what phases make of it; see phases.TestNothingToHandOver
					return nil, errors.New("Explore handed over no report")
				}
				return nil, nil
			}
			end := b.finish()
			if end.Parked != nil {
				if r.Input.Approval && end.Parked.Reason != plan.ParkApproval {
					t.Errorf("the gate parks the run for %q", end.Parked.Reason)
				}
				eng, done := b.process()
				if err := eng.Cancel(context.Background()); err != nil {
					t.Error(err)
				}
				done()
				end = b.finish()
			}
			at := leaving(b, r.Input.Phase)
			got := "aborted"
			if to := b.moves()[at].To; to.Phase() != "" {
				got = string(to.Phase())
			}
			if got != want.Next {
				t.Errorf("%s is followed by %s, want %s", r.Input.Phase, got, want.Next)
			}
			kept := b.count(plan.TypeReport) + b.count(plan.TypePlan)
			most := int(at)
			if r.Input.Approval {
				most++ // what was asked about stays on record
			}
			if got == "aborted" && (end.ExitCode == 0 || kept > most || b.count(plan.TypeVerdict) > 0) {
				t.Errorf("something of an aborted %s was kept; it ended with %+v", r.Input.Phase, end)
			}
			sound(t, b.events(), true)
		})
	}
}

func (b *bench) moves() []plan.StateChange {
	var out []plan.StateChange
	for _, ev := range b.events() {
		if m, ok := ev.Body.(plan.StateChange); ok {
			out = append(out, m)
		}
	}
	return out
}

// leaving is the index of the first move out of a phase.
func leaving(b *bench, p plan.Phase) int {
	for i, m := range b.moves() {
		if m.From.Phase() == p {
			return i
		}
	}
	b.t.Fatalf("the run never left %s", p)
	return 0
}

// TestATreeThatMovesUnderAReview: an approval is about the tree that was
// reviewed, and about no other.
func TestATreeThatMovesUnderAReview(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cycles, reviews int
		want            plan.State
	}{{0, 1, plan.Exhausted}, {1, 2, plan.Approved}} {
		t.Run(fmt.Sprint(c.cycles, " cycles"), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cfg.MaxCycles, b.snaps.meddled = c.cycles, true
			b.crew.during = func(_ context.Context, br plan.Brief) (*plan.Parked, error) {
				b.snaps.meddled = br.Attempt == 1
				return nil, nil
			}
			if end := b.finish(); end.State != c.want {
				t.Fatalf("ended with %+v", end)
			}
			sound(t, b.events(), true)
			var verdicts []plan.VerdictGiven
			for _, ev := range b.events() {
				if v, ok := ev.Body.(plan.VerdictGiven); ok {
					verdicts = append(verdicts, v)
				}
			}
			if len(verdicts) != c.reviews {
				t.Fatalf("%d reviews", len(verdicts))
			}
			first := verdicts[0]
			if first.Approved || first.Verdict != plan.NeedsFix || len(first.Missing) != 1 || !strings.Contains(first.Why, "changed") {
				t.Errorf("the first verdict is %+v", first)
			}
			if c.reviews > 1 {
				gaps := b.crew.briefs[len(b.crew.briefs)-2].Gaps // of the second Implement
				if len(gaps) != 1 || gaps[0].ID != "G1" || !gaps[0].Open() {
					t.Errorf("the implementer is told %+v", gaps)
				}
			}
		})
	}
}

// TestDecisions holds the rule for what follows from a judgement.
func TestDecisions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		j       plan.Judgement
		cycles  int
		want    plan.State
		reviews int
	}{
		{"approved at once", plan.Judgement{Verdict: plan.Done, Approved: true}, 2, plan.Approved, 1},
		{"DONE that does not count", plan.Judgement{Verdict: plan.Done}, 2, plan.Exhausted, 3},
		{"NEEDS_FIX", plan.Judgement{Verdict: plan.NeedsFix}, 2, plan.Exhausted, 3},
		{"NEEDS_FIX, one cycle", plan.Judgement{Verdict: plan.NeedsFix}, 1, plan.Exhausted, 2},
		{"NEEDS_FIX, no cycle", plan.Judgement{Verdict: plan.NeedsFix}, 0, plan.Exhausted, 1},
		{"no verdict", plan.Judgement{}, 1, plan.Exhausted, 2},
		{"BLOCKED", plan.Judgement{Verdict: plan.CannotSay}, 2, plan.Blocked, 1},
		{"BLOCKED, no cycle", plan.Judgement{Verdict: plan.CannotSay}, 0, plan.Blocked, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.cfg.MaxCycles = c.cycles
			c.j.Why = "because"
			b.crew.outcome = func(br plan.Brief) plan.Outcome {
				if br.Phase != plan.Review {
					return usual(1)(br)
				}
				j := c.j
				return plan.Outcome{Judgement: &j}
			}
			end := b.finish()
			if end.State != c.want || end.ExitCode != c.want.ExitCode() {
				t.Errorf("ended with %+v", end)
			}
			if n := b.count(plan.TypeVerdict); n != c.reviews {
				t.Errorf("%d reviews, want %d", n, c.reviews)
			}
			last := b.events()[len(b.events())-1].Body.(plan.RunEnd)
			if last.Why != "because" {
				t.Errorf("run_end does not say why: %+v", last)
			}
			sound(t, b.events(), true)
		})
	}
}
