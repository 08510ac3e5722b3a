package host

import (
	"fmt"
	"sync"
	"time"

	"github.com/plan-engine/plan"
)

// heartbeat gives a sign of life while one thing takes long: what runs is said at once,
// and each minute again.
type heartbeat struct {
	show  func(plan.Event) // what all events go to
	now   func() time.Time
	after func(time.Duration) <-chan time.Time

	mu   sync.Mutex // of show: it is for one goroutine at a time
	stop func()     // of the check that runs; nil while there is none
}

// heartbeatEvery is how often a sign of life is given, and readingPatience how long the
// work tree is read before the first: most are read in less.
const (
	heartbeatEvery  = time.Minute
	readingPatience = 3 * time.Second
)

// sayReading tells now and then that a work tree is still being read.
func (h *Host) sayReading(root string) (stop func()) {
	signs := heartbeat{after: time.After}
	return signs.while(readingPatience, func(ran time.Duration) {
		h.note(fmt.Sprintf("reading %s: %s so far. Files that are neither committed nor ignored are read whole",
			root, ran))
	})
}

// event shows an event, and a sign of life from the start of a check to its end.
func (h *heartbeat) event(ev plan.Event) {
	switch b := ev.Body.(type) {
	case plan.CheckStart:
		h.close()
		h.put(ev)
		h.stop = h.beat(ev, "check "+b.Command, 0)
		return
	case plan.CheckEnd, plan.Parked, plan.RunEnd:
		h.close()
	}
	h.put(ev)
}

func (h *heartbeat) put(ev plan.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.show(ev)
}

// close ends the signs of life of a check.
func (h *heartbeat) close() {
	if h.stop != nil {
		h.stop()
		h.stop = nil
	}
}

// beat says of what something runs, first after a while and then each minute, until
// it is stopped. The events are like an earlier one.
func (h *heartbeat) beat(like plan.Event, subject string, first time.Duration) (stop func()) {
	var ran time.Duration
	say := func() {
		text := subject
		if ran > 0 {
			text = fmt.Sprintf("%s: %s so far", subject, ran)
		}
		ev := like
		ev.Seq, ev.Time, ev.Body = 0, h.now(), plan.Progress{Text: text, Of: subject}
		h.put(ev)
	}
	if first == 0 {
		say()
		first = heartbeatEvery
	}
	return h.while(first, func(so time.Duration) {
		ran = so
		say()
	})
}

// while calls say after a while, and then each minute, with how long it has been. What
// it returns ends that, and waits for a call that is under way.
func (h *heartbeat) while(first time.Duration, say func(time.Duration)) (stop func()) {
	done := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		for ran, next := first, first; ; ran, next = ran+heartbeatEvery, heartbeatEvery {
			select {
			case <-done:
				return
			case <-h.after(next):
				say(ran)
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		beating.Wait()
	})
}
