package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/batch/nats/natstest"
	"github.com/plan-engine/plan/internal/cable"
	"github.com/plan-engine/plan/internal/sampling"
)

// troubled is how many workers do how many jobs, how often something befalls one of them
// or the queue, and for how long a worker may be silent. As many as eight on a few cores
// are held up for more than a second by each other.
func troubled() (workers, jobs, troubles int, lease time.Duration) {
	if sampling.All() {
		return 8, 2000, 60, 5 * time.Second
	}
	return 3, 7, 5, time.Second
}

// troubles are what befalls a fleet, each until it is over.
type troubles struct {
	*fleet
	lease time.Duration
	queue *exec.Cmd
	at    string // address of the queue
	homes []*exec.Cmd
	links []*cable.Cable // between each and the queue
}

// TestQueueThroughTrouble: workers are killed, told to end, and stopped and cut off for
// longer than their leases, and the queue is killed, while the model's wire fails now and
// then. Each job is approved once, published once by two at once, and no message is left.
func TestQueueThroughTrouble(t *testing.T) {
	t.Parallel()
	workers, jobs, times, lease := troubled()
	m := newFleet(t, `
[[reply]]
phase = "explore"
  [reply.fault]
  kind = "status"
  status = 503

[[reply]]
phase = "plan"
  [reply.fault]
  kind = "reset"

[[reply]]
phase = "review"
turn = 0
  [reply.fault]
  kind = "garbage"
`)
	x := &troubles{fleet: m, lease: lease}
	x.queue = m.serve("127.0.0.1:0")
	x.at = strings.TrimPrefix(m.url, "nats://")
	store := x.shortLeases()
	id := x.addJobs("home", jobs)
	for i := range workers {
		x.links = append(x.links, cable.New(t, x.at))
		x.homes = append(x.homes, x.worker(i))
	}
	random := sampling.New(t)
	for n := range times {
		x.awaitDone(store, id, jobs*n/(times+1))
		victim := random.IntN(workers)
		what := n % 5
		t.Logf("trouble %d befalls worker %d", what, victim)
		switch what {
		case 0:
			x.kill(x.homes[victim])
			x.homes[victim] = x.worker(victim)
		case 1:
			x.kill(x.queue)
			x.queue = m.serve(x.at)
		case 2:
			x.signal(victim, syscall.SIGSTOP)
			x.awaitTaken(store, id)
			x.signal(victim, syscall.SIGCONT)
		case 3:
			x.signal(victim, os.Interrupt)
			_ = x.homes[victim].Wait() // it ends as one that was interrupted does
			x.homes[victim] = x.worker(victim)
		case 4:
			x.links[victim].Cut()
			x.awaitTaken(store, id)
			x.links[victim].Mend()
		}
	}
	x.awaitDone(store, id, jobs)
	for _, w := range x.homes {
		x.kill(w)
	}
	x.requireOnce(store, id, jobs)
}

// addJobs puts jobs into the queue and returns the id of their batch.
func (x *troubles) addJobs(home string, n int) string {
	x.t.Helper()
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf(
			`{"id":"job-%d","repo":"file://%s","request":"Make greet.sh say hello","checks":["sh greet.sh | grep -qx hello"]}`,
			i,
			x.repo,
		))
	}
	id, _, _ := strings.Cut(x.must(home, "batch", "run", x.jobs("jobs.jsonl", lines...)), ":")
	return id
}

// TestTheQueueIsACluster: the queue is three servers, and the commands are given all their
// addresses. Of those that lead the jobs or the journals one after the other goes and comes
// back, and workers are killed meanwhile. Each job is approved and published once.
func TestTheQueueIsACluster(t *testing.T) {
	t.Parallel()
	jobs, rounds := 3, 1
	if sampling.All() {
		jobs, rounds = 40, 6
	}
	c := natstest.New(t)
	x := &troubles{fleet: newFleet(t), lease: 3 * time.Second}
	x.url = strings.Join(c.URLs(0), ",")
	x.tokenFile = filepath.Join(x.dir, "token")
	if err := os.WriteFile(x.tokenFile, []byte(natstest.Token), 0o600); err != nil {
		t.Fatal(err)
	}
	store := x.shortLeases()
	id := x.addJobs("desk", jobs)
	for i := range 2 {
		x.homes = append(x.homes, x.worker(i))
	}
	streams := []string{"PLAN_JOURNAL", "KV_plan_jobs"}
	for round := range rounds {
		x.awaitDone(store, id, 1+(jobs-1)*round/rounds)
		leader := -1
		x.await(func() bool { leader = c.Leader(streams[round%2]); return leader >= 0 })
		c.Kill(leader)
		x.kill(x.homes[round%2])
		x.homes[round%2] = x.worker(round % 2)
		x.awaitDone(store, id, min(jobs, 2+(jobs-1)*round/rounds)) // two of three go on
		c.Restart()
		x.await(func() bool { return c.HasCaughtUp(streams[0]) && c.HasCaughtUp(streams[1]) })
	}
	x.awaitDone(store, id, jobs)
	for _, w := range x.homes {
		x.kill(w)
	}
	x.requireOnce(store, id, jobs)
}

// worker begins a worker in a home of its own.
func (x *troubles) worker(i int) *exec.Cmd {
	x.t.Helper()
	cmd := x.start(
		fmt.Sprint("worker-", i),
		"worker",
		"--concurrency", "2",
		"--repo", "file://"+x.repo,
		"--queue", x.queueOf(i),
	)
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	return cmd
}

// queueOf is where a worker reaches the queue.
func (x *troubles) queueOf(worker int) string {
	if worker < len(x.links) {
		return "nats://" + x.links[worker].Addr()
	}
	return x.url
}

func (x *troubles) kill(cmd *exec.Cmd) {
	x.t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		x.t.Error(err)
	}
	_ = cmd.Wait() // it was killed
}

// shortLeases has the queue give a job to another soon.
func (x *troubles) shortLeases() *nats.Store {
	x.t.Helper()
	token, err := os.ReadFile(x.tokenFile)
	if err != nil {
		x.t.Fatal(err)
	}
	var s *nats.Store
	x.await(func() bool { // a cluster elects its leaders first
		s, err = nats.Open(x.t.Context(), nats.Config{
			URL:   x.url,
			Token: strings.TrimSpace(string(token)),
			Lease: x.lease,
		})
		if err != nil {
			x.t.Log(err)
		}
		return err == nil
	})
	x.t.Cleanup(s.Close)
	entry := batch.Entry{ID: "first", Spec: []byte(`{}`)} // who makes a lane decides
	if _, err := s.Add(x.t.Context(), nats.Batch{ID: "FIRST", Digest: "first"}, []batch.Entry{entry}, true); err != nil {
		x.t.Fatal(err)
	}
	if _, err := s.Cancel(x.t.Context(), "FIRST", func(nats.Job) bool { return true }); err != nil {
		x.t.Fatal(err)
	}
	return s
}

func (x *troubles) signal(worker int, what os.Signal) {
	x.t.Helper()
	if err := x.homes[worker].Process.Signal(what); err != nil {
		x.t.Error(err)
	}
}

// awaitTaken waits until a job was taken from a worker that had gone silent.
func (x *troubles) awaitTaken(store *nats.Store, id string) {
	x.t.Helper()
	lost := func() (n int) {
		for _, j := range x.jobsOf(store, id) {
			n += j.Lost
		}
		return n
	}
	before := lost()
	deadline := time.Now().Add(5 * x.lease)
	x.await(func() bool { return lost() > before || time.Now().After(deadline) }) // it may have had none
}

func (x *troubles) jobsOf(store *nats.Store, id string) []nats.Job {
	jobs, err := store.Jobs(x.t.Context(), id)
	if err != nil {
		return nil // the queue is down just now
	}
	return jobs
}

// await waits until something is so.
func (x *troubles) await(so func() bool) {
	x.t.Helper()
	tick := time.NewTicker(x.lease / 20)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-x.t.Context().Done():
			x.t.Fatal("it did not come to be so")
		}
	}
}

// awaitDone waits until so many jobs have ended.
func (x *troubles) awaitDone(store *nats.Store, id string, n int) {
	x.t.Helper()
	x.await(func() bool {
		ended := 0
		for _, j := range x.jobsOf(store, id) {
			if j.State == batch.JobDone || j.State == batch.JobFailed {
				ended++
			}
		}
		return ended >= n
	})
}

// requireOnce makes sure of what has to be so once all jobs are done.
func (x *troubles) requireOnce(store *nats.Store, id string, jobs int) {
	t := x.t
	t.Helper()
	for _, j := range x.jobsOf(store, id) {
		if j.State != batch.JobDone || j.Lease != nil {
			t.Errorf("%s is %s: %s %v", j.ID, j.State, j.Result, j.Story)
		}
	}
	x.await(func() bool {
		left, err := store.Left(t.Context())
		return err == nil && left == 0
	})
	log := filepath.Join(x.dir, "published")
	both := make(chan error)
	for _, home := range []string{"desk", "other"} {
		go func() {
			text, err := x.run(home, "batch", "publish", id, "--interval", "0s", "--publish", `echo "$PLAN_JOB" >> `+log)
			if err != nil {
				err = fmt.Errorf("%w: %s", err, text)
			}
			both <- err
		}()
	}
	for range 2 {
		if err := <-both; err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, job := range strings.Fields(string(text)) {
		times[job]++
	}
	for job, n := range times {
		if n != 1 {
			t.Errorf("%s was published %d times", job, n)
		}
	}
	if len(times) != jobs {
		t.Errorf("%d of %d jobs were published", len(times), jobs)
	}
}
