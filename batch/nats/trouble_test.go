package nats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/batch/nats/natstest"
	"github.com/plan-engine/plan/internal/cable"
)

// openIn reaches a cluster, by one of its servers first.
func openIn(t *testing.T, c *natstest.Cluster, first int) (s *nats.Store) {
	t.Helper()
	within(t, func() bool { // a leader is elected first
		var err error
		s, err = nats.Open(t.Context(), nats.Config{
			URL:   strings.Join(c.URLs(first), ","),
			Token: natstest.Token,
			Lease: lease,
		})
		return err == nil
	})
	t.Cleanup(s.Close)
	return s
}

// killLeader kills the server of a cluster that leads a stream, once there is one.
func killLeader(t *testing.T, c *natstest.Cluster, stream string) {
	t.Helper()
	at := -1
	within(t, func() bool { at = c.Leader(stream); return at >= 0 })
	c.Kill(at)
}

// tally counts how often each job ended with a result that counts.
type tally struct {
	mu   sync.Mutex
	done map[string]int
}

// newTally makes one for the batch "A". Where the test fails it tells of the jobs that are open.
func newTally(t *testing.T, s *nats.Store) *tally {
	t.Helper()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		ctx := context.WithoutCancel(t.Context())
		jobs, err := s.Jobs(ctx, "A")
		left, lerr := s.Left(ctx)
		t.Logf("%d messages are left, of %d jobs: %v", left, len(jobs), errors.Join(err, lerr))
		for _, j := range jobs {
			if j.State != batch.JobDone || j.Lease != nil {
				t.Logf("%+v", j)
			}
		}
	})
	return &tally{done: map[string]int{}}
}

// work has a worker take jobs until ctx ends.
func (c *tally) work(ctx context.Context, t *testing.T, w *nats.Worker, each func(batch.Claimed)) {
	for {
		got, ok, err := w.Claim(ctx)
		if err != nil || !ok {
			return
		}
		if each != nil {
			each(got)
		}
		err = w.RecordResult(ctx, got.ID, batch.JobDone, []byte(`{}`))
		switch {
		case err == nil:
			c.mu.Lock()
			c.done[got.ID]++
			c.mu.Unlock()
		case !errors.Is(err, batch.ErrLeaseLost) && ctx.Err() == nil:
			t.Errorf("%s: %v", got.ID, err)
		}
	}
}

func (c *tally) n() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.done)
}

// requireOnce makes sure that each job ended once, and that nothing is left of it.
func (c *tally) requireOnce(t *testing.T, s *nats.Store, n int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, times := range c.done {
		if times != 1 {
			t.Errorf("%s ended %d times", id, times)
		}
	}
	jobs, err := s.Jobs(t.Context(), "A")
	open := slices.ContainsFunc(jobs, func(j nats.Job) bool { return j.State != batch.JobDone || j.Lease != nil })
	if err != nil || len(jobs) != n || open {
		t.Errorf("%d of %d jobs are listed, one as open: %t (%v)", len(jobs), n, open, err)
	}
	within(t, func() bool {
		left, err := s.Left(t.Context())
		return err == nil && left == 0
	})
}

// TestAServerOfAClusterIsKilled: of three servers one goes, whichever leads, and comes
// back, while workers at all three do jobs.
func TestAServerOfAClusterIsKilled(t *testing.T) {
	t.Parallel()
	c := natstest.New(t)
	s := openIn(t, c, 0)
	const n = 60
	add(t, s, "A", n, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := newTally(t, s)
	var group sync.WaitGroup
	for i := range 3 {
		w := worker(t, openIn(t, c, i), fmt.Sprint("w", i), false)
		group.Go(func() { done.work(ctx, t, w, nil) })
	}
	within(t, func() bool { return done.n() > 5 })
	at := done.n()
	killLeader(t, c, "KV_plan_jobs")
	within(t, func() bool { return done.n() >= min(n, at+20) }) // two of three go on
	c.Restart()
	within(t, func() bool { return done.n() == n })
	cancel()
	group.Wait()
	done.requireOnce(t, s, n)
}

// TestWritersOfAClusterGiveWay: several processes write the same records at once. Each change is
// made by one of them, and none fails for another that was faster.
func TestWritersOfAClusterGiveWay(t *testing.T) {
	t.Parallel()
	c := natstest.New(t)
	const n = 30
	add(t, openIn(t, c, 0), "A", n, nil)
	var group sync.WaitGroup
	var cancelled atomic.Int64
	for i := range 6 {
		s := openIn(t, c, i%3)
		group.Go(func() {
			changed, err := s.Cancel(t.Context(), "A", func(nats.Job) bool { return true })
			if err != nil {
				t.Error(err)
			}
			cancelled.Add(int64(changed))
		})
	}
	group.Wait()
	if got := cancelled.Load(); got != n {
		t.Errorf("%d of %d jobs were cancelled", got, n)
	}
}

// TestCutOff: a worker is cut off both ways while it has a job, for longer than its lease.
// Another has the job meanwhile, and what the first says of it later counts for nothing.
func TestCutOff(t *testing.T) {
	t.Parallel()
	url := serve(t, t.TempDir(), 0).URL()
	s := open(t, url)
	link := cable.New(t, strings.TrimPrefix(url, "nats://"))
	far := worker(t, open(t, "nats://"+link.Addr()), "far", false)
	const n = 12
	add(t, s, "A", n, nil)
	late := claim(t, far)
	link.Cut()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := newTally(t, s)
	var group sync.WaitGroup
	group.Go(func() { done.work(ctx, t, worker(t, s, "near", false), nil) })
	within(t, func() bool { return done.n() == n })
	said := make(chan error, 1)
	go func() { said <- far.RecordResult(t.Context(), late.ID, batch.JobFailed, []byte(`{"why":"late"}`)) }()
	link.Mend()
	select {
	case err := <-said:
		if !errors.Is(err, batch.ErrLeaseLost) {
			t.Errorf("what comes late is answered with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("a worker that is back does not find out")
	}
	cancel()
	group.Wait()
	done.requireOnce(t, s, n)
	if j := job(t, s, "A", placeOf(t, late)); j.Worker != "near" || j.Lost != 1 {
		t.Errorf("the job that was cut off: %+v", j)
	}
}

// TestAJournalOutlivesAServer: of three servers the one goes that leads the journals, while a
// run appends to its own. What was acknowledged is there for the next worker, whose takeover
// is asked for while another server is away, and the one before can append nothing more.
func TestAJournalOutlivesAServer(t *testing.T) {
	t.Parallel()
	c := natstest.New(t)
	add(t, openIn(t, c, 0), "A", 1, nil)
	one := worker(t, openIn(t, c, 0), "one", false)
	first := claim(t, one)
	j, _ := takeUp(t, one, first)
	const n = 30
	for i := range n {
		if i == n/2 {
			killLeader(t, c, "PLAN_JOURNAL")
		}
		keep(t, j, nats.Part{Events: []json.RawMessage{event(i + 1)}})
	}
	c.Restart()
	one.Close() // it gives no sign of life any more
	two := worker(t, openIn(t, c, 1), "two", false)
	second := claim(t, two)
	if second.Run != first.Run {
		t.Fatalf("run %s is given out as %s", first.Run, second.Run)
	}
	within(t, func() bool { return c.HasCaughtUp("PLAN_JOURNAL") })
	killLeader(t, c, "PLAN_JOURNAL")
	_, parts := takeUp(t, two, second)
	var lines []string
	for _, p := range parts {
		for _, line := range p.Events {
			lines = append(lines, string(line))
		}
	}
	for i := range n {
		if len(lines) != n || lines[i] != string(event(i+1)) {
			t.Fatalf("of %d events there are\n%s", n, strings.Join(lines, "\n"))
		}
	}
	if _, _, err := j.Append(t.Context(), nats.Part{Events: []json.RawMessage{event(n + 1)}}); !errors.Is(err, batch.ErrLeaseLost) {
		t.Errorf("who had the run before appends, and is told %v", err)
	}
}

// TestAListHasAllThatWasWritten: any server of a cluster may list, also one that was away and
// does not have the latest yet.
func TestAListHasAllThatWasWritten(t *testing.T) {
	t.Parallel()
	c := natstest.New(t)
	s := openIn(t, c, 0)
	const n = 200
	add(t, s, "A", n, nil)
	leader := -1
	within(t, func() bool { leader = c.Leader("KV_plan_jobs"); return leader >= 0 })
	for round := range 2 {
		c.Kill((leader + 1) % 3)
		place := func(j nats.Job) bool { return j.Place%2 == round }
		if _, err := s.Cancel(t.Context(), "A", place); err != nil {
			t.Fatal(err)
		}
		c.Restart()
		for !c.HasCaughtUp("KV_plan_jobs") {
			jobs, err := s.Jobs(t.Context(), "A")
			if err != nil {
				t.Log(err)
				continue
			}
			cancelled := 0
			for _, j := range jobs {
				if j.State == batch.JobCancelled {
					cancelled++
				}
			}
			if len(jobs) != n || cancelled != (round+1)*n/2 {
				t.Errorf("of %d jobs %d are listed, %d as cancelled", n, len(jobs), cancelled)
			}
		}
	}
}
