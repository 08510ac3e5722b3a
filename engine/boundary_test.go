package engine_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
)

// From every boundary of a run another one can go on, and comes to the same end
// by the same moves.
func TestARunGoesOnFromEveryBoundary(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := setup(t)
	b.crew.outcome = usual(2)
	b.finish()
	whole := b.events()
	at := &engine.Run{}
	kinds := map[string]int{}
	for i, ev := range whole {
		at.Apply(ev)
		if !at.Boundary(ev) {
			continue
		}
		kinds[string(ev.Type())+" "+string(at.State)]++
		f := benchOn(t, openDB(t), "FORK")
		f.crew.outcome = usual(2)
		writer, err := f.db.Own(ctx, f.id)
		if err != nil {
			t.Fatal(err)
		}
		var begin []plan.Event
		for _, ev := range whole[:i+1] {
			ev.Run, ev.Seq = f.id, 0
			begin = append(begin, ev)
		}
		if _, err := writer.Append(ctx, begin...); err != nil {
			t.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		eng, done := f.process()
		if err := eng.Park(ctx, plan.Parked{Reason: plan.ParkInterrupted}); err != nil {
			t.Fatal(err)
		}
		done()
		if end := f.finish(); end.State != plan.Approved {
			t.Errorf("from event %d (%s) it ended with %+v", ev.Seq, line(ev), end)
		}
		sound(t, f.events(), true)
		if diff := cmp.Diff(b.moves(), f.moves()); diff != "" {
			t.Errorf("from event %d (%s), moves (-whole +forked):\n%s", ev.Seq, line(ev), diff)
		}
	}
	for _, kind := range []string{
		"state exploring", "turn_end exploring", "state planning", "turn_end planning",
		"state implementing", "state reviewing", "turn_end reviewing",
	} {
		if kinds[kind] == 0 {
			t.Errorf("no boundary at %s: %v", kind, kinds)
		}
	}
	if n := kinds["turn_end implementing"] + kinds["state approved"]; n > 0 {
		t.Errorf("boundaries where the tree or the run is not at rest: %v", kinds)
	}
}

// What a run inherits does not count as its own.
func TestInheritedUsageIsNotTheRunsOwn(t *testing.T) {
	t.Parallel()
	run := &engine.Run{}
	run.Apply(plan.Event{Seq: 1, Body: plan.RunStart{}})
	run.Apply(plan.Event{Seq: 2, Body: plan.UsageReport{Usage: plan.Usage{Input: 5}, CostUSD: 1, Inherited: true}})
	run.Apply(plan.Event{Seq: 3, Body: plan.UsageReport{Usage: plan.Usage{Input: 7}, CostUSD: 2, Priced: true}})
	if run.Usage.Input != 7 || run.Cost != 2 || !run.Priced || run.Inherited.Input != 5 || run.InheritedCost != 1 {
		t.Errorf("%+v", run)
	}
}
