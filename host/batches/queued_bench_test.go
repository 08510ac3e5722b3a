package batches_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/batch/nats/server"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
)

// BenchmarkQueueIsLookedAt lists a queue of 10,000 jobs that are done, as a page does every
// second, all of it and what has changed. docs/scale.md has what came of it. A TMPDIR in
// memory (/dev/shm) makes it ready in seconds.
func BenchmarkQueueIsLookedAt(b *testing.B) {
	const jobs = 10_000
	srv, err := server.Serve(server.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	s, err := nats.Open(b.Context(), nats.Config{URL: srv.URL()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	entries := make([]batch.Entry, jobs)
	for i := range entries {
		entries[i] = batch.Entry{
			ID:    fmt.Sprint("job-", i),
			Place: i,
			Spec:  json.RawMessage(`{"repo":"https://example.org/shop.git","request":"Name it"}`),
		}
	}
	if _, err := s.Add(b.Context(), nats.Batch{ID: "B", Digest: "d"}, entries, false); err != nil {
		b.Fatal(err)
	}
	runs := 0
	w, err := s.NewWorker(nats.WorkerConfig{
		Name:   "w",
		Drain:  true,
		NewRun: func() plan.RunID { runs++; return plan.RunID(fmt.Sprint("RUN", runs)) },
	})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	diff := make([]byte, 8<<10)
	for i := range diff {
		diff[i] = "+-abc\n"[i%6]
	}
	result, err := json.Marshal(map[string]any{
		"state":  "done",
		"report": batch.JobReport{State: batch.JobDone, Diff: string(diff)},
	})
	if err != nil {
		b.Fatal(err)
	}
	for {
		c, ok, err := w.Claim(b.Context())
		if err == nil && ok {
			err = w.RecordResult(b.Context(), c.ID, batch.JobDone, result)
		}
		if err != nil {
			b.Fatal(err)
		}
		if !ok {
			break
		}
	}
	h := host.New(host.Config{Environ: []string{"HOME=" + b.TempDir()}})
	defer h.Close()
	all := batches.New(h).Queued(s)
	changed, end := all.Watched()
	defer end()
	if _, err := changed.List(b.Context()); err != nil {
		b.Fatal(err)
	}
	for name, list := range map[string]func(context.Context) ([]batches.Batch, error){
		"all":     all.List,
		"changed": changed.List,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if got, err := list(b.Context()); err != nil || len(got) != 1 || got[0].Counts[batch.JobDone] != jobs {
					b.Fatal(got, err)
				}
			}
		})
	}
}
