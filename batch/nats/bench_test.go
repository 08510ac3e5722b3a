package nats_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/batch/nats/server"
)

// BenchmarkQueue is the queue alone: workers that take jobs and have done them at
// once, each with a connection of its own, beside the server in one process. Every
// write is on disk before it is acknowledged. docs/scale.md has what came of it.
func BenchmarkQueue(b *testing.B) {
	for _, workers := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint("workers-", workers), func(b *testing.B) {
			srv, err := server.Serve(server.Config{Dir: b.TempDir()})
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

// BenchmarkSimulatedWorkers has 10,000 workers, which only wait while they have a job,
// take as many jobs from a queue: each takes 20 to 40 seconds, and gives a sign of life
// every 10. The workers share a hundred connections. It is for -benchtime=1x.
func BenchmarkSimulatedWorkers(b *testing.B) {
	const (
		workers     = 10_000
		connections = 100
		jobs        = workers
		shortest    = 20 * time.Second
	)
	srv, err := server.Serve(server.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	var all []*nats.Worker
	for range connections {
		s, err := nats.Open(b.Context(), nats.Config{URL: srv.URL()})
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		if all == nil {
			if _, err := s.Add(b.Context(), nats.Batch{ID: "A", Digest: "d"}, entries(jobs, nil), true); err != nil {
				b.Fatal(err)
			}
			b.Logf("%d jobs are in the queue after %s", jobs, b.Elapsed())
		}
		for range workers / connections {
			w, err := s.NewWorker(nats.WorkerConfig{Name: fmt.Sprint("w", len(all)), NewRun: newRun, Drain: true})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			all = append(all, w)
		}
	}
	b.ResetTimer()
	var group sync.WaitGroup
	var taken, done, lost, late atomic.Int64
	for _, w := range all {
		group.Go(func() {
			for {
				c, ok, err := w.Claim(b.Context())
				if err != nil || !ok {
					return
				}
				if n := taken.Add(1); n%1000 == 0 {
					b.Logf("%d jobs were taken after %s", n, b.Elapsed())
				}
				timer := time.NewTimer(shortest + rand.N(shortest))
				select {
				case <-timer.C:
				case <-c.Lost:
					lost.Add(1)
				}
				timer.Stop()
				if err := w.RecordResult(b.Context(), c.ID, batch.JobDone, []byte(`{}`)); err != nil {
					late.Add(1)
				}
				if n := done.Add(1); n%1000 == 0 {
					b.Logf("%d jobs have ended after %s", n, b.Elapsed())
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(jobs/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64(lost.Load()), "lost")
	b.ReportMetric(float64(late.Load()), "late")
}
