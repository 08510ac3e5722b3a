package nats_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
)

// Clocks of machines that use a queue may be off by days: leases last as long as their
// workers, the newest batch is the one that was added last, and how long something has been
// over is told by the clock of the queue.
func TestClocksMayBeOff(t *testing.T) {
	t.Parallel()
	url := serve(t, t.TempDir(), 0).URL()
	at := func(off time.Duration) *nats.Store {
		s, err := nats.Open(t.Context(), nats.Config{
			URL:   url,
			Token: "secret",
			Lease: lease,
			Now:   func() time.Time { return time.Now().Add(off) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	const days = 72 * time.Hour
	behind, ahead := at(-days), at(days)
	for i, s := range []*nats.Store{ahead, behind} {
		id := fmt.Sprint("B", 9-i) // ids grow with the clock
		add(t, s, id, 1, nil)
		if b, err := at(0).Batch(t.Context(), ""); b.ID != id || err != nil {
			t.Errorf("%s was added last, and %s is the newest, %v", id, b.ID, err)
		}
	}
	slow, fast := worker(t, behind, "slow", false), worker(t, ahead, "fast", false)
	first, second := claim(t, slow), claim(t, fast)
	end := time.After(3 * lease)
	select {
	case <-first.Lost:
		t.Error("a worker whose clock is behind lost its job")
	case <-second.Lost:
		t.Error("a worker whose clock is ahead lost its job")
	case <-end:
	}
	if err := record(t, slow, first, batch.JobDone, batch.Result{}); err != nil {
		t.Error(err)
	}
	if err := record(t, fast, second, batch.JobDone, batch.Result{}); err != nil {
		t.Error(err)
	}
	for since, want := range map[time.Duration]int{time.Hour: 0, 0: 2} {
		before, err := ahead.Ago(t.Context(), since)
		if err != nil {
			t.Fatal(err)
		}
		if over, err := ahead.Over(t.Context(), before); len(over) != want || err != nil {
			t.Errorf("%d batches are over for %s, %v; want %d", len(over), since, err, want)
		}
	}
}
