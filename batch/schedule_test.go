package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
)

// queue is a queue of jobs that lie in this process.
type queue struct {
	mu      sync.Mutex
	waiting []batch.Entry
	results map[string]string // the state of each job, and why
}

func newQueue(t *testing.T, ids ...string) *queue {
	t.Helper()
	jobs := make([]batch.Job, 0, len(ids))
	q := &queue{results: map[string]string{}}
	for _, id := range ids {
		jobs = append(jobs, batch.Job{ID: id, Repo: "/r", Request: "x"})
		q.results[id] = string(batch.JobQueued)
	}
	var err error
	if q.waiting, err = batch.Entries(jobs); err != nil {
		t.Fatal(err)
	}
	return q
}

func (q *queue) Claim(context.Context) (batch.Claimed, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return batch.Claimed{}, false, nil
	}
	next := q.waiting[0]
	q.waiting = q.waiting[1:]
	q.results[next.ID] = string(batch.JobRunning)
	return batch.Claimed{
		Batch: "B",
		ID:    next.ID,
		Run:   "R",
		Spec:  next.Spec,
	}, true, nil
}

func (q *queue) RecordResult(_ context.Context, id string, state batch.JobState, result json.RawMessage) error {
	var res batch.Result
	if err := json.Unmarshal(result, &res); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.results[id] = strings.TrimSpace(string(state) + " " + res.Why)
	return nil
}

// outcomes is the state of each job, and why.
func (q *queue) outcomes() map[string]string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.results)
}

type runnerFunc func(context.Context, batch.Try) (batch.Result, error)

func (f runnerFunc) Run(ctx context.Context, try batch.Try) (batch.Result, error) { return f(ctx, try) }

// TestWhatCannotBeKeptStopsAll: where what jobs come to cannot be kept, none has failed,
// and none further begins.
func TestWhatCannotBeKeptStopsAll(t *testing.T) {
	t.Parallel()
	q := newQueue(t, "a", "b", "c")
	full := errors.New("the disk is full")
	err := batch.Run(t.Context(), batch.Config{
		Queue: q,
		Runner: runnerFunc(func(_ context.Context, try batch.Try) (batch.Result, error) {
			if try.ID == "b" {
				return batch.Result{}, fmt.Errorf("begin: %w", &batch.StopError{Err: full})
			}
			return batch.Result{State: batch.JobDone}, nil
		}),
		Workers:  1,
		FailFast: true,
		Finished: func(try batch.Try, _ batch.Result) {
			if try.ID != "a" {
				t.Errorf("%s was told to have finished", try.ID)
			}
		},
	})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	want := map[string]string{"a": "done", "b": "running", "c": "queued"}
	if got := q.outcomes(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestACrashAndAHangHarmNoOtherJob(t *testing.T) {
	t.Parallel()
	q := newQueue(t, "good", "crash", "deaf", "slow", "error", "last")
	release := make(chan struct{})
	err := batch.Run(t.Context(), batch.Config{
		Queue: q, Workers: 2, Timeout: 50 * time.Millisecond, Grace: 50 * time.Millisecond,
		Runner: runnerFunc(func(ctx context.Context, try batch.Try) (batch.Result, error) {
			switch try.ID {
			case "crash":
				panic("out of luck")
			case "deaf":
				<-release
			case "slow":
				<-ctx.Done()
				return batch.Result{}, context.Cause(ctx)
			case "error":
				return batch.Result{}, errors.New("no such repository")
			}
			return batch.Result{State: batch.JobDone}, nil
		}),
	})
	close(release)
	if err != nil {
		t.Fatal(err)
	}
	got := q.outcomes()
	for id, want := range map[string]string{
		"good": "done", "last": "done", "error": "failed no such repository", "crash": "failed the job crashed: out of luck (",
		"slow": "parked the time limit of 50ms is reached", "deaf": "failed the job was to stop (the time limit of 50ms is reached), did not within 50ms",
	} {
		if !strings.HasPrefix(got[id], want) {
			t.Errorf("%s is %q, want %q", id, got[id], want)
		}
	}
	if !strings.Contains(got["crash"], "schedule_test.go:") {
		t.Errorf("the crash has no place: %q", got["crash"])
	}
}

func TestFailFastStartsNoFurtherJob(t *testing.T) {
	t.Parallel()
	q := newQueue(t, "a", "b", "c")
	err := batch.Run(t.Context(), batch.Config{
		Queue: q, Workers: 1, FailFast: true,
		Runner: runnerFunc(func(_ context.Context, try batch.Try) (batch.Result, error) {
			if try.ID == "b" {
				return batch.Result{State: batch.JobFailed, Why: "no"}, nil
			}
			return batch.Result{State: batch.JobDone}, nil
		}),
	})
	if got := fmt.Sprint(q.outcomes()); err != nil || got != "map[a:done b:failed no c:queued]" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAFullBudgetParksWhatRuns(t *testing.T) {
	t.Parallel()
	q := newQueue(t, "a", "b", "c")
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	budget := &batch.Budget{MaxCost: 1, Stop: stop}
	budget.Add(10, 0.4) // of an earlier process
	err := batch.Run(ctx, batch.Config{
		Queue: q, Workers: 1,
		Runner: runnerFunc(func(ctx context.Context, _ batch.Try) (batch.Result, error) {
			budget.Spend(plan.Usage{Input: 5}, 0.35)
			if ctx.Err() != nil {
				return batch.Result{State: batch.JobParked, Parked: plan.ParkInterrupted}, nil
			}
			return batch.Result{State: batch.JobDone}, nil
		}),
	})
	if got := fmt.Sprint(q.outcomes()); err != nil || got != "map[a:done b:parked the batch has reached its limit: $1.10 of $1.00 c:queued]" {
		t.Errorf("%v, %v", got, err)
	}
}

// brokenQueue cannot be written to.
type brokenQueue struct{ *queue }

func (brokenQueue) RecordResult(context.Context, string, batch.JobState, json.RawMessage) error {
	return errors.New("disk full")
}

func TestAQueueThatCannotBeKeptStopsEverything(t *testing.T) {
	t.Parallel()
	q := newQueue(t, "a", "b", "c", "d")
	var mu sync.Mutex
	ran := 0
	err := batch.Run(t.Context(), batch.Config{
		Queue: brokenQueue{q}, Workers: 1,
		Runner: runnerFunc(func(context.Context, batch.Try) (batch.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			ran++
			return batch.Result{State: batch.JobDone}, nil
		}),
	})
	if err == nil || !strings.Contains(err.Error(), "disk full") || ran != 1 {
		t.Errorf("%d jobs ran, error %v", ran, err)
	}
}
