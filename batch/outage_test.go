package batch_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/loop"
)

// converse does one job's conversation with a model behind a limiter, and returns
// what it failed with.
func converse(t *testing.T, m loop.Model) *loop.ModelError {
	t.Helper()
	l, err := loop.New(loop.Config{
		Model:   m,
		Name:    "m",
		Conv:    "c1",
		Attempt: 1,
		Emit:    func(context.Context, ...plan.Event) error { return nil },
		Rand:    func() float64 { return 0.5 },
	}, nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	_, err = l.Run(t.Context(), plan.UserText("Go."))
	failed, _ := loop.AsModelError(err)
	if err != nil && failed == nil {
		t.Error(err)
	}
	return failed
}

// server is a model that can be out of reach.
type server struct {
	up    atomic.Bool
	tried atomic.Int32
}

func (s *server) call(context.Context) error {
	if s.tried.Add(1); s.up.Load() {
		return nil
	}
	return &loop.ModelError{Kind: loop.ErrUnreachable, Message: "connection refused"}
}

// TestOneProbeForAllJobs has 200 jobs, eight at a time, and a server that is not
// there. All of them are told within the time of one, and a few calls find it out;
// one that answered before is tried for longer, and found again.
func TestOneProbeForAllJobs(t *testing.T) {
	t.Parallel()
	const jobs, workers = 200, 8
	for name, answered := range map[string]bool{"never there": false, "gone": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := batch.NewLimiter(workers, time.Now)
				var s server
				m := l.Model(modelFunc(s.call))
				if answered {
					s.up.Store(true)
					_, _ = m.Generate(t.Context(), loop.Call{Model: "m"}, nil)
					s.up.Store(false)
				}
				began := time.Now()
				var left atomic.Int32
				left.Store(jobs)
				var wg sync.WaitGroup
				for range workers {
					wg.Go(func() {
						for left.Add(-1) >= 0 {
							me := converse(t, m)
							if me == nil || me.Kind != loop.ErrUnreachable || me.Answered != answered {
								t.Errorf("a job ended with %+v", me)
							}
						}
					})
				}
				wg.Wait()
				most := 10 * time.Second
				if answered {
					most = 2 * time.Minute
				}
				if took := time.Since(began); took > most || took < most/3 {
					t.Errorf("it took %s, want up to %s", took, most)
				}
				if n := s.tried.Load(); n > 2*workers+2 {
					t.Errorf("the server was tried %d times", n)
				}
				s.up.Store(true)
				<-time.After(time.Minute)
				if _, err := m.Generate(t.Context(), loop.Call{Model: "m"}, nil); err != nil {
					t.Errorf("a server that is back: %v", err)
				}
			})
		})
	}
}

// named is a model that says which server a model is on.
type named struct {
	modelFunc
	server string
}

func (n named) Server(string) string { return n.server }

// TestOutagesAreOfOneServer: the jobs of other servers go on, a probe that was
// cancelled or crashed makes room for another, and a server that answers with an
// error is there.
func TestOutagesAreOfOneServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := batch.NewLimiter(8, time.Now)
		var s server
		tried := func() int32 { return s.tried.Swap(0) }
		ask := func(m loop.Model) (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = errors.New("crashed")
				}
			}()
			_, err = m.Generate(t.Context(), loop.Call{Model: "m"}, nil)
			return err
		}
		gone := l.Model(named{s.call, "here"})
		first, second := ask(gone), ask(gone)
		if first == nil || second == nil || tried() != 1 {
			t.Error("the second call did not believe the first")
		}
		if err := ask(l.Model(named{func(context.Context) error { return nil }, "there"})); err != nil {
			t.Errorf("another server: %v", err)
		}
		for _, probe := range []func(context.Context) error{
			func(context.Context) error { panic("crashed") },
			func(context.Context) error { return context.Canceled },
		} {
			<-time.After(time.Minute)
			_ = ask(l.Model(named{probe, "here"}))
			if _ = ask(gone); tried() != 1 {
				t.Error("a probe that found out nothing was the last one")
			}
		}
		<-time.After(time.Minute)
		_ = ask(l.Model(named{func(context.Context) error { return &loop.ModelError{Kind: loop.ErrServed, Status: 500} }, "here"}))
		if _ = ask(gone); tried() != 1 {
			t.Error("a server that answers 500 counts as gone")
		}
	})
}
