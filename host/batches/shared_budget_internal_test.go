package batches

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/batch/nats"
	"github.com/plan-engine/plan/batch/nats/server"
	"github.com/plan-engine/plan/loop"
)

type modelFunc func(ctx context.Context) error

func (f modelFunc) Generate(ctx context.Context, _ loop.Call, _ func(loop.Delta)) (loop.Answer, error) {
	return loop.Answer{}, f(ctx)
}

// Workers that share a budget make calls until it is used up, and then no more than
// were under way: one for each job. One that was given another budget goes on.
func TestWorkersShareABudget(t *testing.T) {
	t.Parallel()
	srv, err := server.Serve(server.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	const workers, jobs = 3, 2 // jobs a worker
	var ids, calls atomic.Int64
	stores := make([]*nats.Store, workers)
	all := make([]*sharedBudgets, workers)
	for i := range workers {
		if stores[i], err = nats.Open(t.Context(), nats.Config{URL: srv.URL()}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stores[i].Close)
		all[i] = &sharedBudgets{store: stores[i], newID: func() string { return fmt.Sprint(ids.Add(1)) }}
	}
	settings := func(s Settings) json.RawMessage {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	err = stores[0].EnableCounters(t.Context())
	if err == nil {
		_, err = stores[0].Add(t.Context(), nats.Batch{
			ID:       "A",
			Digest:   "d",
			Settings: settings(Settings{MaxCost: 1}),
		}, nil, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	work := func(b *sharedBudgets, try batch.Try) {
		ctx, leave, err := b.enter(t.Context(), try, func(context.Context, Settings) error { return nil })
		if err != nil {
			t.Error(err)
			return
		}
		defer leave()
		model := b.gate(try, modelFunc(func(context.Context) error {
			calls.Add(1)
			b.spend(try, plan.UsageReport{CostUSD: 0.05})
			return nil
		}))
		for err == nil {
			_, err = model.Generate(ctx, loop.Call{}, nil)
		}
		if full := new(batch.BudgetError); !errors.As(err, &full) {
			t.Errorf("%s ended with %v", try.ID, err)
		}
	}
	rush := func() {
		var group sync.WaitGroup
		for i := range workers * jobs {
			group.Go(func() { work(all[i%workers], batch.Try{Batch: "A", Job: batch.Job{ID: fmt.Sprint("j", i)}}) })
		}
		group.Wait()
	}
	rush()
	if n := calls.Load(); n < 20 || n > 20+workers*jobs {
		t.Errorf("%d calls of a twentieth of the budget each", n)
	}
	before := calls.Load()
	rush()
	if n := calls.Load() - before; n != 0 {
		t.Errorf("%d calls of a batch that has used up its budget", n)
	}
	if err := stores[1].SetSettings(t.Context(), "A", settings(Settings{MaxCost: 2})); err != nil {
		t.Fatal(err)
	}
	rush()
	total, err := stores[2].Count(t.Context(), "A", "usd", "", 0)
	if n := calls.Load(); n < 40 || n > 40+workers*jobs || total != n*nanos/20 || err != nil {
		t.Errorf("%d calls, and %d were counted: %v", n, total, err)
	}
	if _, _, err := all[0].enter(t.Context(), batch.Try{Batch: "B"}, nil); !errors.Is(err, nats.ErrNoBatch) {
		t.Errorf("of no batch: %v", err)
	}
}
