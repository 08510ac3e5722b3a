package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/plan-engine/plan"
)

// ErrFeedClosed says that the feed was closed, or has said that it lagged.
var ErrFeedClosed = errors.New("the feed is closed")

// LagError says that a feed was read too slowly to keep all events: those after
// Last have to be read from the journal.
type LagError struct {
	Run  plan.RunID
	Last int64 // seq of the last event that the feed delivered, 0 for none
}

// Error says it in one sentence.
func (e *LagError) Error() string {
	return fmt.Sprintf("the reader of run %s was too slow: read its journal again after event %d", e.Run, e.Last)
}

// Feed is the events of a run as this process commits them, from the moment of
// the subscription on. It belongs to one goroutine.
type Feed struct {
	feeds *feeds
	run   plan.RunID
	lines chan Line
	last  int64
	done  bool
}

// Subscribe opens a feed that holds up to buffer events for a reader that is
// elsewhere (at least 1). The writer never waits for it: once the buffer is
// full the feed is cut, and says so after what it holds.
//
// A reader that wants all events subscribes first, reads the journal, and then
// skips those of the feed that it has. [DB.Follow] does.
func (db *DB) Subscribe(run plan.RunID, buffer int) *Feed {
	f := &Feed{
		feeds: &db.feeds,
		run:   run,
		lines: make(chan Line, max(buffer, 1)),
	}
	db.feeds.add(f)
	return f
}

// Next waits for the next event. Errors: a [*LagError], once; [ErrFeedClosed]
// after it and after Close; and the context's.
func (f *Feed) Next(ctx context.Context) (Line, error) {
	select {
	case line, ok := <-f.lines:
		return f.delivered(line, ok)
	default:
	}
	select {
	case line, ok := <-f.lines:
		return f.delivered(line, ok)
	case <-ctx.Done():
		return Line{}, fmt.Errorf("wait for run %s: %w", f.run, context.Cause(ctx))
	}
}

func (f *Feed) delivered(line Line, ok bool) (Line, error) {
	switch {
	case ok:
		f.last = line.Seq
		return line, nil
	case f.done:
		return Line{}, ErrFeedClosed
	}
	f.done = true
	return Line{}, &LagError{Run: f.run, Last: f.last}
}

// Close ends the subscription.
func (f *Feed) Close() {
	f.done = true
	f.feeds.closeWriteSide(f)
}

// feeds are the subscriptions of one open database.
type feeds struct {
	mu   sync.Mutex
	open map[plan.RunID]map[*Feed]struct{}
}

func (s *feeds) add(f *Feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[plan.RunID]map[*Feed]struct{}{}
	}
	if s.open[f.run] == nil {
		s.open[f.run] = map[*Feed]struct{}{}
	}
	s.open[f.run][f] = struct{}{}
}

// closeWriteSide ends a feed: its reader gets what it holds and no more.
func (s *feeds) closeWriteSide(f *Feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(f)
}

func (s *feeds) drop(f *Feed) {
	if _, ok := s.open[f.run][f]; !ok {
		return
	}
	close(f.lines)
	delete(s.open[f.run], f)
	if len(s.open[f.run]) == 0 {
		delete(s.open, f.run)
	}
}

// publish gives committed events to the subscribers. It never waits. The
// appends of a run come one after the other, so they arrive in order.
func (s *feeds) publish(run plan.RunID, records []record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f := range s.open[run] {
		for _, r := range records {
			select {
			case f.lines <- Line{Seq: r.event.Seq, JSON: []byte(r.line)}:
				continue
			default:
			}
			s.drop(f)
			break
		}
	}
}
