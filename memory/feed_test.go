package memory_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// What a slow reader gets: what fitted, then where to go on, and then the rest
// from the journal.
func TestLaggingSubscriber(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	w := own(t, db, "R1")
	feed := db.Subscribe("R1", 3)
	defer feed.Close()
	appendAll(t, w, runStart("R1"), report("R1", "2"))
	appendAll(t, w, report("R1", "3"), report("R1", "4"), report("R1", "5"))
	var seqs []int64
	for {
		line, err := feed.Next(ctx)
		if err == nil {
			seqs = append(seqs, line.Seq)
			continue
		}
		var lag *memory.LagError
		if !errors.As(err, &lag) || lag.Last != 3 || lag.Run != "R1" {
			t.Fatalf("got %v, want to be told to replay after event 3", err)
		}
		break
	}
	if _, err := feed.Next(ctx); !errors.Is(err, memory.ErrFeedClosed) {
		t.Errorf("after that: %v, want ErrFeedClosed", err)
	}
	for line, err := range db.Lines(ctx, "R1", 3) {
		must(t, err)
		seqs = append(seqs, line.Seq)
	}
	for i, seq := range seqs {
		if seq != int64(i+1) || len(seqs) != 5 {
			t.Fatalf("got %v, want 1 to 5 once each", seqs)
		}
	}
}

// The feed is not read: appends go on, also the last one, and nothing is lost.
func TestFeedNobodyReads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	w := own(t, db, "R1")
	feed := db.Subscribe("R1", 1)
	defer feed.Close()
	appendAll(t, w, runStart("R1"))
	for range 20 {
		appendAll(t, w, report("R1", "x"))
	}
	appendAll(t, w, runEnd("R1"))
	wantSeqs(t, lines(t, db, "R1"), 22)
	var last plan.EventType
	for line, err := range db.Follow(ctx, "R1", 1) {
		must(t, err)
		var e plan.Event
		must(t, e.UnmarshalJSON(line.JSON))
		last = e.Type()
	}
	if last != plan.TypeRunEnd {
		t.Errorf("a reader that comes back ends with %q", last)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	quiet := db.Subscribe("R1", 1)
	if _, err := quiet.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	quiet.Close()
	if _, err := quiet.Next(ctx); !errors.Is(err, memory.ErrFeedClosed) {
		t.Errorf("got %v, want ErrFeedClosed", err)
	}
}

// Readers that come at any time, fast and slow, see every event once and in
// order while a run is written.
func TestFollowersMissNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, elsewhere := open(t, dir), open(t, dir)
	w := own(t, db, "R1")
	appendAll(t, w, runStart("R1"))
	const appends = 400
	var wg sync.WaitGroup
	for i := range 8 {
		from := db
		if i%2 == 1 {
			from = elsewhere // as another process would: no feed reaches it
		}
		wg.Go(func() {
			want := int64(0)
			for line, err := range from.Follow(context.Background(), "R1", 0) {
				if want++; err != nil || line.Seq != want {
					t.Errorf("reader %d got event %d, %v, want %d", i, line.Seq, err, want)
					return
				}
				if i > 3 && want%50 == 0 { // slow: it works on each for a while
					for range 50 {
						_, _ = from.Run(context.Background(), "R1")
					}
				}
			}
			if want != appends+2 {
				t.Errorf("reader %d saw %d events, want %d", i, want, appends+2)
			}
		})
	}
	for i := range appends {
		appendAll(t, w, report("R1", strconv.Itoa(i)))
	}
	appendAll(t, w, runEnd("R1"))
	wg.Wait()
}
