package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
)

// plot is a run as rapid draws it: how its reviews go, where phases park, and
// where processes die.
type plot struct {
	cycles   int
	verdicts []string
	checks   []plan.Check
	parks    map[string]plan.ParkReason // phase/attempt → reason, once
	planOnly bool
	given    bool
}

func drawPlot(t *rapid.T) plot {
	p := plot{
		cycles:   rapid.IntRange(0, 2).Draw(t, "cycles"),
		verdicts: rapid.SliceOfN(rapid.SampledFrom([]string{`"DONE"`, `"NEEDS_FIX"`, `"NEEDS_FIX"`, `"BLOCKED"`}), 3, 3).Draw(t, "verdicts"),
		parks:    map[string]plan.ParkReason{},
		planOnly: rapid.IntRange(0, 5).Draw(t, "plan only") == 0,
	}
	p.given = !p.planOnly && rapid.IntRange(0, 3).Draw(t, "given") == 0
	for i := range rapid.IntRange(0, 2).Draw(t, "checks") {
		p.checks = append(p.checks, plan.Check{Command: fmt.Sprint("check ", i), Required: true})
	}
	reasons := []plan.ParkReason{plan.ParkQuestion, plan.ParkLimit, plan.ParkRateLimit, plan.ParkInterrupted}
	for range rapid.IntRange(0, 2).Draw(t, "parks") {
		key := fmt.Sprintf("%s/%d", rapid.SampledFrom(workers).Draw(t, "phase"), rapid.IntRange(1, 3).Draw(t, "attempt"))
		p.parks[key] = rapid.SampledFrom(reasons).Draw(t, "reason")
	}
	return p
}

// stage sets a plot up. What parks, parks once, however often it is resumed.
func (p plot) stage(b *bench) *bench {
	b.cfg.MaxCycles, b.cfg.PlanOnly, b.cfg.Required = p.cycles, p.planOnly, p.checks
	if p.given {
		b.given = &plan.PlanDoc{Text: "given"}
	}
	b.crew.outcome = func(br plan.Brief) plan.Outcome {
		if br.Phase != plan.Review {
			return usual(1)(br)
		}
		out := reviewed(p.verdicts[br.Attempt-1])
		if !out.Judgement.Approved {
			id := fmt.Sprint("G", br.Attempt)
			out.Judgement.Gaps = append(closed(br.Gaps), plan.Gap{ID: id, Gap: id, Status: plan.GapOpened})
		}
		return out
	}
	parked := map[string]bool{}
	b.crew.during = func(_ context.Context, br plan.Brief) (*plan.Parked, error) {
		key := fmt.Sprintf("%s/%d", br.Phase, br.Attempt)
		if reason, ok := p.parks[key]; ok && !parked[key] {
			parked[key] = true
			return &plan.Parked{Reason: reason}, nil
		}
		return nil, nil
	}
	return b
}

// toTheEnd drives a run, through every park and every death, until it is final.
func toTheEnd(t *rapid.T, b *bench) plan.State {
	for range 200 {
		end, err := b.drive(context.Background())
		switch {
		case errors.Is(err, errKilled):
			b.j.fail = nil
		case err != nil:
			t.Fatal(err)
		case end.Parked == nil:
			return end.State
		}
	}
	t.Fatal("the run does not end")
	return ""
}

// results are the durable things a run came to, without their numbers.
func results(t *rapid.T, b *bench) map[string][]string {
	out := map[string][]string{}
	for _, ev := range b.events() {
		switch ev.Type() {
		case plan.TypeRunStart, plan.TypeRunEnd, plan.TypeState, plan.TypeReport, plan.TypePlan,
			plan.TypeSnapshot, plan.TypeVerdict, plan.TypeGap, plan.TypeCheckEnd, plan.TypeUsage:
			body := ev.Body
			if snap, ok := body.(plan.Snapshot); ok {
				snap.Ref = strings.Replace(snap.Ref, string(b.id), "RUN", 1)
				body = snap
			}
			data, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprintf("%s %s/%d %s", ev.Type(), ev.Phase, ev.Attempt, ev.Conv)
			out[key] = append(out[key], string(data))
		}
	}
	return out
}

// TestDyingAnywhere kills a run at an append, before or after it reached the
// disk, possibly more than once, and resumes it with a fresh engine over the
// same database. It must come to the same end by the same way, and nothing
// that is right once may be there twice.
func TestDyingAnywhere(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlot(rt)
		bench := func() *bench {
			runs++
			return p.stage(benchOn(t, db, plan.RunID(fmt.Sprint("R", runs))))
		}
		whole := bench()
		want := toTheEnd(rt, whole)
		sound(t, whole.events(), true)

		b := bench()
		deaths := rapid.SliceOfN(rapid.IntRange(1, 40), 1, 3).Draw(rt, "deaths")
		stored := rapid.Bool().Draw(rt, "stored")
		total := 0
		b.j = &journal{}
		for len(deaths) > 0 && total < 200 {
			total++
			last := deaths[0]
			deaths = deaths[1:]
			b.j.fail = func(i int, _ []plan.Event) (bool, error) {
				if i == last {
					return stored, errKilled
				}
				return false, nil
			}
			if _, err := b.drive(context.Background()); err != nil && !errors.Is(err, errKilled) {
				rt.Fatal(err)
			}
		}
		b.j.fail = nil
		if got := toTheEnd(rt, b); got != want {
			rt.Fatalf("it ended %s, without a death %s", got, want)
		}
		sound(t, b.events(), true)
		if diff := cmp.Diff(results(rt, whole), results(rt, b)); diff != "" {
			rt.Fatalf("(-without +with deaths):\n%s", diff)
		}
		if t.Failed() {
			rt.Fatalf("not sound: %v", b.lines(0))
		}
	})
}

// TestDyingAfterEveryAppend kills one long run after each append in turn, so
// that the process never heard of what it had recorded. TestAJournalThatFails
// is the same for appends that never reached the disk.
func TestDyingAfterEveryAppend(t *testing.T) {
	t.Parallel()
	whole := setup(t)
	whole.crew.outcome = usual(3)
	whole.finish()
	for n := 1; n <= whole.j.appends; n++ {
		t.Run(fmt.Sprint("append ", n), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.crew.outcome = usual(3)
			dieAfter(b, n)
			if _, err := b.drive(context.Background()); !errors.Is(err, errKilled) {
				t.Fatalf("got %v", err)
			}
			sound(t, b.events(), false)
			b.j = nil
			if end := b.finish(); end.State != plan.Approved {
				t.Fatalf("ended with %+v", end)
			}
			sound(t, b.events(), true)
			if diff := cmp.Diff(whole.lines(0), b.lines(0)); diff != "" {
				t.Errorf("(-without +with a death):\n%s", diff)
			}
			if b.crew.effects > whole.crew.effects {
				t.Errorf("%d effects, want %d at most", b.crew.effects, whole.crew.effects)
			}
		})
	}
}

// TestFoldIsTheSameInPieces: the state after the whole journal is the state
// after any beginning of it, and then the rest.
func TestFoldIsTheSameInPieces(t *testing.T) {
	t.Parallel()
	db := openDB(t)
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		b := drawPlot(rt).stage(benchOn(t, db, plan.RunID(fmt.Sprint("R", runs))))
		toTheEnd(rt, b)
		events := b.events()
		whole := fold(rt, events)
		cut := rapid.IntRange(0, len(events)).Draw(rt, "cut")
		pieces := fold(rt, events[:cut])
		for _, ev := range events[cut:] {
			pieces.Apply(ev)
		}
		if diff := cmp.Diff(whole, pieces, cmp.AllowUnexported(engine.Run{})); diff != "" {
			rt.Fatalf("cut at %d of %d:\n%s", cut, len(events), diff)
		}
		// What an engine has come to by doing is what its journal says.
		live := &engine.Run{}
		for _, ev := range b.shown {
			if !ev.Live() {
				live.Apply(ev)
			}
		}
		if diff := cmp.Diff(whole, live, cmp.AllowUnexported(engine.Run{})); diff != "" {
			rt.Fatalf("(-journal +engine):\n%s", diff)
		}
		if whole.Head != int64(len(events)) || whole.Outcome == nil || whole.Parked != nil || len(whole.Moves) != len(b.moves()) {
			rt.Fatalf("the fold misses something: %+v", whole)
		}
	})
}

func fold(t *rapid.T, events []plan.Event) *engine.Run {
	run, err := engine.Fold(func(yield func(plan.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestFoldStopsAtAnError(t *testing.T) {
	t.Parallel()
	_, err := engine.Fold(func(yield func(plan.Event, error) bool) {
		if yield(plan.Event{}, errDisk) {
			t.Error("it reads on")
		}
	})
	if !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
}

// TestUnknownEventsChangeNothing: a newer version may have written more.
func TestUnknownEventsChangeNothing(t *testing.T) {
	t.Parallel()
	run := &engine.Run{}
	run.Apply(plan.Event{Run: "R1", Seq: 1, Body: plan.RunStart{Request: "r"}})
	run.Apply(plan.Event{Run: "R1", Seq: 2, Body: plan.StateChange{From: plan.Unstarted, To: plan.Exploring}})
	before := *run
	run.Apply(plan.Event{Run: "R1", Seq: 3, Body: plan.Unknown{Kind: "weather", Raw: []byte(`{}`)}})
	if run.Head != 3 {
		t.Errorf("the head is %d", run.Head)
	}
	run.Head = before.Head
	run.Last = before.Last
	if diff := cmp.Diff(before, *run, cmp.AllowUnexported(engine.Run{})); diff != "" {
		t.Error(diff)
	}
}
