package batch_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/loop"
)

type modelFunc func(ctx context.Context) error

func (f modelFunc) Generate(ctx context.Context, _ loop.Call, _ func(loop.Delta)) (loop.Answer, error) {
	return loop.Answer{}, f(ctx)
}

func refusal(after time.Duration) error {
	return &loop.ModelError{Kind: loop.ErrRateLimit, Status: 429, RetryAfter: after}
}

func TestOneRefusalStopsEverybodyForAsLongAsTheServerAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := batch.NewLimiter(8, time.Now)
		began := time.Now()
		first := l.Model(modelFunc(func(context.Context) error { return refusal(10 * time.Second) }))
		if _, err := first.Generate(t.Context(), loop.Call{}, nil); err == nil {
			t.Fatal("the refusal got lost; repeating is the caller's")
		}
		if calls, _ := l.Window(); calls != 4 {
			t.Errorf("%d calls at a time, want half of 8", calls)
		}
		var most, now atomic.Int32
		second := l.Model(modelFunc(func(context.Context) error {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			<-time.After(time.Second)
			return nil
		}))
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() { _, _ = second.Generate(t.Context(), loop.Call{}, nil) })
		}
		wg.Wait()
		if took := time.Since(began); took < 10*time.Second || took > 14*time.Second {
			t.Errorf("it took %s", took)
		}
		if most.Load() > 5 {
			t.Errorf("%d calls at a time", most.Load())
		}
		if calls, _ := l.Window(); calls <= 4 {
			t.Errorf("%d calls at a time: answers should widen the window", calls)
		}
	})
}

func TestRefusalsOfOneMomentHalveTheWindowOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := batch.NewLimiter(16, time.Now)
		m := l.Model(modelFunc(func(context.Context) error {
			<-time.After(time.Second)
			return refusal(0)
		}))
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() { _, _ = m.Generate(t.Context(), loop.Call{}, nil) })
		}
		wg.Wait()
		if calls, until := l.Window(); calls != 8 || !until.After(time.Now()) {
			t.Errorf("%d calls at a time, nobody until %s", calls, until)
		}
	})
}

func TestWhoGivesUpWaitingLeavesTheLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := batch.NewLimiter(1, time.Now)
		release := make(chan struct{})
		busy := l.Model(modelFunc(func(context.Context) error { <-release; return nil }))
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = busy.Generate(t.Context(), loop.Call{}, nil) })
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		wg.Go(func() {
			if _, err := busy.Generate(ctx, loop.Call{}, nil); !errors.Is(err, gone) {
				t.Errorf("error %v", err)
			}
		})
		synctest.Wait()
		cancel(gone)
		synctest.Wait()
		close(release)
		if _, err := l.Model(modelFunc(func(context.Context) error { return nil })).Generate(t.Context(), loop.Call{}, nil); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// Two processes with a limiter each, which tell each other of pauses: the refusal of
// one slows both, and one moment halves no window twice.
func TestProcessesTellEachOtherOfPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := batch.NewLimiter(8, time.Now), batch.NewLimiter(8, time.Now)
		told := 0
		one.Tell(func(d time.Duration) { told++; two.Slow(d) })
		two.Tell(func(time.Duration) { t.Error("what it was told was told on") })
		refused := one.Model(modelFunc(func(context.Context) error {
			<-time.After(time.Second)
			return refusal(10 * time.Second)
		}))
		var wg sync.WaitGroup
		for range 3 { // of the same moment
			wg.Go(func() { _, _ = refused.Generate(t.Context(), loop.Call{}, nil) })
		}
		wg.Wait()
		two.Slow(5 * time.Second) // a third process, told of the same moment
		calls, until := two.Window()
		if told != 1 || calls != 4 || time.Until(until) != 10*time.Second {
			t.Errorf("told %d times: %d calls, none for %s", told, calls, time.Until(until))
		}
		began := time.Now()
		answered := two.Model(modelFunc(func(context.Context) error { return nil }))
		_, err := answered.Generate(t.Context(), loop.Call{}, nil)
		if since := time.Since(began); err != nil || since != 10*time.Second {
			t.Errorf("the other process began a call after %s: %v", since, err)
		}
		two.Slow(time.Second)
		if calls, _ := two.Window(); calls != 2 {
			t.Errorf("%d calls after another moment", calls)
		}
	})
}
