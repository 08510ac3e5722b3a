package nats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/batch/nats/server"
)

const lease = 600 * time.Millisecond

// serve begins a queue that ends with the test.
func serve(t *testing.T, dir string, port int) *server.Server {
	t.Helper()
	srv, err := server.Serve(server.Config{Dir: dir, Port: port, Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

func open(t *testing.T, url string) *nats.Store {
	t.Helper()
	s, err := nats.Open(t.Context(), nats.Config{
		URL:        url,
		Token:      "secret",
		Lease:      lease,
		Deliveries: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

var runs atomic.Int64

func newRun() plan.RunID { return plan.RunID(fmt.Sprintf("R%d", runs.Add(1))) }

func worker(t *testing.T, s *nats.Store, name string, drain bool, providers ...string) *nats.Worker {
	t.Helper()
	w, err := s.NewWorker(nats.WorkerConfig{
		Name:      name,
		Providers: providers,
		Drain:     drain,
		NewRun:    newRun,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// add puts n jobs into the queue; priority says which goes first.
func add(t *testing.T, s *nats.Store, id string, n int, priority func(int) int) {
	t.Helper()
	if _, err := s.Add(t.Context(), nats.Batch{ID: id, Digest: "d" + id}, entries(n, priority), false); err != nil {
		t.Fatal(err)
	}
}

func entries(n int, priority func(int) int) []batch.Entry {
	out := make([]batch.Entry, n)
	for i := range out {
		out[i] = batch.Entry{
			ID:    fmt.Sprint("j", i),
			Place: i,
			Spec:  json.RawMessage(`{}`),
		}
		if priority != nil {
			out[i].Priority = priority(i)
		}
	}
	return out
}

func claim(t *testing.T, w *nats.Worker) batch.Claimed {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, ok, err := w.Claim(ctx)
	if err != nil || !ok {
		t.Fatalf("no job: %v", err)
	}
	return c
}

func record(t *testing.T, w *nats.Worker, c batch.Claimed, state batch.JobState, r batch.Result) error {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return w.RecordResult(ctx, c.ID, state, data)
}

func job(t *testing.T, s *nats.Store, id string, at int) nats.Job {
	t.Helper()
	jobs, err := s.Jobs(t.Context(), id)
	if err != nil || len(jobs) <= at {
		t.Fatalf("%d jobs: %v", len(jobs), err)
	}
	return jobs[at]
}

func TestEachJobOnceAndByPriority(t *testing.T) {
	t.Parallel()
	s := open(t, serve(t, t.TempDir(), 0).URL())
	const n = 40
	add(t, s, "A", n, func(i int) int { return i%3 - 1 })
	first := worker(t, s, "first", true)
	for range 10 {
		c := claim(t, first)
		if j := job(t, s, "A", placeOf(t, c)); j.Priority != 1 {
			t.Errorf("%s has priority %d and went before one of 1", c.ID, j.Priority)
		}
		if err := record(t, first, c, batch.JobDone, batch.Result{}); err != nil {
			t.Error(err)
		}
	}
	var mu sync.Mutex
	seen := map[string]int{}
	var group sync.WaitGroup
	for i := range 3 {
		w := worker(t, s, fmt.Sprint("w", i), true)
		group.Go(func() {
			for {
				c, ok, err := w.Claim(t.Context())
				if err != nil || !ok {
					return
				}
				mu.Lock()
				seen[c.ID]++
				mu.Unlock()
				if err := record(t, w, c, batch.JobDone, batch.Result{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s was given out %d times", id, times)
		}
	}
	jobs, err := s.Jobs(t.Context(), "A")
	if err != nil || len(seen) != n-10 {
		t.Errorf("%d jobs were given out: %v", len(seen), err)
	}
	for _, j := range jobs {
		if j.State != batch.JobDone || j.Lease != nil || j.Ended.IsZero() {
			t.Errorf("%s: %s", j.ID, j.State)
		}
	}
}

func placeOf(t *testing.T, c batch.Claimed) (n int) {
	t.Helper()
	if _, err := fmt.Sscanf(c.ID, c.Batch+"/j%d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestASilentWorkersResultCountsForNothing(t *testing.T) {
	t.Parallel()
	url := serve(t, t.TempDir(), 0).URL()
	s := open(t, url)
	add(t, s, "A", 1, nil)
	silent, other := worker(t, s, "silent", false), worker(t, open(t, url), "other", false)
	late := claim(t, silent)
	silent.Close() // no sign of life any more
	c := claim(t, other)
	if c.Run != late.Run {
		t.Error("another run was begun")
	}
	if err := record(t, silent, late, batch.JobDone, batch.Result{}); !errors.Is(err, batch.ErrLeaseLost) {
		t.Errorf("a late result: %v", err)
	}
	if j := job(t, s, "A", 0); j.State != batch.JobRunning || j.Worker != "other" || len(j.Story) != 2 {
		t.Errorf("after a late result: %+v", j)
	}
	if err := record(t, other, c, batch.JobFailed, batch.Result{Why: "no"}); err != nil {
		t.Error(err)
	}
	if j := job(t, s, "A", 0); j.State != batch.JobFailed || j.Dead {
		t.Errorf("after the result that counts: %+v", j)
	}
}

func TestALeaseLastsAsLongAsItsWorker(t *testing.T) {
	t.Parallel()
	url := serve(t, t.TempDir(), 0).URL()
	s := open(t, url)
	add(t, s, "A", 1, nil)
	w, other := worker(t, s, "w", false), worker(t, open(t, url), "other", false)
	c := claim(t, w)
	ctx, cancel := context.WithTimeout(t.Context(), 4*lease)
	defer cancel()
	if got, ok, _ := other.Claim(ctx); ok {
		t.Errorf("%s was taken from a worker that works", got.ID)
	}
	if err := record(t, w, c, batch.JobDone, batch.Result{}); err != nil {
		t.Error(err)
	}
	if _, ok, err := worker(t, s, "last", true).Claim(t.Context()); ok || err != nil {
		t.Errorf("a job that is done was given out: %v", err)
	}
}

func TestDeadLetter(t *testing.T) {
	t.Parallel()
	s := open(t, serve(t, t.TempDir(), 0).URL())
	add(t, s, "A", 1, nil)
	for i := range 2 { // as many as Deliveries
		w := worker(t, s, fmt.Sprint("w", i), false)
		claim(t, w)
		w.Close()
	}
	w := worker(t, s, "last", false)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go w.Claim(ctx) // it is to find nothing
	within(t, func() bool { return job(t, s, "A", 0).State == batch.JobFailed })
	j := job(t, s, "A", 0)
	if !j.Dead || j.Lost != 2 || len(j.Story) < 3 {
		t.Errorf("a dead letter without its story: %+v", j)
	}
	n, err := s.Requeue(t.Context(), "A", true, func(j nats.Job) bool { return j.Dead })
	if n != 1 || err != nil {
		t.Fatalf("%d dead letters put back: %v", n, err)
	}
	within(t, func() bool { return job(t, s, "A", 0).State == batch.JobRunning })
}

// within waits until something is so.
func within(t *testing.T, so func() bool) {
	t.Helper()
	end := time.After(time.Minute) // three servers elect a leader on a machine that does other things, too
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("it did not come to be so")
		}
	}
}

// A job that has lost its message, waiting or while its worker died, is given out all the same.
func TestALostMessageIsSentAgain(t *testing.T) {
	t.Parallel()
	url := serve(t, t.TempDir(), 0).URL()
	s, err := nats.Open(t.Context(), nats.Config{URL: url, Token: "secret", Lease: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	add(t, s, "A", 3, nil)
	dead := worker(t, s, "dead", false)
	claim(t, dead)
	dead.Close()
	conn, err := natsgo.Connect(url, natsgo.Token("secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	work, err := js.Stream(t.Context(), "PLAN_WORK")
	if err == nil {
		err = work.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	w := worker(t, s, "w", false)
	for range 3 {
		if err := record(t, w, claim(t, w), batch.JobDone, batch.Result{}); err != nil {
			t.Error(err)
		}
	}
	for place, lost := range []int{1, 0, 0} {
		if j := job(t, s, "A", place); j.State != batch.JobDone || j.Lost != lost {
			t.Errorf("%+v", j)
		}
	}
	within(t, func() bool { // the last is acknowledged without waiting for the queue
		left, err := s.Left(t.Context())
		return err == nil && left == 0
	})
}

func TestGivenBack(t *testing.T) {
	t.Parallel()
	s := open(t, serve(t, t.TempDir(), 0).URL())
	add(t, s, "A", 1, nil)
	w := worker(t, s, "w", false)
	interrupted := batch.Result{Parked: plan.ParkInterrupted}
	c := claim(t, w)
	if err := record(t, w, c, batch.JobParked, interrupted); err != nil {
		t.Fatal(err)
	}
	again := claim(t, w)
	if again.Run != c.Run {
		t.Error("a run does not go on in its own home")
	}
	if err := record(t, w, again, batch.JobParked, interrupted); err != nil {
		t.Fatal(err)
	}
	if c := claim(t, worker(t, s, "other", false)); c.Run != again.Run {
		t.Error("another run was begun")
	}
	if j := job(t, s, "A", 0); j.Lost != 0 || len(j.Story) != 3 {
		t.Errorf("what was given back counts as lost: %+v", j)
	}
}

func TestCancelReachesTheWorker(t *testing.T) {
	t.Parallel()
	s := open(t, serve(t, t.TempDir(), 0).URL())
	add(t, s, "A", 2, nil)
	w := worker(t, s, "w", true)
	c := claim(t, w)
	if n, err := s.Cancel(t.Context(), "A", func(nats.Job) bool { return true }); n != 2 || err != nil {
		t.Fatalf("%d cancelled: %v", n, err)
	}
	select {
	case <-c.Lost:
	case <-time.After(20 * time.Second):
		t.Fatal("the worker was not told")
	}
	if err := record(t, w, c, batch.JobDone, batch.Result{}); !errors.Is(err, batch.ErrLeaseLost) {
		t.Errorf("a cancelled job took a result: %v", err)
	}
	if _, ok, err := w.Claim(t.Context()); ok || err != nil {
		t.Errorf("a cancelled job was given out: %v", err)
	}
}

func TestTheSameJobsOnce(t *testing.T) {
	t.Parallel()
	s := open(t, serve(t, t.TempDir(), 0).URL())
	ctx, cut := context.WithCancel(t.Context())
	cut()
	b := nats.Batch{ID: "A", Digest: "same"}
	if _, err := s.Add(ctx, b, entries(3, nil), false); err == nil {
		t.Fatal("it was added although it was cut off")
	}
	b.ID = "B"
	id, err := s.Add(t.Context(), b, entries(3, nil), false)
	if err != nil {
		t.Fatal(err)
	}
	if jobs, err := s.Jobs(t.Context(), id); len(jobs) != 3 || err != nil {
		t.Errorf("%d jobs: %v", len(jobs), err)
	}
	var same *nats.SameJobsError
	if _, err := s.Add(t.Context(), b, entries(3, nil), false); !errors.As(err, &same) || same.Batch != id {
		t.Errorf("the same jobs again: %v", err)
	}
	b.ID = "C"
	if _, err := s.Add(t.Context(), b, entries(3, nil), true); err != nil {
		t.Error(err)
	}
	all, err := s.Batches(t.Context())
	if err != nil || len(all) != 2 || !slices.IsSortedFunc(all, func(a, b nats.Batch) int { return -cmpID(a, b) }) {
		t.Errorf("%+v: %v", all, err)
	}
}

func cmpID(a, b nats.Batch) int {
	if a.ID < b.ID {
		return -1
	}
	return 1
}

func TestTheQueueIsServedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := serve(t, dir, 0)
	s := open(t, srv.URL())
	add(t, s, "A", 3, nil)
	w := worker(t, s, "w", false)
	c := claim(t, w)
	copied := "" // what a cut of the power would leave
	within(t, func() bool {
		copied = t.TempDir()
		return os.CopyFS(copied, os.DirFS(dir)) == nil // else a file was renamed meanwhile
	})
	left := open(t, serve(t, copied, 0).URL())
	if j := job(t, left, "A", 2); j.State != batch.JobQueued {
		t.Errorf("after a cut of the power: %+v", j)
	}
	if j := job(t, left, "A", placeOf(t, c)); j.State != batch.JobRunning {
		t.Errorf("a lease was not on disk: %+v", j)
	}
	var port int
	if _, err := fmt.Sscanf(srv.URL(), "nats://127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	srv.Close()
	serve(t, dir, port)
	if err := record(t, w, c, batch.JobDone, batch.Result{}); err != nil {
		t.Errorf("a result after the queue was served again: %v", err)
	}
	for range 2 {
		if err := record(t, w, claim(t, w), batch.JobDone, batch.Result{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := nats.Open(t.Context(), nats.Config{URL: srv.URL(), Token: "wrong"}); err == nil {
		t.Error("a wrong token was let in")
	}
}
