package tui

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
)

// A batch of a queue is seen beside those of the home, and opens. The runs of its jobs are
// with their workers. A queue that is gone takes nothing of the home from sight.
func TestAQueueIsWatched(t *testing.T) {
	t.Parallel()
	srv, err := nats.Serve(nats.ServerConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	store, err := nats.Open(t.Context(), nats.Config{URL: srv.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	jobs := []batch.Entry{{ID: "shop", Spec: []byte(`{"id":"shop","repo":"https://example.org/shop.git","request":"Name it"}`)}}
	if _, err := store.Add(t.Context(), nats.Batch{ID: batchID, Digest: "d", Name: "far.yaml"}, jobs, true); err != nil {
		t.Fatal(err)
	}
	w, err := store.NewWorker(nats.WorkerConfig{Name: "mill-7", Drain: true, NewRun: func() plan.RunID { return "01JRUN" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	if _, ok, err := w.Claim(t.Context()); !ok || err != nil {
		t.Fatalf("the job is not there: %v", err)
	}
	h := host.New(host.Config{Environ: []string{"HOME=" + t.TempDir()}})
	t.Cleanup(func() { _ = h.Close() })
	q, end := batches.New(h).Queued(store).Watched()
	t.Cleanup(end)
	m := newModel(t.Context(), Config{Host: h, Watch: true, Queue: q})
	m.Update(m.loadBoard()())
	if page := strings.Join(m.watchPage(), "\n"); !strings.Contains(page, "far.yaml") {
		t.Errorf("it shows\n%s", page)
	}
	m.Update(m.watchKey("enter")())
	if page := strings.Join(m.batchRows(), "\n"); !strings.Contains(page, "shop") {
		t.Errorf("the batch is shown as\n%s", page)
	}
	m.batchKey("enter")
	if page := strings.Join(m.batchRows(), "\n"); m.screen != atBatch || !strings.Contains(page, "mill-7") {
		t.Errorf("its job opens as\n%s", page)
	}
	srv.Close()
	m.toWatch()
	m.Update(m.loadBoard()())
	if page := strings.Join(m.watchPage(), "\n"); !m.watch.loaded || strings.Contains(page, "far.yaml") {
		t.Errorf("without the queue it shows\n%s", page)
	}
}
