package loop

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

func TestCompactionTable(t *testing.T) {
	t.Parallel()
	for _, row := range readTable(t, "wayland_compaction.jsonl") {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			compactionRow(t, row)
		})
		if row.Recommend != "" {
			t.Errorf("%s: the table recommends %q; decide, and list it here", row.Name, row.Recommend)
		}
	}
}

func compactionRow(t *testing.T, row tableRow) {
	t.Helper()
	var in struct {
		Op, Level, Text  string
		Window           *int64
		Used             int64
		OutputReserve    int64 `json:"output_reserve"`
		EmergencyBuffer  int64 `json:"emergency_buffer"`
		Buffer           int64
		Enabled          bool
		Results          int   `json:"compactable_results"`
		Keep             int   `json:"keep_recent"`
		RealTokens       int64 `json:"real_tokens"`
		AutoThreshold    int64 `json:"autocompact_threshold"`
		Fraction         float64
		Failures, Max    int
		Messages, Result json.RawMessage
	}
	readInto(t, row.Input, &in)
	var want struct {
		Fire, Stop, Open bool
		Ceiling          *int64
		StopsAt          *int64 `json:"stops_at"`
		Text             *string
		StillParses      bool `json:"still_parses"`
		AllValuesKept    bool `json:"all_values_kept"`
	}
	readInto(t, row.Expected, &want)
	var window int64
	if in.Window != nil {
		window = *in.Window
	}
	check := func(what string, got, want bool) {
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	switch in.Op {
	case "input_ceiling":
		r := room{Window: window, Output: in.OutputReserve, Stop: in.EmergencyBuffer}
		got, known := r.ceiling()
		check("known", known, want.Ceiling != nil)
		if known && got != *want.Ceiling {
			t.Errorf("ceiling %d, want %d", got, *want.Ceiling)
		}
		check("one below stops", known && got > 0 && r.full(got-1), false)
		check("the ceiling stops", r.full(got), known)
		if want.StopsAt != nil {
			check("stops_at", r.full(*want.StopsAt), true)
		}
	case "emergency":
		check("stop", room{Window: window, Stop: in.Buffer}.full(in.Used), want.Stop)
	case "should_autocompact":
		c := compactor{level: CompactSafe, room: room{Window: window, Output: in.OutputReserve, Auto: in.Buffer}, size: plainSize}
		if !in.Enabled {
			c.level = CompactOff
		}
		check("fire", c.due(nil, in.Used) == dueAuto, want.Fire)
	case "micro":
		r := room{Keep: in.Keep, Early: in.Fraction}
		check("fire", r.trimmable(in.RealTokens, in.Results, in.AutoThreshold), want.Fire)
	case "breaker":
		if in.Max != mostFailures {
			t.Fatalf("a breaker of %d", in.Max)
		}
		var b breaker
		for range in.Failures {
			b.record(plan.CompactionEnd{Error: "x"})
		}
		check("open", b.isOpen(), want.Open)
	case "output_level":
		text := in.Text
		if text == "pretty JSON array of 4 tools with enum members" { // the table describes it
			text = prettyTools(t)
		}
		got := cleanOutput(text, Level(in.Level))
		if want.Text != nil && got != *want.Text {
			t.Errorf("got %q, want %q", got, *want.Text)
		}
		if want.StillParses || want.AllValuesKept {
			var before, after any
			readInto(t, []byte(text), &before)
			readInto(t, []byte(got), &after)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Error(diff)
			}
		}
	default:
		t.Fatalf("unknown op %q", in.Op)
	}
}

func prettyTools(t *testing.T) string {
	t.Helper()
	var tools []map[string]any
	for i := range 4 {
		tools = append(tools, map[string]any{"name": fmt.Sprintf("tool-%d", i), "kind": map[string]any{"enum": []string{"alpha-1", "alpha-2", "alpha-3", "alpha-4"}}})
	}
	data, err := json.MarshalIndent(tools, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func plainSize(messages []plan.Message) int64 { return (&estimator{}).size(messages) }

func TestRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ window, ceiling, trigger int64 }{
		{200_000, 177_000, 167_000},
		{64_000, 41_000, 31_000},
		{32_000, 20_500, 15_500}, // a small window keeps the same parts free
		{8_000, 5_125, 3_875},
		{0, 0, 0},
		{-1, 0, 0},
	} {
		r := newRoom(c.window)
		ceiling, known := r.ceiling()
		if ceiling != c.ceiling || r.trigger() != c.trigger || known != (c.window > 0) {
			t.Errorf("window %d: ceiling %d (%v), trigger %d", c.window, ceiling, known, r.trigger())
		}
		if known && (r.goal(dueAuto) >= r.trigger() || r.goal(dueTrim) >= r.trigger()/2) {
			t.Errorf("window %d: a goal is not below what makes it due", c.window)
		}
	}
	r := newRoom(200_000)
	for _, c := range []struct {
		tokens  int64
		results int
		want    occasion
	}{
		{0, 100, notDue},
		{83_499, 100, notDue},
		{83_500, 10, notDue},
		{83_500, 11, dueTrim},
		{166_999, 0, notDue},
		{167_000, 0, dueAuto},
		{500_000, 100, dueAuto},
	} {
		if got := r.due(c.tokens, c.results); got != c.want {
			t.Errorf("due(%d, %d) = %q, want %q", c.tokens, c.results, got, c.want)
		}
	}
	if (room{Window: 1000, Output: 2000}).due(0, 0) != notDue {
		t.Error("something is due of nothing")
	}
	if newRoom(0).due(1<<40, 100) != notDue || newRoom(0).full(1<<40) {
		t.Error("something is due in a window of unknown size")
	}
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	r := newRoom(200_000)
	failed := plan.CompactionEnd{Error: "no answer"}
	var b breaker
	allowed := func(want bool, when string) {
		t.Helper()
		if b.allows(170_000, r) != want {
			t.Errorf("%s: allowed is not %v", when, want)
		}
	}
	b.record(failed)
	b.turned()
	b.record(failed)
	allowed(true, "two failures")
	b.record(failed)
	allowed(false, "three failures")
	b.turned()
	allowed(true, "a good turn later")
	b.record(failed)
	b.turned()
	allowed(false, "a failure and one good turn later")
	b.turned()
	allowed(true, "two good turns later")
	b.record(plan.CompactionEnd{Messages: []plan.Message{plan.UserText("x")}})
	b.record(failed)
	b.record(failed)
	allowed(true, "two failures after a success")

	b = breaker{}
	b.record(plan.CompactionEnd{Before: 168_000, After: 168_000})
	allowed(false, "nothing gained at nearly the same size")
	if !b.allows(173_000, r) {
		t.Error("not tried again once the conversation has grown")
	}
	b.record(plan.CompactionEnd{Before: 173_000, After: 90_000, Messages: []plan.Message{plan.UserText("x")}})
	allowed(true, "after a success")
}
