package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
)

// longJournal stores a run of n events, as one Implement with many turns of two
// tools writes them: about 650 bytes an event.
func longJournal(b *testing.B, n int) *memory.DB {
	b.Helper()
	ctx := context.Background()
	db, err := memory.Open(ctx, memory.Config{Path: filepath.Join(b.TempDir(), "plan.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	w, err := db.Own(ctx, "R1")
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	text := strings.Repeat("some words of an answer; ", 60)
	events := []plan.Event{
		{Body: plan.RunStart{Request: "r", Repo: "/repo", Config: []byte("{}")}},
		{Body: plan.StateChange{From: plan.Unstarted, To: plan.Implementing}},
		{Body: plan.PhaseStart{Model: "m"}, Phase: plan.Implement, Conv: "c1"},
	}
	for turn := 0; len(events) < n; turn++ {
		one, two := fmt.Sprint("call_", turn, "_1"), fmt.Sprint("call_", turn, "_2")
		for _, body := range []plan.Body{
			plan.TurnStart{Trigger: "user"},
			plan.Request{Model: "m", Messages: turn, Prefix: "p", Hash: "h"},
			plan.MessageStart{Role: plan.RoleAssistant},
			plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockText, Text: text[:400]}}}},
			plan.UsageReport{Usage: plan.Usage{Requests: 1, Input: 10}, Priced: true},
			plan.ToolStart{Call: one, Name: "read", Args: []byte(`{"path":"main.go"}`)},
			plan.ToolStart{Call: two, Name: "edit", Args: []byte(`{"path":"main.go","old_string":"` + text[:300] + `"}`)},
			plan.ToolEnd{Call: one, Name: "read", Output: text},
			plan.ToolEnd{Call: two, Name: "edit", Output: text[:200]},
			plan.TurnEnd{Reason: plan.EndCompleted},
		} {
			turn := turn
			events = append(events, plan.Event{Body: body, Phase: plan.Implement, Conv: "c1", Attempt: 1, Turn: &turn})
		}
	}
	events = events[:n]
	for i := range events {
		events[i].Run, events[i].Time = "R1", time.Date(2026, 1, 1, 0, 0, 0, i, time.UTC)
	}
	if _, err := w.Append(ctx, events...); err != nil {
		b.Fatal(err)
	}
	return db
}

// BenchmarkResume is what a resume reads before it can go on: the whole journal
// from the file, proven, decoded and folded.
func BenchmarkResume(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := longJournal(b, n)
			b.ReportAllocs()
			for b.Loop() {
				run, err := engine.Fold(db.Events(context.Background(), "R1", memory.Query{}))
				if err != nil || run.Head != int64(n) {
					b.Fatal(run, err)
				}
			}
		})
	}
}

// BenchmarkFold is the folding alone, of events that are in memory.
func BenchmarkFold(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			db := longJournal(b, n)
			events, err := collect(db.Events(context.Background(), "R1", memory.Query{}))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				run := &engine.Run{}
				for _, ev := range events {
					run.Apply(ev)
				}
			}
		})
	}
}
