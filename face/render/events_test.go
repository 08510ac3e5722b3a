package render

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/eventcases"
)

// TestNoViewForgetsAnEvent: each view tells a type of events or names it among
// those that it leaves to others.
func TestNoViewForgetsAnEvent(t *testing.T) {
	t.Parallel()
	for view, function := range map[string]string{
		"what the plain viewer, the screen and the timeline tell": "narrator.lines",
		"the summary at the end":                                  "Tally.count",
		"the transcript":                                          "scribe.mark",
	} {
		for _, name := range eventcases.Forgotten(t, plan.EventTypes(), function) {
			t.Errorf("%s forgets %s: tell it in %s, or name it there among those not told", view, name, function)
		}
	}
}

// TestTheScreenKnowsEveryLiveEvent: what is never stored is seen there or nowhere.
func TestTheScreenKnowsEveryLiveEvent(t *testing.T) {
	t.Parallel()
	live := slices.DeleteFunc(plan.EventTypes(), func(name plan.EventType) bool { return !name.Live() })
	for _, name := range eventcases.Forgotten(t, live, "status.observe", "status.observeWork") {
		t.Errorf("the status line forgets %s", name)
	}
}

// TestJSONShowsEveryEvent: programs read all that there is, each on a line.
func TestJSONShowsEveryEvent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	viewer := NewJSON(&out)
	var want []plan.EventType
	for _, name := range append(plan.EventTypes(), "of a later version") {
		viewer.Event(plan.Event{Run: "R1", Body: emptyBody(t, name)})
		want = append(want, name)
	}
	if err := viewer.Close(); err != nil {
		t.Fatal(err)
	}
	var got []plan.EventType
	for dec := json.NewDecoder(&out); ; {
		var e plan.Event
		if err := dec.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Type())
	}
	if !slices.Equal(got, want) {
		t.Errorf("shown: %v\nthere are: %v", got, want)
	}
}

// TestEmptyBodiesAreShown: an event in which a later version leaves out every
// field stops no viewer.
func TestEmptyBodiesAreShown(t *testing.T) {
	t.Parallel()
	plain, live := NewPlain(io.Discard, Options{Verbose: true}), NewScreen(io.Discard, Options{})
	for _, name := range append(plan.EventTypes(), "of a later version") {
		e := plan.Event{Run: "R1", Seq: 1, Body: emptyBody(t, name)}
		plain.Event(e)
		live.Event(e)
		one := func(yield func(plan.Event, error) bool) { yield(e, nil) }
		if err := WriteTranscript(io.Discard, one, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, v := range []Viewer{plain, live} {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
}

func emptyBody(t *testing.T, name plan.EventType) plan.Body {
	t.Helper()
	body, err := plan.DecodeBody(name, "{}")
	if err != nil {
		t.Fatal(err)
	}
	return body
}
