package natstest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/batch/nats/server"
)

// Job is a queue of its own with one job, "shop" of the batch, which a worker has taken as the
// run.
type Job struct {
	Server *server.Server
	Store  *nats.Store
	Worker *nats.Worker

	t       testing.TB
	batch   string
	run     plan.RunID
	journal *nats.Journal
	seq     int64
}

// NewJob begins one, which ends with the test.
func NewJob(t testing.TB, of string, run plan.RunID) *Job {
	t.Helper()
	q := &Job{
		t:     t,
		batch: of,
		run:   run,
	}
	var err error
	if q.Server, err = server.Serve(server.Config{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Server.Close)
	if q.Store, err = nats.Open(t.Context(), nats.Config{URL: q.Server.URL()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Store.Close)
	jobs := []batch.Entry{{
		ID:   "shop",
		Spec: []byte(`{"id":"shop","repo":"https://example.org/shop.git","request":"Name it"}`),
	}}
	_, err = q.Store.Add(t.Context(), nats.Batch{
		ID:     of,
		Digest: "d",
		Name:   "far.yaml",
	}, jobs, true)
	if err != nil {
		t.Fatal(err)
	}
	q.Worker, err = q.Store.NewWorker(nats.WorkerConfig{
		Name:   "mill-7",
		Drain:  true,
		NewRun: func() plan.RunID { return run },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Worker.Close)
	if _, ok, err := q.Worker.Claim(t.Context()); !ok || err != nil {
		t.Fatalf("the job is not there: %v", err)
	}
	return q
}

func (q *Job) key() string { return q.batch + "/shop" }

// Journal is that of the run, which the worker has taken up.
func (q *Job) Journal() *nats.Journal {
	q.t.Helper()
	if q.journal != nil {
		return q.journal
	}
	journal, err := q.Worker.Journal(q.key())
	if err == nil {
		_, err = journal.TakeUp(q.t.Context())
	}
	if err != nil {
		q.t.Fatal(err)
	}
	q.journal = journal
	return journal
}

// Append has the worker append events to the journal of the run.
func (q *Job) Append(bodies ...plan.Body) {
	q.t.Helper()
	var part nats.Part
	for _, body := range bodies {
		q.seq++
		line, err := plan.Event{
			Run:  q.run,
			Seq:  q.seq,
			Time: time.Now(),
			Body: body,
		}.MarshalJSON()
		if err != nil {
			q.t.Fatal(err)
		}
		part.Events = append(part.Events, line)
	}
	for done := false; !done; { // a letter may have come
		var err error
		if _, done, err = q.Journal().Append(q.t.Context(), part); err != nil {
			q.t.Fatal(err)
		}
	}
}

// Park has the worker park the run with calls that wait for a person.
func (q *Job) Park(calls ...plan.WaitingCall) {
	q.t.Helper()
	q.Append(plan.Parked{
		Reason:  plan.ParkApproval,
		Waiting: calls,
	})
	result, err := json.Marshal(map[string]any{"waits": calls})
	if err == nil {
		err = q.Worker.RecordResult(q.t.Context(), q.key(), batch.JobParked, result)
	}
	if err != nil {
		q.t.Fatal(err)
	}
}

// RequireDecided takes the job again, which was decided about, and requires that the decision
// names what was shown.
func (q *Job) RequireDecided(digest string) {
	q.t.Helper()
	again, ok, err := q.Worker.Claim(q.t.Context())
	if err != nil || !ok || again.Run != q.run {
		q.t.Fatalf("the job is not queued again: %v, %v", again, err)
	}
	held, _ := q.Worker.Held(q.key())
	var letter struct {
		Digest string `json:"digest"`
	}
	if len(held.Letters) != 1 || json.Unmarshal(held.Letters[0], &letter) != nil || letter.Digest != digest {
		q.t.Errorf("the worker is given %s", held.Letters)
	}
}
