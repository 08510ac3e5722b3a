package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/memory"
)

// store is a queue in a real database.
type store struct {
	*memory.DB
	id string
}

func (s store) Claim(ctx context.Context) (memory.Job, bool, error) {
	return s.ClaimJob(ctx, s.id, "R", "")
}

func (s store) Settle(ctx context.Context, id string, state memory.JobState, result json.RawMessage) error {
	return s.SettleJob(ctx, s.id, id, state, result)
}

func newStore(t *testing.T, ids ...string) store {
	t.Helper()
	db, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(t.TempDir(), "plan.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var jobs []batch.Job
	for _, id := range ids {
		jobs = append(jobs, batch.Job{ID: id, Repo: "/r", Request: "x"})
	}
	entries, err := batch.Entries(jobs)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.AddBatch(t.Context(), memory.Batch{ID: "B"}, entries); err != nil {
		t.Fatal(err)
	}
	return store{db, "B"}
}

// standing is the state of each job and why.
func (s store) standing(t *testing.T) map[string]string {
	t.Helper()
	jobs, err := s.Jobs(context.Background(), s.id)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, j := range jobs {
		var res batch.Result
		if j.Result != nil {
			if err := json.Unmarshal(j.Result, &res); err != nil {
				t.Fatal(err)
			}
		}
		out[j.ID] = strings.TrimSpace(string(j.State) + " " + res.Why)
	}
	return out
}

type runnerFunc func(context.Context, batch.Try) (batch.Result, error)

func (f runnerFunc) Run(ctx context.Context, try batch.Try) (batch.Result, error) { return f(ctx, try) }

func TestACrashAndAHangHarmNoOtherJob(t *testing.T) {
	t.Parallel()
	q := newStore(t, "good", "crash", "deaf", "slow", "error", "last")
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
			return batch.Result{State: memory.JobDone}, nil
		}),
	})
	close(release)
	if err != nil {
		t.Fatal(err)
	}
	got := q.standing(t)
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
	q := newStore(t, "a", "b", "c")
	err := batch.Run(t.Context(), batch.Config{
		Queue: q, Workers: 1, FailFast: true,
		Runner: runnerFunc(func(_ context.Context, try batch.Try) (batch.Result, error) {
			if try.ID == "b" {
				return batch.Result{State: memory.JobFailed, Why: "no"}, nil
			}
			return batch.Result{State: memory.JobDone}, nil
		}),
	})
	if got := fmt.Sprint(q.standing(t)); err != nil || got != "map[a:done b:failed no c:queued]" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAFullBudgetParksWhatRuns(t *testing.T) {
	t.Parallel()
	q := newStore(t, "a", "b", "c")
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	budget := &batch.Budget{MaxCost: 1, Stop: stop}
	budget.Add(10, 0.4) // of an earlier process
	err := batch.Run(ctx, batch.Config{
		Queue: q, Workers: 1,
		Runner: runnerFunc(func(ctx context.Context, _ batch.Try) (batch.Result, error) {
			budget.Spend(plan.Usage{Input: 5}, 0.35)
			if ctx.Err() != nil {
				return batch.Result{State: memory.JobParked, Parked: plan.ParkInterrupted}, nil
			}
			return batch.Result{State: memory.JobDone}, nil
		}),
	})
	if got := fmt.Sprint(q.standing(t)); err != nil || got != "map[a:done b:parked the batch has reached its limit: $1.10 of $1.00 c:queued]" {
		t.Errorf("%v, %v", got, err)
	}
	if tokens, _ := budget.Spent(); tokens != 20 {
		t.Errorf("%d tokens were counted", tokens)
	}
}

// brokenQueue cannot be written to.
type brokenQueue struct{ store }

func (brokenQueue) Settle(context.Context, string, memory.JobState, json.RawMessage) error {
	return errors.New("disk full")
}

func TestAQueueThatCannotBeKeptStopsEverything(t *testing.T) {
	t.Parallel()
	q := newStore(t, "a", "b", "c", "d")
	var mu sync.Mutex
	ran := 0
	err := batch.Run(t.Context(), batch.Config{
		Queue: brokenQueue{q}, Workers: 1,
		Runner: runnerFunc(func(context.Context, batch.Try) (batch.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			ran++
			return batch.Result{State: memory.JobDone}, nil
		}),
	})
	if err == nil || !strings.Contains(err.Error(), "disk full") || ran != 1 {
		t.Errorf("%d jobs ran, error %v", ran, err)
	}
}
