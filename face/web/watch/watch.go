// Package watch hands the events of runs to all who watch them. A run is followed once,
// however many watch it, and no watcher is waited for: one that reads too slowly is told to
// read again from the journal. It must not know who watches, or over what.
package watch

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

// Item is an event as the journal has it, or a live one, whose Seq is 0. One without JSON
// says that none came for a second.
type Item struct {
	Seq  int64
	JSON []byte
}

// ErrBehind says that a watcher has read too slowly: what it lacks is in the journal, behind
// the last event that it got.
var ErrBehind = errors.New("read too slowly; read on behind the last event")

// room is how many events wait for one watcher. Live ones, which can be lost, take no
// more than half of it.
const room = 256

// Hub follows runs for watchers. Its methods are safe for concurrent use.
type Hub struct {
	host *host.Host

	mu    sync.Mutex
	feeds map[plan.RunID]*feed
	ended bool
	done  sync.WaitGroup
}

// New makes a hub without watchers.
func New(h *host.Host) *Hub {
	return &Hub{
		host:  h,
		feeds: map[plan.RunID]*feed{},
	}
}

// feed is a run that is followed.
type feed struct {
	stop     context.CancelFunc
	watchers map[*watcher]bool
	head     int64 // seq of the last event that watchers were handed
}

// watcher is one who watches.
type watcher struct {
	items  chan Item
	behind bool // before items is closed
}

// Watch returns the events of a run whose seq is greater than after, and then those that
// come, until the run is final, ctx ends or the hub is closed. With live, there are also
// events of runs that this process drives that no journal has. The last pair holds
// [ErrBehind], or what went wrong.
func (h *Hub) Watch(ctx context.Context, id plan.RunID, after int64, live bool) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		db, err := h.host.DB(ctx)
		if err != nil {
			yield(Item{}, err)
			return
		}
		info, err := db.Run(ctx, id)
		if err != nil {
			yield(Item{}, err)
			return
		}
		w, from, ok := h.join(ctx, db, info)
		if !ok {
			return
		}
		defer h.leave(id, w)
		// What was there before the first event of the feed is read from the journal.
		for line, err := range db.Lines(ctx, id, after) {
			if err != nil {
				yield(Item{}, err)
				return
			}
			if line.Seq > from {
				break
			}
			if !yield(Item{Seq: line.Seq, JSON: line.JSON}, nil) {
				return
			}
			after = line.Seq
		}
		h.deliver(ctx, w, max(after, from), live, yield)
	}
}

// deliver yields what a watcher is handed behind an event.
func (h *Hub) deliver(ctx context.Context, w *watcher, after int64, live bool, yield func(Item, error) bool) {
	idle := time.NewTicker(time.Second)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-idle.C:
			if !yield(Item{}, nil) {
				return
			}
		case item, open := <-w.items:
			switch {
			case !open && w.behind:
				yield(Item{}, ErrBehind)
				return
			case !open:
				return
			case item.Seq == 0 && !live, item.Seq != 0 && item.Seq <= after:
				continue
			}
			if !yield(item, nil) {
				return
			}
			after = max(after, item.Seq)
			idle.Reset(time.Second)
		}
	}
}

// join makes a watcher of a run, which is handed all events behind a seq.
func (h *Hub) join(ctx context.Context, db *memory.DB, info memory.RunInfo) (w *watcher, from int64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return nil, 0, false
	}
	w = &watcher{items: make(chan Item, room)}
	f := h.feeds[info.ID]
	if f == nil {
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // for others, too
		f = &feed{
			stop:     stop,
			watchers: map[*watcher]bool{},
			head:     info.Head,
		}
		h.feeds[info.ID] = f
		h.done.Go(func() { h.follow(ctx, db, info.ID, f) })
	}
	f.watchers[w] = true
	return w, f.head, true
}

// leave ends what a watcher is handed.
func (h *Hub) leave(id plan.RunID, w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[id]
	if f == nil || !f.watchers[w] {
		return
	}
	delete(f.watchers, w)
	if len(f.watchers) == 0 {
		f.stop()
		delete(h.feeds, id)
	}
}

// follow hands the events of a run out as they come.
func (h *Hub) follow(ctx context.Context, db *memory.DB, id plan.RunID, f *feed) {
	for line, err := range db.Follow(ctx, id, f.head) {
		if err != nil {
			break
		}
		h.mu.Lock()
		f.head = line.Seq
		for w := range f.watchers {
			f.put(w, Item{Seq: line.Seq, JSON: line.JSON}, room)
		}
		h.mu.Unlock()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range f.watchers {
		close(w.items)
	}
	clear(f.watchers)
	f.stop()
	if h.feeds[id] == f {
		delete(h.feeds, id)
	}
}

// put hands an event to a watcher, unless as many wait for it already: a durable one that
// does not fit ends what it is handed.
func (f *feed) put(w *watcher, item Item, most int) {
	if len(w.items) < most {
		w.items <- item // only who holds the hub's lock sends
		return
	}
	if item.Seq == 0 {
		return
	}
	w.behind = true
	close(w.items)
	delete(f.watchers, w)
}

// Live hands a live event of a run to those who watch it.
func (h *Hub) Live(ev plan.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.feeds[ev.Run]
	if f == nil {
		return
	}
	line, err := ev.AppendJSON(nil)
	if err != nil {
		return // it is only shown
	}
	for w := range f.watchers {
		f.put(w, Item{JSON: line}, room/2)
	}
}

// Watchers counts those who watch.
func (h *Hub) Watchers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, f := range h.feeds {
		n += len(f.watchers)
	}
	return n
}

// Close ends what watchers are handed, and returns once nothing is followed.
func (h *Hub) Close() {
	h.mu.Lock()
	h.ended = true
	for _, f := range h.feeds {
		f.stop()
	}
	h.mu.Unlock()
	h.done.Wait()
}

// Of hands on events that come from elsewhere, as [Hub.Watch] does those of the home, until they
// end or ctx does.
func Of(ctx context.Context, lines iter.Seq2[memory.Line, error]) iter.Seq2[Item, error] {
	type told struct {
		line memory.Line
		err  error
	}
	return func(yield func(Item, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		lineup := make(chan told)
		var reader sync.WaitGroup
		reader.Go(func() {
			defer close(lineup)
			for line, err := range lines {
				select {
				case lineup <- told{line, err}:
				case <-ctx.Done():
					return
				}
			}
		})
		defer reader.Wait()
		defer cancel()
		idle := time.NewTicker(time.Second)
		defer idle.Stop()
		for {
			item, err := Item{}, error(nil)
			select {
			case <-ctx.Done():
				return
			case <-idle.C:
			case next, open := <-lineup:
				if !open {
					return
				}
				item.Seq = next.line.Seq
				item.JSON = next.line.JSON
				err = next.err
				idle.Reset(time.Second)
			}
			if !yield(item, err) {
				return
			}
		}
	}
}
