package host

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
)

// TestHeartbeat says what runs at once, and each minute until it has ended.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	shown := make(chan string, 100)
	ticks := make(chan time.Time)
	asked := make(chan time.Duration, 100)
	h := &heartbeat{
		show: func(ev plan.Event) {
			if b, ok := ev.Body.(plan.Progress); ok {
				shown <- fmt.Sprint(ev.Run, " ", ev.Seq, " ", ev.Time.Equal(clock), " ", b.Of, " | ", b.Text)
			}
		},
		now: func() time.Time { return clock },
		after: func(d time.Duration) <-chan time.Time {
			asked <- d
			return ticks
		},
	}
	h.event(plan.Event{Run: "R1", Seq: 7, Body: plan.CheckStart{Check: plan.Check{Command: "make"}}})
	ticks <- clock
	ticks <- clock
	h.event(plan.Event{Run: "R1", Body: plan.CheckEnd{}})
	h.event(plan.Event{Run: "R1", Body: plan.CheckEnd{}}) // and nothing runs that could tick
	stop := h.beat(plan.Event{Run: "R1"}, "reading", readingPatience)
	ticks <- clock
	ticks <- clock
	stop()
	close(shown)
	var got []string
	for line := range shown {
		got = append(got, line)
	}
	want := `R1 0 true check make | check make
R1 0 true check make | check make: 1m0s so far
R1 0 true check make | check make: 2m0s so far
R1 0 true reading | reading: 3s so far
R1 0 true reading | reading: 1m3s so far`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if first := <-asked; first != heartbeatEvery {
		t.Errorf("the first minute is %s", first)
	}
}
