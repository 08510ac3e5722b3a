package tui

import (
	"sync"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
)

// feed carries what happens in a run from the goroutine that drives it to the one that
// draws. Neither waits for the other: events lie in a list until the next picture is
// drawn, and live ones that follow each other become one, so that output that comes
// fast takes no more room than it has text.
type feed struct {
	wake chan<- struct{} // shared by all; has room for one

	mu    sync.Mutex
	items []any
}

// What lies in a feed besides events.
type (
	// note is what a person should know and can do without.
	note string
	// unread is what was said to the run and waits to be heard.
	unread []host.Letter
	// lost says that the journal cannot be read any more.
	lost struct{}
	// asked is what the run asks the person before it.
	asked struct{ ask *ask }
	// withdrawn says that a question needs no answer any more.
	withdrawn struct {
		ask       *ask
		elsewhere bool
	}
)

// mostMerged bounds the text of live events that have become one: of more than that,
// no more than the end is seen before it has passed.
const mostMerged = 64 << 10

// stream are live events of one kind that came one after the other.
type stream struct {
	last plan.Event
	text []byte
}

// event takes an event. It does not block.
func (f *feed) event(e plan.Event) {
	f.mu.Lock()
	var last *stream
	if n := len(f.items); n > 0 {
		last, _ = f.items[n-1].(*stream)
	}
	text, streams := textOf(e)
	switch {
	case !streams:
		f.items = append(f.items, e)
	case last != nil && last.takes(e):
		last.last = e
		last.text = append(last.text, text...)
		if len(last.text) > 2*mostMerged { // seldom, so that each piece costs no more than itself
			last.text = append(last.text[:0], last.text[len(last.text)-mostMerged:]...)
		}
	default:
		f.items = append(f.items, &stream{last: e, text: []byte(text)})
	}
	f.mu.Unlock()
	f.ring()
}

// textOf is what a live event adds, of the kinds that follow each other.
func textOf(e plan.Event) (string, bool) {
	switch b := e.Body.(type) {
	case plan.MessageUpdate:
		return b.Text, true
	case plan.ToolUpdate:
		return b.Text, true
	}
	return "", false
}

// takes reports whether an event goes on with what the stream says.
func (s *stream) takes(e plan.Event) bool {
	if s.last.Conv != e.Conv {
		return false
	}
	switch next := e.Body.(type) {
	case plan.MessageUpdate:
		last, ok := s.last.Body.(plan.MessageUpdate)
		return ok && last.Kind == next.Kind && last.Call == next.Call
	case plan.ToolUpdate:
		last, ok := s.last.Body.(plan.ToolUpdate)
		return ok && last.Call == next.Call
	}
	return false
}

// event is all of it as one event, of more than a bound its end.
func (s *stream) event() plan.Event {
	text := string(s.text[max(0, len(s.text)-mostMerged):])
	e := s.last
	switch b := e.Body.(type) {
	case plan.MessageUpdate:
		b.Text = text
		e.Body = b
	case plan.ToolUpdate:
		b.Text = text
		e.Body = b
	}
	return e
}

// put takes something else.
func (f *feed) put(item any) {
	f.mu.Lock()
	f.items = append(f.items, item)
	f.mu.Unlock()
	f.ring()
}

func (f *feed) ring() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// take is all that has come since the last time.
func (f *feed) take() []any {
	f.mu.Lock()
	defer f.mu.Unlock()
	items := f.items
	f.items = nil
	for i, item := range items {
		if s, ok := item.(*stream); ok {
			items[i] = s.event()
		}
	}
	return items
}
