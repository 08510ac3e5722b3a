package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/memory"
)

func TestTheBatchScreenIsPaintedOver(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	a := &app{out: &out, err: &out, now: func() time.Time { return now }}
	v := a.openBatchView(memory.Batch{Jobs: map[memory.JobState]int{memory.JobQueued: 3}})
	v.limiter, v.workers, v.quit = batch.NewLimiter(2, a.now), 2, make(chan struct{})
	one, two := batch.Try{Job: batch.Job{ID: "one"}}, batch.Try{Job: batch.Job{ID: "two\x1b[2J"}}
	v.begin(one)
	v.begin(two)
	v.feed("one", plan.Event{Seq: 1, Phase: plan.Implement, Body: plan.PhaseStart{}})
	v.feed("one", plan.Event{Seq: 2, Body: plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant}}})
	v.feed("one", plan.Event{Seq: 3, Body: plan.ToolStart{Name: "edit"}})
	v.feed("one", plan.Event{Seq: 4, Body: plan.UsageReport{CostUSD: 0.5, Usage: plan.Usage{Input: 7}}})
	v.draw()
	rows := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(rows) != 3 || v.rows != 3 || strings.Contains(out.String(), "\x1b[2J") {
		t.Fatalf("%d rows of %d: %q", v.rows, len(rows), out.String())
	}
	for _, want := range []string{"implement", "turn 1", "$0.50", "edit"} {
		if !strings.Contains(rows[0], want) {
			t.Errorf("the line of the first job lacks %q: %q", want, rows[0])
		}
	}
	out.Reset()
	now = now.Add(time.Minute)
	v.settled(one, batch.Result{State: batch.JobDone, Outcome: plan.Approved})
	text := out.String()
	if !strings.HasPrefix(text, "\x1b[3A\x1b[J[1/3] approved  one") || !strings.Contains(text, "1/3  1 done, 1 running, 1 queued") || !strings.Contains(text, "about 1m00s left") {
		t.Errorf("after the first job: %q", text)
	}
}
