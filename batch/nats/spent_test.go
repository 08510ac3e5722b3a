package nats_test

import (
	"sync"
	"testing"
	"time"

	"github.com/plan-engine/plan/batch/nats"
)

// What workers use is added up to one sum, each time once.
func TestCounters(t *testing.T) {
	t.Parallel()
	url := serve(t, t.TempDir(), 0).URL()
	stores := []*nats.Store{open(t, url), open(t, url), open(t, url)}
	var group sync.WaitGroup
	for i, s := range stores {
		if err := s.EnableCounters(t.Context()); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for n := range 20 {
				id := string(rune('a'+i)) + string(rune('a'+n))
				for range 2 { // as if the answer to the first was lost
					if _, err := s.Count(t.Context(), "A", "usd", id, 7); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	if n, err := stores[0].Count(t.Context(), "A", "usd", "", 0); n != 3*20*7 || err != nil {
		t.Errorf("%d were counted: %v", n, err)
	}
	if n, err := stores[1].Count(t.Context(), "B", "usd", "x", 1); n != 1 || err != nil {
		t.Errorf("another batch has %d: %v", n, err)
	}
}

func TestAPauseReachesTheOtherWorkers(t *testing.T) {
	t.Parallel()
	url := serve(t, t.TempDir(), 0).URL()
	one, two := worker(t, open(t, url), "one", false), worker(t, open(t, url), "two", false)
	heard := make(chan time.Duration, 1)
	for w, take := range map[*nats.Worker]func(time.Duration){
		one: func(time.Duration) { t.Error("a worker was told what it had told") },
		two: func(d time.Duration) { heard <- d },
	} {
		end, err := w.OnPause(take)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(end)
	}
	if err := open(t, url).EnableCounters(t.Context()); err != nil { // by now the server knows who listens
		t.Fatal(err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 100 {
		one.TellPause(3 * time.Second)
		select {
		case d := <-heard:
			if d != 3*time.Second {
				t.Errorf("told of a pause of %s", d)
			}
			return
		case <-tick.C:
		}
	}
	t.Error("no pause was heard")
}
