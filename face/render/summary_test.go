package render

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
)

func tallyOf(events []plan.Event) *Tally {
	var t Tally
	for _, e := range events {
		t.Add(e)
	}
	return &t
}

// cutAt returns the events up to the first one that is of a type, without it.
func cutAt(t *testing.T, events []plan.Event, typ plan.EventType) []plan.Event {
	t.Helper()
	i := slices.IndexFunc(events, func(e plan.Event) bool { return e.Type() == typ })
	if i < 0 {
		t.Fatalf("there is no %s event", typ)
	}
	return events[:i]
}

func TestWriteSummary(t *testing.T) {
	t.Parallel()
	wake := time.Date(2026, 3, 14, 12, 0, 0, 0, time.FixedZone("x", 3600))
	tests := map[string]struct {
		opts  Options
		tally func(t *testing.T) *Tally
	}{
		"summary_approved.txt": {Options{Width: fixedWidth(90)}, func(*testing.T) *Tally {
			return tallyOf(wholeStory().events)
		}},
		"summary_ascii.txt": {Options{Width: fixedWidth(60), ASCII: true}, func(*testing.T) *Tally {
			return tallyOf(wholeStory().events)
		}},
		"summary_color.txt": {Options{Width: fixedWidth(90), Color: true}, func(*testing.T) *Tally {
			return tallyOf(wholeStory().events)
		}},
		"summary_parked.txt": {Options{Width: fixedWidth(90), Resume: "plan demo --resume 01J"}, func(t *testing.T) *Tally {
			t.Helper()
			s := newStory()
			s.events = cutAt(t, wholeStory().events, plan.TypeGap)
			s.at = s.events[len(s.events)-1].Time
			s.add(time.Second, plan.Parked{Reason: plan.ParkRateLimit, Detail: "the server asks to wait", WakeAt: &wake})
			s.add(72*time.Hour, plan.Snapshot{LeftOut: []string{"demo.mp4", "rec/\x1b[31m.raw"}}, plan.Snapshot{LeftOut: []string{"demo.mp4"}})
			return tallyOf(s.events)
		}},
		"summary_exhausted.txt": {Options{Width: fixedWidth(90)}, func(t *testing.T) *Tally {
			t.Helper()
			events := wholeStory().events
			s := newStory()
			s.events = events[:slices.IndexFunc(events, func(e plan.Event) bool { return e.Phase == plan.Implement && e.Attempt == 2 })]
			s.at = s.events[len(s.events)-1].Time
			s.add(0, plan.RunEnd{Outcome: plan.Exhausted, Why: "no fix cycle is left", Usage: plan.Usage{Requests: 6, Input: 4000, Output: 20}, CostUSD: 0.5})
			return tallyOf(s.events)
		}},
		"summary_failed.txt": {Options{Width: fixedWidth(90)}, func(*testing.T) *Tally {
			s := newStory()
			s.add(0, plan.RunStart{Request: "x"}, plan.StateChange{To: plan.Exploring})
			s.begin(plan.Explore, 1, "c1", "m")
			s.end(time.Second, plan.EndError)
			s.add(0, plan.Failure{Error: "the model server answered 401: no such key", Hint: "set OPENAI_API_KEY"},
				plan.RunEnd{Outcome: plan.Failed, Why: "the model server answered 401: no such key"})
			return tallyOf(s.events)
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			WriteSummary(&out, test.tally(t), test.opts)
			checkGolden(t, name, out.String())
		})
	}
}

// TestAQuestionIsAnsweredByOneCommand: it stands once among what can be done next.
func TestAQuestionIsAnsweredByOneCommand(t *testing.T) {
	t.Parallel()
	for name, waiting := range map[string][]plan.WaitingCall{"known": {{Call: "c1", Name: "ask", Question: "Which?"}}, "not known": nil} {
		s := newStory()
		s.add(0, plan.RunStart{Request: "x"}, plan.StateChange{To: plan.Exploring},
			plan.Parked{Reason: plan.ParkQuestion, Waiting: waiting})
		var out strings.Builder
		WriteSummary(&out, tallyOf(s.events), Options{Width: fixedWidth(90)})
		_, next, _ := strings.Cut(out.String(), "  next ")
		if n := strings.Count(next, "plan tell "); n != 1 || !strings.Contains(next, "plan resume ") {
			t.Errorf("%s: plan tell stands there %d times:\n%s", name, n, out.String())
		}
	}
}

func TestTallyLeavesParkedTimeOut(t *testing.T) {
	t.Parallel()
	s := newStory()
	s.add(0, plan.RunStart{}, plan.StateChange{To: plan.Exploring})
	s.begin(plan.Explore, 1, "c1", "m")
	s.end(10*time.Second, plan.EndParked)
	s.add(0, plan.Parked{Reason: plan.ParkInterrupted})
	s.add(48*time.Hour, plan.Unparked{Reason: plan.ParkInterrupted})
	s.add(0, plan.PhaseStart{Resumed: true})
	s.add(5*time.Second, plan.PhaseEnd{Reason: plan.EndCompleted})
	s.add(2*time.Second, plan.CheckEnd{CheckResult: plan.CheckResult{Check: testCheck}})
	got := tallyOf(s.events)
	if got.Total != 17*time.Second || got.inChecks != 2*time.Second {
		t.Errorf("total %v, checks %v; want 17s, 2s", got.Total, got.inChecks)
	}
	if len(got.Phases) != 1 || got.Phases[0].Took != 15*time.Second {
		t.Errorf("phases %+v, want one of 15s", got.Phases)
	}
	if got.parked != nil {
		t.Error("an unparked run counts as parked")
	}
}

func TestTallyKeepsTheLatest(t *testing.T) {
	t.Parallel()
	s := newStory()
	s.begin(plan.Implement, 1, "c1", "m")
	s.add(0,
		plan.GapChange{Gap: plan.Gap{ID: "G1", Gap: "words", Severity: "must", Status: plan.GapOpened}},
		plan.GapChange{Gap: plan.Gap{ID: "G1", Status: plan.GapClosed}},
		plan.CheckEnd{CheckResult: plan.CheckResult{Check: testCheck, ExitCode: 1}},
		plan.CheckEnd{CheckResult: plan.CheckResult{Check: testCheck}},
		plan.CheckEnd{CheckResult: plan.CheckResult{Check: testCheck, ExitCode: -1, Cancelled: true}},
		plan.UsageReport{Usage: plan.Usage{Requests: 1, Input: 5}, CostUSD: 1, Priced: true},
		plan.UsageReport{Usage: plan.Usage{Requests: 1, Input: 6}},
		plan.PlanMade{PlanDoc: plan.PlanDoc{Version: 1}}, plan.PlanMade{PlanDoc: plan.PlanDoc{Version: 2}},
		plan.Progress{Text: "live"}, plan.Unknown{Kind: "later"},
	)
	got := tallyOf(s.events)
	if want := (plan.Gap{ID: "G1", Gap: "words", Severity: "must", Status: plan.GapClosed}); len(got.Gaps) != 1 || got.Gaps[0] != want {
		t.Errorf("gaps %+v, want %+v", got.Gaps, want)
	}
	if len(got.Checks) != 1 || got.Checks[0].Latest == nil || !got.Checks[0].Latest.Passed() || got.Checks[0].baseline != nil {
		t.Errorf("checks %+v, want one that passed last", got.Checks)
	}
	if got.Usage != (plan.Usage{Requests: 2, Input: 11}) || got.Cost != 1 || !got.Unpriced {
		t.Errorf("usage %+v, cost %v, unpriced %v", got.Usage, got.Cost, got.Unpriced)
	}
	if got.plan.Version != 2 {
		t.Errorf("plan version %d, want 2", got.plan.Version)
	}
	clone := got.Clone()
	clone.Add(plan.Event{Body: plan.GapChange{Gap: plan.Gap{ID: "G1", Status: plan.GapReopened}}})
	if got.Gaps[0].Open() || !clone.Gaps[0].Open() {
		t.Error("a clone shares gaps with its origin")
	}
}

// eventSeq yields events, and then err if it is not nil.
func eventSeq(events []plan.Event, err error) iter.Seq2[plan.Event, error] {
	return func(yield func(plan.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(plan.Event{}, err)
		}
	}
}

func TestWriteTimeline(t *testing.T) {
	t.Parallel()
	whole := wholeStory().events
	s := newStory()
	s.add(0, plan.RunStart{Repo: "/r", Request: "x", Models: map[plan.Phase]string{plan.Explore: "m", plan.Plan: "m"}})
	s.begin(plan.Explore, 1, "c1", "m")
	s.end(time.Minute, plan.EndLimit)
	s.add(0, plan.LimitHit{Kind: "turns", Value: 100, Max: 100}, plan.Parked{Reason: plan.ParkLimit})
	s.add(26*time.Hour, plan.Unparked{Reason: plan.ParkLimit})
	s.add(0, plan.PhaseStart{Model: "m", Resumed: true})
	tests := map[string]struct {
		opts   Options
		events []plan.Event
	}{
		"timeline.txt":         {Options{Width: fixedWidth(90)}, whole},
		"timeline_verbose.txt": {Options{Width: fixedWidth(90), Verbose: true}, whole},
		"timeline_parked.txt":  {Options{Width: fixedWidth(90)}, s.events},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if err := WriteTimeline(&out, eventSeq(test.events, nil), test.opts); err != nil {
				t.Fatal(err)
			}
			checkGolden(t, name, out.String())
		})
	}
}

func TestWriteTimelineReportsErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var out strings.Builder
	events := cutAt(t, wholeStory().events, plan.TypeReport)
	if err := WriteTimeline(&out, eventSeq(events, broken), Options{}); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the journal", err)
	}
	if !strings.Contains(out.String(), "main.go") {
		t.Error("what came before the error is missing")
	}
	if err := WriteTimeline(&brokenWriter{err: broken}, eventSeq(events, nil), Options{}); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the writer", err)
	}
}

func TestWriteProse(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := WriteProse(&out, "# Plan\r\n\n\tlike \x1b[31mthis\x1b]0;title\x07 –\n\n", Options{ASCII: true}); err != nil {
		t.Fatal(err)
	}
	if want := "# Plan\n\n\tlike this ?\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
