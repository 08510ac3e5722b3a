package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/memory"
)

// BenchmarkList10000 lists ten thousand runs, each with a journal, from the
// command's start to its last byte.
func BenchmarkList10000(b *testing.B) {
	home := b.TempDir()
	fillHome(b, home, 10000)
	for _, args := range [][]string{{"list"}, {"list", "--json"}, {"list", "--limit", "20"}, {"list", "--parked"}} {
		b.Run(fmt.Sprint(args), func(b *testing.B) {
			for b.Loop() {
				var out, errs bytes.Buffer
				a := &app{in: &bytes.Buffer{}, out: &out, err: &errs, environ: []string{"PLAN_HOME=" + home}, now: time.Now}
				if code := a.main(context.Background(), args); code != 0 || out.Len() == 0 {
					b.Fatalf("exit %d: %s", code, errs.String())
				}
			}
		})
	}
}

// fillHome makes runs with a beginning, some work and a place where they stand.
func fillHome(tb testing.TB, home string, n int) {
	tb.Helper()
	ctx := context.Background()
	db, err := memory.Open(ctx, memory.Config{Path: filepath.Join(home, "plan.db")})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	}()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		id := plan.RunID(fmt.Sprintf("R%07d", i))
		w, err := db.Own(ctx, id)
		if err != nil {
			tb.Fatal(err)
		}
		event := func(b plan.Body) plan.Event {
			return plan.Event{Run: id, Time: at.Add(time.Duration(i) * time.Minute), Body: b}
		}
		events := []plan.Event{
			event(plan.RunStart{Request: fmt.Sprintf("Request %d\n%01000d", i, i), Repo: "/repo", Config: config.Default().JSON()}),
			event(plan.StateChange{From: plan.Unstarted, To: plan.Exploring, Event: "explore"}),
			event(plan.UsageReport{Usage: plan.Usage{Requests: 1, Input: 1000, Output: 10}}),
		}
		if i%10 == 0 {
			events = append(events, event(plan.Parked{Reason: plan.ParkQuestion}))
		}
		if _, err := w.Append(ctx, events...); err != nil {
			tb.Fatal(err)
		}
		if err := w.Close(); err != nil {
			tb.Fatal(err)
		}
	}
}
