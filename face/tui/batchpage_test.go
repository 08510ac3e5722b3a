package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/memory"
)

const batchID = "01JBATCH7K2M"

// watched has a session look at a board with a run that waits, a batch, and a parked run.
func watched(m *model) {
	m.toWatch()
	ago := m.Now().Add(-time.Minute)
	m.Update(boardMsg{nth: m.reads, board: host.Board{
		Waiting: []memory.RunInfo{{
			ID: "01J7Q3K", Title: "Count the parts", State: plan.Implementing, Parked: plan.ParkApproval, Updated: ago,
		}},
		Batches: []memory.Batch{{
			ID:      batchID,
			Name:    "rename.jsonl",
			Updated: ago,
			Jobs:    map[memory.JobState]int{memory.JobDone: 2, memory.JobRunning: 1, memory.JobQueued: 1},
		}},
		Parked: []memory.RunInfo{{
			ID: "01J6AAA", Title: "Name the parts", State: plan.Planning, Parked: plan.ParkInterrupted, Updated: ago,
		}},
	}})
}

// opensBatch answers what the page of a batch asked the host for.
func opensBatch(m *model) {
	begun, ended := m.Now().Add(-5*time.Minute), m.Now().Add(-2*time.Minute)
	job := func(id, repo, request, run string, r batch.Result) batches.Job {
		j := batches.Job{
			ID:      id,
			State:   r.State,
			Run:     plan.RunID(run),
			Repo:    "/home/ada/src/" + repo,
			Request: request,
			Result:  r,
		}
		if run != "" {
			j.Started = &begun
		}
		if isOver(r.State) {
			j.Ended = &ended
		}
		return j
	}
	m.Update(batchMsg{nth: m.reads, standing: batches.Standing{
		Batch: batches.Batch{
			ID:      m.batch.id,
			State:   batches.Running,
			Total:   5,
			Name:    "rename.jsonl",
			Counts:  map[batch.JobState]int{batch.JobDone: 1, batch.JobFailed: 1, batch.JobRunning: 1, batch.JobParked: 1, batch.JobQueued: 1},
			CostUSD: 1.25,
			Tokens:  230_000,
		},
		Jobs: []batches.Job{
			job("shop", "shop", "Name the parts of a bill", "01JA", batch.Result{State: batch.JobDone, Outcome: plan.Approved}),
			job("bank", "bank", "Name the parts of a bill", "01JB", batch.Result{
				State: batch.JobFailed, Outcome: plan.Exhausted, Why: "2 gaps are open after 3 attempts",
			}),
			job("post", "post", "Name the parts of a letter", "01JC", batch.Result{
				State: batch.JobParked, Parked: plan.ParkApproval, Why: "waits for a yes to bash",
			}),
			job("mill", "mill", "Name the parts of a wheel", "01JD", batch.Result{State: batch.JobRunning}),
			job("a-job-with-a-long-name", "warehouse", "Name the parts of a shelf\nand more", "", batch.Result{
				State: batch.JobQueued,
			}),
		},
	}})
}

// TestBatchOpens: from all that goes on to a batch, to the run of a job, and back by the
// same way.
func TestBatchOpens(t *testing.T) {
	t.Parallel()
	m := sat(t, 80, 24)
	at := func(want screen) {
		t.Helper()
		if m.screen != want {
			t.Fatalf("screen %d is shown, not %d:\n%s", m.screen, want, pictureOf(m))
		}
	}
	watched(m)
	press(m, "down", "enter")
	at(atBatch)
	if m.batch.id != batchID {
		t.Fatalf("it is batch %q", m.batch.id)
	}
	opensBatch(m)
	press(m, "down", "down", "down", "down", "down", "enter")
	at(atBatch)
	if got := pictureOf(m); !strings.Contains(got, "has not begun") {
		t.Errorf("a job without a run:\n%s", got)
	}
	press(m, "up", "up", "enter")
	at(atRun)
	if m.view.id != "01JC" {
		t.Errorf("it is run %s", m.view.id)
	}
	press(m, "ctrl+d")
	at(atBatch)
	press(m, "q")
	at(atWatch)
	press(m, "down", "enter")
	at(atRun)
	if m.view.id != "01J6AAA" {
		t.Errorf("below the batch is run %s", m.view.id)
	}
	press(m, "ctrl+d")
	at(atWatch)
}

// TestOneReadAtATime: a page is read again by its newest read alone, however often it was
// left and come back to.
func TestOneReadAtATime(t *testing.T) {
	t.Parallel()
	m := sat(t, 80, 24)
	m.toWatch()
	old := m.reads
	m.openBatch(batchID)
	m.toWatch()
	if cmd := m.boarded(boardMsg{nth: old}); cmd != nil {
		t.Error("an older read is followed by another")
	}
	if cmd := m.boarded(boardMsg{nth: m.reads}); cmd == nil {
		t.Error("the newest read is followed by none")
	}
}
