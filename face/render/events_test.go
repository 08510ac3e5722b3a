package render

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/eventcases"
)

// TestNoViewForgetsAnEvent: what a view neither tells in a way of its own nor leaves to
// others, it tells by its headline.
func TestNoViewForgetsAnEvent(t *testing.T) {
	t.Parallel()
	views := map[string]func(plan.Event) string{
		"narrator.lines": func(e plan.Event) string {
			return strings.Join(newNarrator(Options{Width: fixedWidth(120)}).lines(e), "\n")
		},
		"transcriptWriter.mark": func(e plan.Event) string {
			s := transcriptWriter{Look: NewLook(Options{})}
			s.mark(e)
			return strings.Join(s.lines, "\n")
		},
	}
	for function, show := range views {
		for _, name := range eventcases.Unshown(t, eventcases.Named(t, function), show) {
			t.Errorf("%s forgets %s", function, name)
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
