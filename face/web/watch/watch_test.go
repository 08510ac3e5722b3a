package watch_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web/watch"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal is a home with one run, to which events are appended.
type journal struct {
	t      *testing.T
	host   *host.Host
	id     plan.RunID
	writer *memory.Writer
	head   int64
}

func newJournal(t *testing.T) *journal {
	t.Helper()
	j := &journal{
		t:    t,
		host: host.New(host.Config{Environ: []string{"PLAN_HOME=" + filepath.Join(t.TempDir(), "home")}}),
	}
	j.id = j.host.NewRunID()
	db, err := j.host.DB(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if j.writer, err = db.Own(t.Context(), j.id); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(j.writer.Close(), j.host.Close()); err != nil {
			t.Error(err)
		}
	})
	j.append(plan.RunStart{Request: "try"})
	return j
}

// append records an event.
func (j *journal) append(bodies ...plan.Body) {
	j.t.Helper()
	events := make([]plan.Event, len(bodies))
	for i, b := range bodies {
		events[i] = plan.Event{Run: j.id, Time: time.Now(), Body: b}
	}
	if _, err := j.writer.Append(context.WithoutCancel(j.t.Context()), events...); err != nil {
		j.t.Fatal(err)
	}
	j.head += int64(len(bodies))
}

func (j *journal) end() {
	j.append(plan.StateChange{From: plan.Unstarted, To: plan.Failed}, plan.RunEnd{Outcome: plan.Failed})
}

// gapless reads what a watcher is handed, and says how far it got.
func gapless(h *watch.Hub, ctx context.Context, id plan.RunID, after int64, each func(int64)) (int64, error) {
	for item, err := range h.Watch(ctx, id, after, false) {
		switch {
		case err != nil:
			return after, err
		case item.JSON == nil:
			continue
		case item.Seq != after+1:
			return after, fmt.Errorf("event %d comes behind %d", item.Seq, after)
		}
		after = item.Seq
		each(after)
	}
	return after, nil
}

// A hundred watchers get every event, whenever they come and whatever one of them does.
func TestManyWatchers(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	hub := watch.New(j.host)
	const many, more = 100, 2000
	var all sync.WaitGroup
	joined := make(chan bool, many)
	for n := range many {
		all.Go(func() {
			first := sync.OnceFunc(func() { joined <- true })
			got, err := gapless(hub, t.Context(), j.id, 0, func(int64) { first() })
			for errors.Is(err, watch.ErrBehind) { // as its client does
				got, err = gapless(hub, t.Context(), j.id, got, func(int64) {})
			}
			if err != nil || got != more+3 {
				t.Errorf("watcher %d got to %d, %v", n, got, err)
			}
		})
	}
	stuck := make(chan bool)
	told := make(chan error, 1)
	all.Go(func() { // it reads one event, and then none until the run has ended
		got, err := gapless(hub, t.Context(), j.id, 0, func(seq int64) {
			if seq == 1 {
				joined <- true
				<-stuck
			}
		})
		told <- err
		for errors.Is(err, watch.ErrBehind) { // a busy machine may tell it so once more
			got, err = gapless(hub, t.Context(), j.id, got, func(int64) {})
		}
		if err != nil || got != more+3 {
			t.Errorf("told to replay, it got to %d, %v", got, err)
		}
	})
	for range many + 1 {
		<-joined
	}
	for range more / 10 {
		j.append(notes(10)...)
	}
	j.end()
	close(stuck)
	if err := <-told; !errors.Is(err, watch.ErrBehind) {
		t.Errorf("the one that reads too slowly is told %v", err)
	}
	all.Wait()
	hub.Close()
	if n := hub.Watchers(); n != 0 {
		t.Errorf("%d watchers are left", n)
	}
}

func notes(n int) []plan.Body {
	out := make([]plan.Body, n)
	for i := range out {
		out[i] = plan.Failure{Error: "one of many"}
	}
	return out
}

// A live event is handed to those who want them, is in no journal, and moves no seq.
func TestLiveEvents(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	hub := watch.New(j.host)
	defer hub.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	seen := 0
	for item, err := range hub.Watch(ctx, j.id, 0, true) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case item.Seq == 1:
			hub.Live(plan.Event{Run: "another", Body: plan.Progress{Text: "no"}})
			hub.Live(plan.Event{Run: j.id, Body: plan.Progress{Text: "yes"}})
		case item.JSON != nil && item.Seq == 0:
			seen++
			j.append(plan.Failure{Error: "after it"})
		case item.Seq == 2:
			stop()
		}
	}
	if seen != 1 {
		t.Errorf("%d live events came", seen)
	}
}

// A server that ends does not wait for those who watch.
func TestClose(t *testing.T) {
	t.Parallel()
	j := newJournal(t)
	hub := watch.New(j.host)
	done := make(chan error, 1)
	began := make(chan bool, 1)
	go func() {
		_, err := gapless(hub, t.Context(), j.id, 0, func(int64) { began <- true })
		done <- err
	}()
	<-began
	hub.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for range hub.Watch(t.Context(), j.id, 0, false) {
		t.Error("a closed hub hands out events")
	}
}
