package host

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/planted"
	"github.com/plan-engine/plan/memory"
)

// TestEveryFieldOfAStory: of each kind of event that was written elsewhere it is known
// which of its fields count here. A new kind, and a new field of one that is not
// told whole, has to be thought about.
func TestEveryFieldOfAStory(t *testing.T) {
	t.Parallel()
	const whole = "*"
	told := map[plan.EventType]string{
		plan.TypeApprovalResolved: "", // of a yes
		plan.TypeAdjusted:         "",
		plan.TypeApprovalRequired: "args call name version",
		plan.TypeParked:           "detail drift reason wake_at",
		plan.TypeToolStart:        "args call conv effect=unknown name",
		plan.TypeCheckEnd:         whole + " cancelled", // it counts for nothing
	}
	// What is said in these is text, what was used, or what happened to a tree that is
	// compared with the one that is here.
	for _, name := range strings.Fields("run_start settings run_end error state phase_start phase_end conv_start " +
		"conv_end turn_start turn_end message_start message_end tool_output tool_end steering follow_up question answer usage limit plan " +
		"critique check_start verdict gap finding snapshot drift unparked report") {
		if _, ok := told[plan.EventType(name)]; !ok {
			told[plan.EventType(name)] = whole
		}
	}
	var unknown []string
	for _, name := range plan.EventTypes() {
		body, err := plan.DecodeBody(name, "{}")
		if err != nil {
			t.Fatal(err)
		}
		filled := reflect.New(reflect.TypeOf(body)).Elem()
		planted.Fill(filled, "evil")
		before := plan.Event{Seq: 5, Body: filled.Interface().(plan.Body)}
		after := story{upTo: 5}.tell(before)
		if later := (story{upTo: 4}).tell(before); !reflect.DeepEqual(later, before) {
			t.Errorf("%s that was written here is changed", name)
		}
		got := members(t, after.Body)
		want, ok := told[name]
		switch {
		case !ok && !folds(name):
			if !reflect.DeepEqual(after, before) {
				t.Errorf("%s is changed", name)
			}
		case !ok:
			unknown = append(unknown, string(name))
		case strings.HasPrefix(want, whole):
			if got != members(t, before.Body) {
				t.Errorf("%s becomes %s", name, got)
			}
		case got != want:
			t.Errorf("%s becomes %q, want %q", name, got, want)
		}
	}
	if len(unknown) > 0 {
		t.Errorf("the state of a run is made of these; may they be written elsewhere? %q", unknown)
	}
}

func folds(name plan.EventType) bool { return name.Folded() }

// members are the names of what a body says, and what is said of an effect.
func members(t *testing.T, b plan.Body) string {
	t.Helper()
	data, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &said); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(said))
	for i, name := range names {
		if name == "effect" && string(said[name]) == `"unknown"` {
			names[i] = "effect=unknown"
		}
	}
	return strings.Join(names, " ")
}

// TestUsageOfAStory takes nothing back from what a run has used.
func TestUsageOfAStory(t *testing.T) {
	t.Parallel()
	for _, b := range []plan.UsageReport{
		{CostUSD: -1},
		{CostUSD: math.MaxFloat64},
		{Usage: plan.Usage{Requests: -1}},
		{Usage: plan.Usage{Output: -1}},
		{Usage: plan.Usage{Input: -1}},
		{Usage: plan.Usage{Input: math.MaxInt64}},
	} {
		if _, ok := (story{upTo: 1}).tell(plan.Event{Seq: 1, Body: b}).Body.(plan.Unknown); !ok {
			t.Errorf("%+v counts", b)
		}
	}
}

// TestWhereAStoryEnds: a fork of a fork of an imported run begins elsewhere, however
// it was noted; no conversation of a review goes on from what was written there.
func TestWhereAStoryEnds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	db, err := memory.Open(ctx, memory.Config{Path: filepath.Join(dir, "plan.db"), Locks: filepath.Join(dir, "locks")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	at := time.Now().UTC()
	from := func(run plan.RunID, seq int64) *plan.Fork { return &plan.Fork{Run: run, Seq: seq} }
	phase := func(p plan.Phase, conv string) plan.Event {
		return plan.Event{Phase: p, Conv: conv, Body: plan.PhaseStart{}}
	}
	begin := func(run plan.RunID, forked *plan.Fork, imported int64) {
		w, err := db.Own(ctx, run)
		if err != nil {
			t.Fatal(err)
		}
		events := []plan.Event{
			{Body: plan.RunStart{ForkedFrom: forked}},
			phase(plan.Implement, "c1"),
			phase(plan.Review, "c2"),
			phase(plan.Implement, "c3"),
			phase(plan.Review, "c3"),
			phase(plan.Implement, "c4"),
		}
		for i := range events {
			events[i].Run, events[i].Time = run, at
		}
		_, err = w.AppendImported(ctx, imported, events...)
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	begin("01A", nil, 5)
	begin("01B", from("01A", 4), 0)
	begin("01C", from("01B", 6), 0)
	begin("01D", from("01A", 6), 3)
	begin("01E", from("01Z", 6), 0)
	begin("01F", from("01F", 6), 0)
	for run, want := range map[plan.RunID]int64{"01A": 5, "01B": 4, "01C": 4, "01D": 3, "01E": 0, "01F": 0} {
		past, err := db.ReadAll(ctx, run)
		if err != nil {
			t.Fatal(err)
		}
		s, err := readStory(ctx, db, run, past)
		if err != nil || s.upTo != want {
			t.Errorf("%s: up to %d, %v; want %d", run, s.upTo, err, want)
		}
		if run != "01A" {
			continue
		}
		j := &journal{
			db:    db,
			run:   run,
			story: s,
		}
		for conv, want := range map[string]int{"c1": 1, "c2": 0, "c3": 0, "c4": 1, "c5": 0} {
			for _, j.past = range [][]plan.Event{nil, past} {
				if got, err := j.Conversation(ctx, conv); err != nil || len(got) != want {
					t.Errorf("%s goes on from %d events, %v; want %d", conv, len(got), err, want)
				}
			}
		}
	}
}
