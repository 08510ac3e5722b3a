package nats_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
)

// BenchmarkQueue is the queue alone: workers that take jobs and have done them at
// once, each with a connection of its own, beside the server in one process. Every
// write is on disk before it is acknowledged. docs/scale.md has what came of it.
func BenchmarkQueue(b *testing.B) {
	for _, workers := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint("workers-", workers), func(b *testing.B) {
			srv, err := nats.Serve(nats.ServerConfig{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			defer srv.Close()
			var all []*nats.Worker
			for i := range workers {
				s, err := nats.Open(b.Context(), nats.Config{URL: srv.URL()})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				if i == 0 {
					if _, err := s.Add(b.Context(), nats.Batch{ID: "A", Digest: "d"}, entries(b.N, nil), true); err != nil {
						b.Fatal(err)
					}
				}
				w, err := s.NewWorker(nats.WorkerConfig{
					Name:   fmt.Sprint("w", i),
					NewRun: newRun,
					Drain:  true,
				})
				if err != nil {
					b.Fatal(err)
				}
				defer w.Close()
				all = append(all, w)
			}
			b.ResetTimer()
			var group sync.WaitGroup
			for _, w := range all {
				group.Go(func() {
					for {
						c, ok, err := w.Claim(b.Context())
						if err != nil || !ok {
							return
						}
						if err := w.RecordResult(b.Context(), c.ID, batch.JobDone, []byte(`{}`)); err != nil {
							b.Error(err)
						}
					}
				})
			}
			group.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}
