package engine_test

import (
	"testing"

	"github.com/plan-engine/plan"
)

// sound fails the test unless a journal keeps the rules that hold for every
// run. With whole, nothing may be open at its end.
func sound(t testing.TB, events []plan.Event, whole bool) {
	t.Helper()
	open := map[string]bool{}
	begin := func(key string) {
		if open[key] {
			t.Errorf("%s starts twice", key)
		}
		open[key] = true
	}
	end := func(key string) {
		if !open[key] {
			t.Errorf("%s ends without a start", key)
		}
		delete(open, key)
	}
	state, parked := plan.Unstarted, false
	for i, ev := range events {
		if ev.Seq != int64(i+1) {
			t.Fatalf("event %d has seq %d", i+1, ev.Seq)
		}
		if ev.Live() || ev.Job != "job-1" || ev.Time.IsZero() {
			t.Errorf("event %d (%s) has no place in a journal: %+v", ev.Seq, ev.Type(), ev)
		}
		if parked && ev.Type() != plan.TypeUnparked && ev.Type() != plan.TypeState && ev.Type() != plan.TypeSnapshot {
			t.Errorf("event %d (%s) follows parked", ev.Seq, ev.Type())
		}
		parked = ev.Type() == plan.TypeParked
		switch b := ev.Body.(type) {
		case plan.RunStart:
			begin("run")
		case plan.RunEnd:
			end("run")
			if b.Outcome != state || b.ExitCode != state.ExitCode() || i != len(events)-1 || ev.Phase != "" {
				t.Errorf("event %d of %d is %+v in state %s", ev.Seq, len(events), ev, state)
			}
		case plan.StateChange:
			if b.From != state || state.Final() || open["phase"] {
				t.Errorf("event %d moves from %s in state %s, phase open: %v", ev.Seq, b.From, state, open["phase"])
			}
			state = b.To
		case plan.PhaseStart:
			begin("phase")
			if ev.Phase != state.Phase() && (ev.Phase != plan.Critique || state != plan.Planning) || ev.Conv == "" {
				t.Errorf("event %d starts %s/%s in state %s", ev.Seq, ev.Phase, ev.Conv, state)
			}
		case plan.PhaseEnd:
			end("phase")
		case plan.TurnStart:
			begin("turn " + ev.Conv)
		case plan.TurnEnd:
			end("turn " + ev.Conv)
		case plan.MessageStart:
			begin("message " + string(b.Role))
		case plan.MessageEnd:
			end("message " + string(b.Role))
		case plan.ToolStart:
			begin("tool " + b.Call)
		case plan.ToolEnd:
			end("tool " + b.Call)
		case plan.CheckStart:
			begin("check " + b.Command)
		case plan.CheckEnd:
			end("check " + b.Command)
		}
	}
	if !whole {
		return
	}
	if !state.Final() {
		delete(open, "run") // it goes on some day
	}
	for key := range open {
		t.Errorf("%s never ends", key)
	}
}
