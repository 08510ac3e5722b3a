package memory

import (
	"context"
	"iter"
	"time"

	"github.com/plan-engine/plan"
)

const (
	// followPoll is how often Follow looks for what other processes commit.
	followPoll = 50 * time.Millisecond
	// followBuffer is how many events of this process wait for a reader in
	// memory before it has to read them from the file.
	followBuffer = 64
)

// Follow is [DB.Lines] and then waits for more, from whatever process they
// come, until the run has ended. Events of this process arrive at once, those
// of others within a moment. A slow reader is never in the way of the writer:
// it reads later, from the file. Follow stops without an error when ctx ends.
func (db *DB) Follow(ctx context.Context, run plan.RunID, after int64) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		f := &follower{
			db:    db,
			run:   run,
			after: after,
			yield: yield,
			tick:  time.NewTicker(followPoll),
		}
		defer f.tick.Stop()
		f.feed = db.Subscribe(run, followBuffer)
		defer func() { f.feed.Close() }()
		for {
			// The feed is open before the journal is read, so nothing falls in
			// between.
			done, err := f.catchUp(ctx)
			if err != nil && ctx.Err() == nil {
				yield(Line{}, db.runError("follow", run, err))
			}
			if done || err != nil || !f.waitForMore(ctx) {
				return
			}
		}
	}
}

// follower is one call of Follow.
type follower struct {
	db    *DB
	run   plan.RunID
	after int64 // seq of the last event that was yielded
	yield func(Line, error) bool
	feed  *Feed
	tick  *time.Ticker
}

// waitForMore returns when there may be more to read, and false when the consumer has stopped.
func (f *follower) waitForMore(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-f.tick.C:
		return true
	case line, ok := <-f.feed.lines:
		return f.yieldLive(line, ok)
	}
}

// yieldLive yields what the feed holds, as long as it continues what was yielded.
func (f *follower) yieldLive(line Line, ok bool) bool {
	for {
		if !ok { // cut: the journal has what is missing
			f.feed = f.db.Subscribe(f.run, followBuffer)
			return true
		}
		if line.Seq == f.after+1 {
			if !f.yield(line, nil) {
				return false
			}
			f.after = line.Seq
		}
		select {
		case line, ok = <-f.feed.lines:
		default:
			return true
		}
	}
}

// catchUp yields what the journal has after the last event. It is done when
// nothing more can come, or the consumer has
// stopped.
func (f *follower) catchUp(ctx context.Context) (done bool, err error) {
	now, err := f.db.readJournalState(ctx, f.run)
	if err != nil || now.head <= f.after {
		return now.ended, err
	}
	for s, err := range f.db.storedLines(ctx, f.run, Query{After: f.after}) {
		if err != nil {
			return false, err
		}
		if !f.yield(s.bytes(), nil) {
			return true, nil
		}
		f.after = s.seq
	}
	// The head was read together with the outcome: nothing is missing.
	return now.ended, nil
}
