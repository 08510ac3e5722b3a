package host

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/memory"
)

// inbox brings what other processes ask of a run to the process that drives it.
type inbox struct {
	letters func(context.Context) ([]memory.Letter, error)
	replan  func(why string)
	stop    context.CancelCauseFunc

	mu    sync.Mutex
	acted []int64 // letters that were acted on and are not taken yet
	seen  []int64
}

// take hands over the letters that were acted on, to be marked as taken.
func (in *inbox) take() []int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := in.acted
	in.acted = nil
	return out
}

// read acts on letters, once each. Where the inbox cannot be read, asking again
// later is all that can be done.
func (in *inbox) read(ctx context.Context) {
	letters, err := in.letters(ctx)
	if err != nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, l := range letters {
		if slices.Contains(in.seen, l.ID) || !forDriver(l) {
			continue
		}
		in.seen = append(in.seen, l.ID)
		in.acted = append(in.acted, l.ID)
		if Kind(l.Kind) == cancel {
			in.stop(engine.ErrCancelled)
			continue
		}
		text := Letter{}
		if json.Unmarshal(l.Data, &text) != nil || text.Text == "" {
			text.Text = DefaultReplanReason
		}
		in.replan(text.Text)
	}
}

// inboxInterval is how long a letter may lie before the inbox is read.
const inboxInterval = 250 * time.Millisecond

// watch reads an inbox until ctx ends, and then closes done.
func (in *inbox) watch(ctx context.Context) (done <-chan struct{}) {
	tick := time.NewTicker(inboxInterval)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				in.read(ctx)
			}
		}
	}()
	return ended
}

// Inboxes reads the inboxes of many runs with one question: hundreds of runs that
// each ask would keep the database busy with nothing. The zero value is ready.
type Inboxes struct {
	mu   sync.Mutex
	read map[plan.RunID]func() // of a run that is driven just now
}

// watch reads a run's inbox when it has letters, until ctx ends, and then closes
// done.
func (b *Inboxes) watch(ctx context.Context, run plan.RunID, in *inbox) (done <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.read == nil {
		b.read = map[plan.RunID]func(){}
	}
	b.read[run] = func() { in.read(ctx) }
	ended := make(chan struct{})
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.read, run)
		close(ended)
	})
	return ended
}

// Work goes round until ctx ends. Where the database does not say which runs have
// letters, asking again later is all that can be done.
func (b *Inboxes) Work(ctx context.Context, db *memory.DB) {
	tick := time.NewTicker(inboxInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		runs, err := db.RunsWithLetters(ctx)
		if err != nil {
			continue
		}
		b.mu.Lock()
		for _, run := range runs {
			if read, ok := b.read[run]; ok {
				read()
			}
		}
		b.mu.Unlock()
	}
}
