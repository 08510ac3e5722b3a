package nats_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
)

func stream(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	conn, err := natsgo.Connect(url, natsgo.Token("secret"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// messages are how many there are of each subject, in all streams.
func messages(t *testing.T, js jetstream.JetStream) map[string]uint64 {
	t.Helper()
	out := map[string]uint64{}
	names := js.StreamNames(t.Context())
	for name := range names.Name() {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := s.Info(t.Context(), jetstream.WithSubjectFilter(">"))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(out, info.State.Subjects)
	}
	if err := names.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// noise does not shrink.
func noise(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(random.Uint32())
	}
	return out
}

// end brings a job that was claimed to its end, with all that a queue keeps of one.
func end(t *testing.T, s *nats.Store, w *nats.Worker, c batch.Claimed, state batch.JobState) {
	t.Helper()
	j, _ := takeUp(t, w, c)
	keep(t, j, nats.Part{Events: []json.RawMessage{event(1)}, Blobs: [][]byte{noise(600 << 10)}})
	if err := s.Tell(t.Context(), c.Run, nats.Letter{Kind: "steer"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Count(t.Context(), c.Batch, "tokens", c.ID, 1); err != nil {
		t.Fatal(err)
	}
	w.Attach(c.ID, []byte("change"))
	if err := record(t, w, c, state, batch.Result{Why: fmt.Sprintf("%x", noise(200<<10))}); err != nil {
		t.Fatal(err)
	}
}

// Of a batch that is over nothing is left once it was removed. What is to be done, or waits
// for a person, stays as it is.
func TestARemovedBatchLeavesNothing(t *testing.T) {
	t.Parallel()
	srv := serve(t, t.TempDir(), 0)
	s := open(t, srv.URL())
	if err := s.EnableCounters(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := worker(t, s, "w", false)
	add(t, s, "OPEN", 3, nil)
	end(t, s, w, claim(t, w), batch.JobDone)
	end(t, s, w, claim(t, w), batch.JobParked)
	js := stream(t, srv.URL())
	var before map[string]uint64
	within(t, func() bool { // a job is done a moment before its message is gone
		before = messages(t, js)
		return before["plan.work.0"] == 1
	})

	add(t, s, "OVER", 3, func(i int) int { return 9 - i }) // before what is open
	end(t, s, w, claim(t, w), batch.JobDone)
	end(t, s, w, claim(t, w), batch.JobFailed)
	if _, err := s.Cancel(t.Context(), "OVER", func(nats.Job) bool { return true }); err != nil {
		t.Fatal(err)
	}
	failed := func(j nats.Job) bool { return j.State == batch.JobFailed }
	if n, err := s.Requeue(t.Context(), "OVER", true, failed); n != 1 {
		t.Fatal(err)
	}
	if over, err := s.Over(t.Context(), time.Now()); len(over) > 0 || err != nil {
		t.Fatalf("%v are over, %v", over, err)
	}
	end(t, s, w, claim(t, w), batch.JobDone)
	if over, err := s.Over(t.Context(), time.Now().Add(-time.Hour)); len(over) > 0 || err != nil {
		t.Fatalf("%v are long over, %v", over, err)
	}
	if old, err := s.OldJournals(t.Context(), time.Now().Add(-time.Hour)); len(old) > 0 || err != nil {
		t.Fatalf("the journals of %v are old, %v", old, err)
	}
	over, err := s.Over(t.Context(), time.Now())
	if err != nil || len(over) != 1 || over[0].ID != "OVER" {
		t.Fatalf("%v are over, %v", over, err)
	}
	if done, err := s.Remove(t.Context(), "OVER"); !done || err != nil {
		t.Fatal(done, err)
	}
	jobs, err := s.Jobs(t.Context(), "OPEN")
	if err != nil {
		t.Fatal(err)
	}
	old, err := s.OldJournals(t.Context(), time.Now())
	if err != nil || len(old) != 4 || slices.Contains(old, jobs[1].Run) || !slices.Contains(old, jobs[0].Run) {
		t.Fatalf("the journals of %v are old, %v", old, err)
	}
	old = slices.DeleteFunc(old, func(run plan.RunID) bool { return run == jobs[0].Run })
	if err := s.RemoveJournals(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if after := messages(t, js); !maps.Equal(before, after) {
		t.Errorf("there were %v\nthere are %v", before, after)
	}
	add(t, s, "OVER", 3, nil) // the same jobs may come again
}

// A removal that was begun is brought to an end, and no job of the batch is put into the
// queue again meanwhile. One that was before has the batch stay.
func TestARemovalThatWasInterrupted(t *testing.T) {
	t.Parallel()
	srv := serve(t, t.TempDir(), 0)
	s := open(t, srv.URL())
	w := worker(t, s, "w", false)
	add(t, s, "A", 1, nil)
	c := claim(t, w)
	j, _ := takeUp(t, w, c)
	if err := record(t, w, c, batch.JobFailed, batch.Result{}); err != nil {
		t.Fatal(err)
	}
	failed := func(j nats.Job) bool { return j.State == batch.JobFailed }
	if n, err := s.Requeue(t.Context(), "A", true, failed); n != 1 {
		t.Fatal(err)
	}
	if done, err := s.Remove(t.Context(), "A"); done || err != nil {
		t.Fatalf("it is removed while it has a job to be done: %v", err)
	}
	if err := record(t, w, claim(t, w), batch.JobFailed, batch.Result{}); err != nil {
		t.Fatalf("it is not done any more: %v", err)
	}
	batches, err := stream(t, srv.URL()).KeyValue(t.Context(), "plan_batches")
	if err != nil {
		t.Fatal(err)
	}
	entry, err := batches.Get(t.Context(), "id.A")
	if err != nil {
		t.Fatal(err)
	}
	begun := strings.Replace(string(entry.Value()), "{", `{"removing":true,`, 1)
	if _, err := batches.PutString(t.Context(), "id.A", begun); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Requeue(t.Context(), "A", true, failed); !errors.Is(err, nats.ErrNoBatch) {
		t.Errorf("a batch that is being removed goes on: %v", err)
	}
	if all, err := s.Batches(t.Context()); len(all) > 0 || err != nil {
		t.Errorf("it is listed: %v, %v", all, err)
	}
	if over, err := s.Over(t.Context(), time.Now()); len(over) != 1 || err != nil {
		t.Errorf("%v are over, %v", over, err)
	}
	if done, err := s.Remove(t.Context(), "A"); !done || err != nil {
		t.Error(done, err)
	}
	if err := s.RemoveJournals(t.Context(), []plan.RunID{c.Run}); err != nil {
		t.Fatal(err)
	}
	late := nats.Part{Events: []json.RawMessage{event(1)}}
	if _, _, err := j.Append(t.Context(), late); !errors.Is(err, batch.ErrLeaseLost) {
		t.Errorf("to a journal that was removed is appended: %v", err)
	}
}
