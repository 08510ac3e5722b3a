package render

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/host/batches"
)

func TestTheBatchScreenIsPaintedOver(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	clock := func() time.Time { return now }
	v := NewBatchView(BatchViewConfig{
		Out:     &out,
		Notes:   &out,
		Options: Options{Now: clock},
	})
	v.setProgress(batches.Progress{
		Counts:  map[batch.JobState]int{batch.JobQueued: 3},
		Workers: 2,
		Window:  batch.NewLimiter(2, clock).Window,
	})
	v.quit = make(chan struct{}) // a screen that is only painted when something happens
	one := batch.Try{Job: batch.Job{ID: "one"}}
	two := batch.Try{Job: batch.Job{ID: "two\x1b[2J"}}
	v.addJob(one)
	v.addJob(two)
	for _, ev := range []plan.Event{
		{Seq: 1, Phase: plan.Implement, Body: plan.PhaseStart{}},
		{Seq: 2, Body: plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant}}},
		{Seq: 3, Body: plan.ToolStart{Name: "edit"}},
		{Seq: 4, Body: plan.UsageReport{CostUSD: 0.5, Usage: plan.Usage{Input: 7}}},
	} {
		v.addEvent("one", ev)
	}
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
	v.endJob(one, batch.Result{State: batch.JobDone, Outcome: plan.Approved})
	text := out.String()
	for _, want := range []string{"1/3  1 done, 1 running, 1 queued", "about 1m00s left"} {
		if !strings.Contains(text, want) {
			t.Errorf("after the first job %q lacks %q", text, want)
		}
	}
	if !strings.HasPrefix(text, "\x1b[3A\x1b[J[1/3] approved  one") {
		t.Errorf("after the first job: %q", text)
	}
}
