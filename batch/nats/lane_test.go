package nats_test

import (
	"fmt"
	"testing"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
)

// A job goes to workers alone that have all the providers that it needs, and those
// that have take it first.
func TestJobsGoToWorkersThatHaveTheirProviders(t *testing.T) {
	t.Parallel()
	s := open(t, serve(t, t.TempDir(), 0).URL())
	jobs := entries(4, func(i int) int { return -(i / 2) }) // j2 and j3 are less urgent
	jobs[1].Needs = []string{"a.b", "c"}
	jobs[3].Needs = []string{"c"}
	if _, err := s.Add(t.Context(), nats.Batch{ID: "A", Digest: "d"}, jobs, false); err != nil {
		t.Fatal(err)
	}
	for _, try := range []struct {
		has  []string
		gets []string
	}{
		{[]string{"a.b"}, []string{"A/j0", "A/j2"}},
		{[]string{"c", "x"}, []string{"A/j3"}},
		{[]string{"x", "c", "a.b"}, []string{"A/j1"}},
	} {
		w := worker(t, s, try.has[0], true, try.has...)
		for _, want := range try.gets {
			c := claim(t, w)
			if c.ID != want {
				t.Errorf("a worker with %q was given %s for %s", try.has, c.ID, want)
			}
			if err := record(t, w, c, batch.JobDone, batch.Result{}); err != nil {
				t.Error(err)
			}
		}
		if c, ok, err := w.Claim(t.Context()); ok || err != nil {
			t.Errorf("a worker with %q was given %s, too: %v", try.has, c.ID, err)
		}
	}
	both := entries(2, nil)
	both[1].Needs = []string{"c"}
	if _, err := s.Add(t.Context(), nats.Batch{ID: "B", Digest: "e"}, both, false); err != nil {
		t.Fatal(err)
	}
	if c := claim(t, worker(t, s, "w", true, "c")); c.ID != "B/j1" {
		t.Errorf("a worker that has what few have was given %s", c.ID)
	}
}

// A worker that ends once nothing is left does not overlook what was queued just before:
// a queue has stored a job a moment before it counts it.
func TestWhatWasJustQueuedIsLeft(t *testing.T) {
	t.Parallel()
	s := open(t, serve(t, t.TempDir(), 0).URL())
	w := worker(t, s, "w", true)
	for i := range 40 {
		add(t, s, fmt.Sprint("A", i), 1, nil)
		if err := record(t, w, claim(t, w), batch.JobDone, batch.Result{}); err != nil {
			t.Fatal(err)
		}
	}
}

// A worker that has enough to do hears of more urgent jobs at once, also where none was as
// urgent before.
func TestUrgentJobsNeedNotWait(t *testing.T) {
	t.Parallel()
	s := open(t, serve(t, t.TempDir(), 0).URL())
	const many = 50
	add(t, s, "MANY", many, nil)
	w := worker(t, s, "w", false)
	next := func() batch.Claimed {
		c := claim(t, w)
		if err := record(t, w, c, batch.JobDone, batch.Result{}); err != nil {
			t.Error(err)
		}
		return c
	}
	next()
	add(t, s, "URGENT", 1, func(int) int { return 9 })
	for n := 1; next().Batch != "URGENT"; n++ {
		if n == many-1 {
			t.Fatal("it was done last")
		}
	}
}
