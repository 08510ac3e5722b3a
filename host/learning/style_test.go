package learning

import (
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
)

// TestStyleIsLearnedByTheTurn: also of runs that park or are killed, once for what was
// said, whatever process reads it again, and not from what others said.
func TestStyleIsLearnedByTheTurn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, _ := newOwnedRun(t, "R1")
	open := func(cfg config.Config) *Learning {
		l, err := New(Config{Settings: cfg, DB: db, Home: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	seen := func() int {
		s, err := db.Style(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s.Seen
	}
	event := func(seq int64, b plan.Body) plan.Event { return plan.Event{Seq: seq, Body: b} }
	begun := []plan.Event{event(1, plan.RunStart{Request: "do it"}), event(2, plan.TurnStart{})}
	steps := []struct {
		name   string
		run    plan.RunID
		past   []plan.Event
		other  int64 // up to which seq others wrote it
		events []plan.Event
		cfg    config.Config
		seen   int
	}{
		{name: "in the middle of a turn", run: "R1", events: begun, seen: 0},
		{name: "killed and gone on with", run: "R1", past: begun, events: []plan.Event{event(3, plan.TurnEnd{})}, seen: 1},
		{
			name:   "again, with guidance",
			run:    "R1",
			past:   begun,
			events: []plan.Event{event(3, plan.TurnEnd{}), event(4, plan.Steering{Text: "shorter"}), event(5, plan.TurnEnd{})},
			seen:   2,
		},
		{
			name:   "parked",
			run:    "R1",
			past:   begun,
			events: []plan.Event{event(6, plan.FollowUp{Text: "more"}), event(7, plan.Parked{})},
			seen:   3,
		},
		{
			name: "forked",
			run:  "R2",
			past: []plan.Event{
				event(1, plan.RunStart{Request: "do it", ForkedFrom: &plan.Fork{Run: "R1", Seq: 6}}),
				event(6, plan.FollowUp{Text: "more"}),
			},
			events: []plan.Event{event(8, plan.TurnEnd{})},
			seen:   3,
		},
		{name: "imported", run: "R3", past: begun, other: 2, events: []plan.Event{event(3, plan.TurnEnd{})}, seen: 3},
		{
			name: "what commits say",
			run:  "R4",
			events: []plan.Event{
				event(1, plan.RunStart{Request: "fix", Against: &plan.Against{Claimed: true}}),
				event(2, plan.RunEnd{}),
			},
			seen: 3,
		},
		{
			name:   "without memory",
			run:    "R5",
			events: []plan.Event{begun[0], event(2, plan.RunEnd{})},
			cfg:    config.Config{Memory: config.MemoryConfig{Off: true}},
			seen:   3,
		},
		{name: "ended", run: "R1", past: begun, events: []plan.Event{event(8, plan.RunEnd{})}, seen: 3},
		{name: "another", run: "R6", events: []plan.Event{begun[0], event(2, plan.RunEnd{})}, seen: 4},
	}
	for _, s := range steps {
		l := open(s.cfg)
		l.StartRun(s.run, s.past, s.other)
		for _, ev := range s.events {
			l.Observe(ev)
			l.LearnStyle(ctx, ev)
		}
		if got := seen(); got != s.seen {
			t.Errorf("%s: %d windows are learned, want %d", s.name, got, s.seen)
		}
	}
}
