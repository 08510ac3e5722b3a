package nats_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
)

// Who looks at a queue again and again sees all that was written before each look, and
// reads what has changed alone. A queue that is gone says so, and is seen again once it is
// back.
func TestAViewReadsWhatHasChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := serve(t, dir, 0)
	s := open(t, srv.URL())
	const n = 20
	add(t, s, "A", n, nil)
	var reads atomic.Int64
	v := nats.NewView(s, func(_ context.Context, _ string, j nats.Job) (batch.JobState, error) {
		reads.Add(1)
		return j.State, nil
	})
	t.Cleanup(v.Close)
	jobs := func() []batch.JobState {
		t.Helper()
		all, err := v.Jobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all["A"]
	}
	if got := jobs(); len(got) != n || reads.Load() != n {
		t.Fatalf("it sees %v, and read %d", got, reads.Load())
	}
	for i := range n - 1 {
		at := func(j nats.Job) bool { return j.Place == i }
		if _, err := s.Cancel(t.Context(), "A", at); err != nil {
			t.Fatal(err)
		}
		if got := jobs(); got[i] != batch.JobCancelled || got[i+1] != batch.JobQueued {
			t.Fatalf("job %d was cancelled, and it sees %v", i, got)
		}
	}
	if reads.Load() != 2*n-1 {
		t.Errorf("of %d changes it read %d", n-1, reads.Load()-n)
	}
	port := srv.Port()
	srv.Close()
	if _, err := v.Jobs(t.Context()); err == nil {
		t.Error("a queue that is gone is shown as it was")
	}
	serve(t, dir, port)
	within(t, func() bool { _, err := v.Jobs(t.Context()); return err == nil })
	if _, err := s.Cancel(t.Context(), "A", func(nats.Job) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if got := jobs(); got[n-1] != batch.JobCancelled {
		t.Errorf("after its queue was gone it sees %v", got)
	}
	if done, err := s.Remove(t.Context(), "A"); !done || err != nil {
		t.Fatal(done, err)
	}
	batches, err := v.Batches(t.Context())
	if len(jobs()) > 0 || len(batches) > 0 || err != nil {
		t.Errorf("of what was removed it sees %v, %v", batches, err)
	}
}
