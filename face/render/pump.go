package render

import (
	"sync"
	"time"

	"github.com/plan-engine/plan"
)

const (
	// pumpBehind is how many events a viewer may be behind before live ones
	// are dropped.
	pumpBehind = 256
	// Patience is how long closing waits for a terminal to catch up: one
	// that was stopped with Ctrl-S must not keep the process.
	Patience = 2 * time.Second
)

// NewPump runs v on its own goroutine, so that a terminal that takes no output
// cannot hold up a run. feed never blocks: durable events wait in order for as
// long as it takes, live ones are dropped while the viewer is far behind.
// stop shows what is waiting, closes v and returns; from a viewer that does
// not get on it returns after patience, and leaves the goroutine to the end of
// the process; a patience of 0 waits for as long as it takes. Events fed after
// stop are ignored.
func NewPump(v Viewer, patience time.Duration) (feed func(plan.Event), stop func() error) {
	p := &pump{
		viewer:   v,
		patience: patience,
		wake:     make(chan struct{}, 1),
		done:     make(chan struct{}),
		cut:      map[string]bool{},
	}
	go p.run()
	return p.feed, p.stop
}

// pump is a queue between a run and its viewer.
type pump struct {
	viewer   Viewer
	patience time.Duration
	wake     chan struct{} // holds one token when there is something to do
	done     chan struct{} // closed once the viewer is
	err      error         // of closing the viewer

	mu     sync.Mutex
	queue  []plan.Event
	closed bool
	// cut holds the conversations whose current message lost a piece. The rest
	// of its pieces are dropped too, so that what was shown of a message is
	// always its beginning.
	cut map[string]bool
}

func (p *pump) feed(e plan.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.drops(e) {
		return
	}
	p.queue = append(p.queue, e)
	p.signal()
}

// drops decides about live events, and keeps p.cut.
func (p *pump) drops(e plan.Event) bool {
	switch e.Type() {
	case plan.TypeMessageUpdate:
		if len(p.queue) >= pumpBehind {
			p.cut[e.Conv] = true
		}
		return p.cut[e.Conv]
	case plan.TypeMessageEnd, plan.TypeRetry:
		delete(p.cut, e.Conv)
	}
	return e.Live() && len(p.queue) >= pumpBehind
}

func (p *pump) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *pump) run() {
	defer close(p.done)
	for range p.wake {
		for {
			e, ok, closed := p.next()
			if ok {
				p.viewer.Event(e)
				continue
			}
			if closed {
				p.err = p.viewer.Close()
				return
			}
			break
		}
	}
}

// next takes one event at a time, so that the length of the queue says how far
// the viewer is behind.
func (p *pump) next() (e plan.Event, ok, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		p.queue = nil
		return plan.Event{}, false, p.closed
	}
	e = p.queue[0]
	p.queue[0] = plan.Event{}
	p.queue = p.queue[1:]
	return e, true, false
}

func (p *pump) stop() error {
	p.mu.Lock()
	p.closed = true
	p.signal()
	p.mu.Unlock()

	var giveUp <-chan time.Time
	if p.patience > 0 {
		t := time.NewTimer(p.patience)
		defer t.Stop()
		giveUp = t.C
	}
	select {
	case <-p.done:
		return p.err
	case <-giveUp:
		return nil
	}
}
