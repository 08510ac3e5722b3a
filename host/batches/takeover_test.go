package batches_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/batch/nats/server"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/internal/cable"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/memory"
)

// queue is a queue with one job, and workers of this process.
type queue struct {
	*hosttest.World
	t     *testing.T
	store *nats.Store
	srv   *server.Server
	port  int
	links map[string]*cable.Cable  // of homes that do not reach it directly
	off   map[string]time.Duration // by which the clocks of homes are off
}

// patience is how long a worker of these queues may be silent, and waits for the queue.
const patience = time.Second

func newQueue(t *testing.T, request string) *queue {
	t.Helper()
	q := &queue{World: hosttest.New(t), t: t}
	q.serve(0)
	q.store = q.open()
	entries, err := batch.Entries([]batch.Job{{
		ID:      "j",
		Repo:    "file://" + q.Repo,
		Request: request,
	}})
	if err == nil {
		_, err = q.store.Add(t.Context(), nats.Batch{ID: "B", Digest: "d"}, entries, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func (q *queue) serve(port int) {
	q.t.Helper()
	srv, err := server.Serve(server.Config{Dir: filepath.Join(q.Dir, "queue"), Port: port})
	if err != nil {
		q.t.Fatal(err)
	}
	q.t.Cleanup(srv.Close)
	at, err := url.Parse(srv.URL())
	if err == nil {
		q.port, err = strconv.Atoi(at.Port())
	}
	if err != nil {
		q.t.Fatal(err)
	}
	q.srv = srv
}

func (q *queue) open() *nats.Store { return q.openFrom("") }

// openFrom reaches the queue from a home.
func (q *queue) openFrom(home string) *nats.Store {
	q.t.Helper()
	url := q.srv.URL()
	if link := q.links[home]; link != nil {
		url = "nats://" + link.Addr()
	}
	s, err := nats.Open(q.t.Context(), nats.Config{
		URL:      url,
		Lease:    patience,
		Patience: patience,
		Now:      q.clockOf(home),
	})
	if err != nil {
		q.t.Fatal(err)
	}
	q.t.Cleanup(s.Close)
	return s
}

func (q *queue) hostOf(home string) *host.Host {
	environ := append(slices.Clone(q.Config.Environ), "PLAN_HOME="+filepath.Join(q.Dir, home))
	return host.New(host.Config{Environ: environ, Now: q.clockOf(home)})
}

func (q *queue) clockOf(home string) func() time.Time {
	return func() time.Time { return time.Now().Add(q.off[home]) }
}

// work has a worker with a home of its own take jobs. It is shown what happens, and ends
// once the job is no longer to be done.
func (q *queue) work(home string, see func(plan.Event)) {
	q.t.Helper()
	q.workUntil(home, see, func() bool {
		jobs, err := q.store.Jobs(q.t.Context(), "B")
		return err == nil && jobs[0].Lease == nil && jobs[0].State != batch.JobQueued
	})
}

// workUntil is work that ends, interrupted, once done says so.
func (q *queue) workUntil(home string, see func(plan.Event), done func() bool) {
	q.t.Helper()
	h := q.hostOf(home)
	ctx, stop := context.WithCancelCause(q.t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- batches.New(h).Work(ctx, q.openFrom(home), batches.Work{Concurrency: 1, Repos: []string{"file://"}}, host.Options{},
			batches.View{Event: func(_ string, ev plan.Event) { see(ev) }})
	}()
	tick := time.NewTicker(100 * time.Millisecond) // each look asks the queue for all it has
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !done() && time.Now().Before(end); {
		<-tick.C
	}
	stop(engine.ErrInterrupted)
	if err := <-ended; err != nil {
		q.t.Error(err)
	}
	if err := h.Close(); err != nil {
		q.t.Error(err)
	}
}

// events are those that the queue has of the job's run, and the job.
func (q *queue) events() (out []plan.Event, j nats.Job) {
	q.t.Helper()
	jobs, err := q.store.Jobs(q.t.Context(), "B")
	if err != nil {
		q.t.Fatal(err)
	}
	lines, err := q.store.Lines(q.t.Context(), jobs[0].Run, 0)
	if err != nil {
		q.t.Fatal(err)
	}
	for _, line := range lines {
		var ev plan.Event
		if err := ev.UnmarshalJSON(line); err != nil {
			q.t.Fatal(err)
		}
		out = append(out, ev)
	}
	return out, jobs[0]
}

// lines are events that are followed to their end, in a row.
func lines(t *testing.T, events iter.Seq2[memory.Line, error]) (out []memory.Line) {
	for line, err := range events {
		if err != nil {
			t.Error(err)
		}
		if n := len(out); n > 0 && line.Seq != out[n-1].Seq+1 {
			t.Errorf("event %d comes after event %d", line.Seq, out[n-1].Seq)
		}
		out = append(out, line)
	}
	return out
}

func typesOf(events []plan.Event) (out []plan.EventType) {
	for _, ev := range events {
		out = append(out, ev.Type())
	}
	return out
}

// A run whose queue does not answer does nothing more: it parks, and goes on where it
// stood once the queue is back, which then has all of its journal.
func TestARunParksWithoutItsQueue(t *testing.T) {
	t.Parallel()
	q := newQueue(t, "Make greet.sh say hello")
	parked := false
	q.work("one", func(ev plan.Event) {
		switch b := ev.Body.(type) {
		case plan.PlanMade:
			q.srv.Close()
		case plan.Parked:
			if parked = b.Reason == plan.ParkUnreachable; parked {
				q.serve(q.port)
			}
		case plan.ToolStart:
			if ev.Phase == plan.Implement && !parked {
				t.Error("it goes on without its queue")
			}
		}
	})
	events, j := q.events()
	kinds := typesOf(events)
	at := slices.Index(kinds, plan.TypeParked)
	if j.State != batch.JobDone || at < 0 || kinds[at+1] != plan.TypeUnparked || kinds[len(kinds)-1] != plan.TypeRunEnd {
		t.Errorf("the job is %s, its run has the events %v\n%s", j.State, kinds, j.Result)
	}
	for i, ev := range events {
		if ev.Seq != int64(i+1) {
			t.Fatalf("event %d has seq %d", i+1, ev.Seq)
		}
	}
}

// What waits for a person is answered from elsewhere, and another worker takes the run up
// with the answer.
func TestARunIsAnsweredFromElsewhere(t *testing.T) {
	t.Parallel()
	q := newQueue(t, "Ask first, then make greet.sh say hello")
	q.off = map[string]time.Duration{"two": -72 * time.Hour} // its clock is behind
	q.work("one", func(plan.Event) {})
	events, j := q.events()
	park, ok := events[len(events)-1].Body.(plan.Parked)
	if !ok || len(park.Waiting) != 1 || j.Parked != plan.ParkQuestion {
		t.Fatalf("the job is %s (%s): %+v", j.State, j.Parked, events[len(events)-1].Body)
	}
	one := q.hostOf("one")
	_, alone := one.Resume(t.Context(), j.Run, host.Options{}, host.Face{})
	_, ended := one.Cancel(t.Context(), j.Run)
	for _, err := range []error{alone, ended} {
		if err == nil || !strings.Contains(err.Error(), "job j in a queue") {
			t.Errorf("beside its queue: %v", err)
		}
	}
	told := batches.New(one).Queued(q.store)
	if _, _, err := told.Tell(t.Context(), "01NONE", host.Letter{Text: "x"}); err == nil {
		t.Error("a run that is none of a job is told something")
	}
	if _, _, err := told.Tell(t.Context(), string(j.Run), host.Letter{Kind: host.Replan, Text: "x"}); err == nil {
		t.Error("a plan is given up that nothing shows")
	}
	followed := make(chan []memory.Line)
	go func() {
		followed <- lines(t, batches.New(one).Queued(q.open()).Events(t.Context(), string(j.Run), 2, true))
	}()
	run, again, err := told.Tell(t.Context(), string(j.Run[:20]), host.Letter{Text: "English"})
	if run != j.Run || !again || err != nil {
		t.Fatal(run, again, err)
	}
	q.work("two", func(plan.Event) {})
	if seen, there := <-followed, lines(t, told.Events(t.Context(), string(j.Run), 0, false)); len(there) < 3 ||
		!reflect.DeepEqual(seen, there[2:]) {
		t.Errorf("%d events were followed, after 2 of %d", len(seen), len(there))
	}
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	events, now := q.events()
	answered := slices.IndexFunc(events, func(ev plan.Event) bool {
		a, ok := ev.Body.(plan.Answered)
		return ok && a.Text == "English"
	})
	moved := slices.IndexFunc(events, func(ev plan.Event) bool {
		s, ok := ev.Body.(plan.SettingsChanged)
		return ok && s.Machine != ""
	})
	if now.State != batch.JobDone || now.Run != j.Run || now.Worker == j.Worker || answered < 0 || moved < 0 || moved > answered {
		t.Errorf("the job is %s, its run has the events %v\n%s", now.State, typesOf(events), now.Result)
	}
	two := q.hostOf("two")
	listed, err := two.Runs(t.Context(), host.Filter{})
	clones, _ := filepath.Glob(filepath.Join(q.Dir, "two", "cache", "repos", "*"))
	if len(listed) != 1 || len(clones) != 1 || listed[0].Repo != clones[0] || err != nil {
		t.Errorf("the second home lists %+v, %v, and has the clones %q", listed, err, clones)
	}
	if err := two.Close(); err != nil {
		t.Error(err)
	}
}

// A run that another worker cannot take up, because it cannot have the repository, waits
// there, and is not given back to come again at once. It goes on once that is mended.
func TestARunWaitsWhereItCannotBeTakenUp(t *testing.T) {
	t.Parallel()
	q := newQueue(t, "Make greet.sh say hello")
	var planned atomic.Bool
	q.workUntil("one", func(ev plan.Event) {
		if ev.Type() == plan.TypePlan {
			planned.Store(true)
		}
	}, planned.Load)
	away := q.Repo + "-away"
	if err := os.Rename(q.Repo, away); err != nil {
		t.Fatal(err)
	}
	q.work("two", func(plan.Event) {})
	events, j := q.events()
	if j.State != batch.JobParked || j.Parked != plan.ParkUnreachable || !strings.Contains(string(j.Result), "clone") {
		t.Fatalf("the job is %s (%s): %s\n%v", j.State, j.Parked, j.Result, j.Story)
	}
	if err := os.Rename(away, q.Repo); err != nil {
		t.Fatal(err)
	}
	if n, err := q.store.Requeue(t.Context(), "B", false, func(nats.Job) bool { return true }); n != 1 {
		t.Fatal(err)
	}
	q.work("two", func(plan.Event) {})
	after, now := q.events()
	if now.State != batch.JobDone || now.Run != j.Run || len(after) <= len(events) {
		t.Errorf("the job is %s: %s", now.State, now.Result)
	}
}

// Jobs of a later batch begin at what the repository has by then, though their worker was
// there all the while, and a run that began there is taken up by a worker whose clone is older.
func TestAWorkerBringsItsClonesUpToDate(t *testing.T) {
	t.Parallel()
	q := newQueue(t, "Make greet.sh say hello")
	add := func(id, request string) {
		entries, err := batch.Entries([]batch.Job{{ID: "j", Repo: "file://" + q.Repo, Request: request}})
		if err == nil {
			_, err = q.store.Add(t.Context(), nats.Batch{ID: id, Digest: id}, entries, false)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	state := func(id string) batch.JobState {
		jobs, err := q.store.Jobs(t.Context(), id)
		if err != nil || len(jobs) != 1 || jobs[0].Lease != nil {
			return ""
		}
		return jobs[0].State
	}
	q.work("old", func(plan.Event) {}) // its clone has the first commit alone
	commit, began := "", ""
	add("C", "Make greet.sh say hello")
	q.workUntil("new", func(ev plan.Event) {
		if b, ok := ev.Body.(plan.RunStart); ok {
			began = b.Base
		}
	}, func() bool {
		if state("C") == batch.JobDone && commit == "" {
			gittest.Git(t, q.Repo, "commit", "-q", "--allow-empty", "-m", "second")
			commit = strings.TrimSpace(gittest.Git(t, q.Repo, "rev-parse", "HEAD"))
			add("D", "Ask first, then make greet.sh say hello")
		}
		return commit != "" && state("D") == batch.JobParked
	})
	if began != commit {
		t.Errorf("it began at %s, and the repository had %s", began, commit)
	}
	jobs, err := q.store.Jobs(t.Context(), "D")
	if err != nil {
		t.Fatal(err)
	}
	told := batches.New(q.hostOf("one")).Queued(q.store)
	if _, _, err := told.Tell(t.Context(), string(jobs[0].Run), host.Letter{Text: "English"}); err != nil {
		t.Fatal(err)
	}
	q.workUntil("old", func(plan.Event) {}, func() bool {
		s := state("D")
		return s != "" && s != batch.JobQueued
	})
	if s := state("D"); s != batch.JobDone {
		jobs, _ := q.store.Jobs(t.Context(), "D")
		t.Errorf("taken up, it is %s: %s", s, jobs[0].Result)
	}
}

// A worker that is cut off from the queue both ways does nothing more of a run. Another
// brings it to its end meanwhile, and once the network is back, the first changes nothing.
// That their clocks are days apart makes no difference, and is no part of how long it took.
func TestARunIsCutOff(t *testing.T) {
	t.Parallel()
	q := newQueue(t, "Make greet.sh say hello")
	link := cable.New(t, strings.TrimPrefix(q.srv.URL(), "nats://"))
	q.links = map[string]*cable.Cable{"far": link}
	q.off = map[string]time.Duration{"far": -72 * time.Hour, "near": 72 * time.Hour}
	cut := make(chan struct{})
	var mended atomic.Bool
	far := make(chan struct{})
	go func() {
		defer close(far)
		q.workUntil("far", func(ev plan.Event) {
			switch {
			case ev.Type() == plan.TypePlan:
				link.Cut()
				close(cut)
			case ev.Type() == plan.TypeToolStart && ev.Phase == plan.Implement:
				t.Error("it goes on while it is cut off")
			}
		}, mended.Load)
	}()
	<-cut
	q.work("near", func(plan.Event) {})
	events, done := q.events()
	link.Mend()
	mended.Store(true)
	<-far
	after, now := q.events()
	var result struct{ Report batch.JobReport }
	if err := json.Unmarshal(now.Result, &result); err != nil {
		t.Fatal(err)
	}
	if took := result.Report.Seconds; took == 0 || took > time.Hour.Seconds() {
		t.Errorf("it is said to have taken %.0f s", took)
	}
	same := len(after) == len(events) && now.Settled == done.Settled && now.State == done.State
	if done.State != batch.JobDone || !same {
		t.Errorf("the job was %s with %d events, and is %s with %d\n%v",
			done.State, len(events), now.State, len(after), now.Story)
	}
	for i, ev := range after {
		if ev.Seq != int64(i+1) {
			t.Fatalf("event %d has seq %d", i+1, ev.Seq)
		}
	}
}
