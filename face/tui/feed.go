package tui

import (
	"sync"

	"github.com/plan-engine/plan"
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

// event takes an event. It does not block.
func (f *feed) event(e plan.Event) {
	f.mu.Lock()
	merged := false
	if e.Live() && len(f.items) > 0 {
		if last, ok := f.items[len(f.items)-1].(plan.Event); ok {
			if e, merged = merge(last, e); merged {
				f.items[len(f.items)-1] = e
			}
		}
	}
	if !merged {
		f.items = append(f.items, e)
	}
	f.mu.Unlock()
	f.ring()
}

// merge makes one of two live events that say the same thing one after the other.
func merge(a, b plan.Event) (plan.Event, bool) {
	if a.Conv != b.Conv || a.Seq != 0 {
		return b, false
	}
	switch now := b.Body.(type) {
	case plan.MessageUpdate:
		if was, ok := a.Body.(plan.MessageUpdate); ok && was.Kind == now.Kind && was.Call == now.Call {
			was.Text = end(was.Text + now.Text)
			b.Body = was
			return b, true
		}
	case plan.ToolUpdate:
		if was, ok := a.Body.(plan.ToolUpdate); ok && was.Call == now.Call {
			was.Text = end(was.Text + now.Text)
			b.Body = was
			return b, true
		}
	case plan.Progress:
		was, ok := a.Body.(plan.Progress)
		return b, ok && was.Of == now.Of && was.Of != ""
	}
	return b, false
}

func end(text string) string { return text[max(0, len(text)-mostMerged):] }

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
	return items
}
