package render

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// slowViewer takes an event each time its gate lets it.
type slowViewer struct {
	gate   chan struct{} // nil: at once
	seen   []plan.Event
	closed int
}

func (v *slowViewer) Event(e plan.Event) {
	if v.gate != nil {
		<-v.gate
	}
	v.seen = append(v.seen, e)
}

func (v *slowViewer) Close() error {
	v.closed++
	return nil
}

func TestPumpKeepsTheOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // it also fails when the goroutine is left over
		v := &slowViewer{}
		feed, stop := NewPump(v, Patience)
		events := wholeStory().events
		for _, e := range events {
			feed(e)
			synctest.Wait()
		}
		stop()
		feed(events[0]) // ignored
		if diff := cmp.Diff(events, v.seen); diff != "" {
			t.Errorf("events differ (-want +got):\n%s", diff)
		}
		if v.closed != 1 {
			t.Errorf("the viewer was closed %d times", v.closed)
		}
	})
}

func TestPumpDropsLiveEventsOfASlowViewer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &slowViewer{gate: make(chan struct{})}
		feed, stop := NewPump(v, Patience)
		durable := func(n int) plan.Event { return plan.Event{Seq: int64(n), Conv: "c1", Body: plan.Snapshot{}} }
		piece := func(text string) plan.Event {
			return plan.Event{Conv: "c1", Body: plan.MessageUpdate{Kind: plan.BlockText, Text: text}}
		}
		feed(piece("first"))
		synctest.Wait() // the viewer has it, and is stuck
		for i := range pumpBehind {
			feed(durable(i))
		}
		feed(piece("dropped"))
		feed(plan.Event{Body: plan.Progress{Text: "dropped"}})
		feed(durable(pumpBehind))
		for range 10 { // the viewer gets on a bit
			v.gate <- struct{}{}
		}
		feed(piece("dropped: there would be a hole before it"))
		feed(plan.Event{Body: plan.Progress{Text: "kept"}})
		feed(plan.Event{Conv: "c1", Seq: 1000, Body: plan.MessageEnd{}})
		feed(piece("next"))
		close(v.gate)
		stop()

		var got []string
		seen := 0
		for _, e := range v.seen {
			switch b := e.Body.(type) {
			case plan.Snapshot:
				if int(e.Seq) != seen {
					t.Fatalf("event %d came when %d was due", e.Seq, seen)
				}
				seen++
			case plan.MessageUpdate:
				got = append(got, b.Text)
			case plan.Progress:
				got = append(got, b.Text)
			}
		}
		if want := []string{"first", "kept", "next"}; !slices.Equal(got, want) {
			t.Errorf("live events %q, want %q", got, want)
		}
		if seen != pumpBehind+1 {
			t.Errorf("%d durable events, want %d", seen, pumpBehind+1)
		}
	})
}

func TestPumpGivesUpOnABlockedViewer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &slowViewer{gate: make(chan struct{})}
		feed, stop := NewPump(v, Patience)
		for i := range 10 * pumpBehind {
			feed(plan.Event{Seq: int64(i + 1), Body: plan.Snapshot{Label: fmt.Sprint(i)}})
		}
		before := time.Now()
		stop()
		if took := time.Since(before); took != Patience {
			t.Errorf("stop took %v, want %v", took, Patience)
		}
		close(v.gate) // so that the bubble ends
		synctest.Wait()
		if len(v.seen) != 10*pumpBehind || v.closed != 1 {
			t.Errorf("%d events were shown and the viewer was closed %d times once it got on", len(v.seen), v.closed)
		}
	})
}
