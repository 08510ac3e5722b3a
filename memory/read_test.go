package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

func TestEventsOverManyPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	w := own(t, db, "R1")
	events := []plan.Event{runStart("R1")}
	for i := range 2*memory.PageLines + 7 {
		e := report("R1", fmt.Sprint(i))
		e.Conv = fmt.Sprintf("c%d", i%3)
		if i%3 == 2 {
			e.Body = plan.TurnEnd{Reason: plan.EndCompleted}
		}
		events = append(events, e)
	}
	for range 3 { // each more than a page of its own
		events = append(events, report("R1", strings.Repeat("long ", 300_000)))
	}
	all := appendAll(t, w, events...)
	wantSeqs(t, lines(t, db, "R1"), len(all))
	read, err := db.ReadAll(ctx, "R1")
	if err != nil || len(read) != len(all) {
		t.Fatalf("read %d of %d events at once: %v", len(read), len(all), err)
	}
	for i := range all {
		if read[i].Seq != all[i].Seq || read[i].Type() != all[i].Type() || read[i].Conv != all[i].Conv {
			t.Fatalf("event %d is read at once as %+v", i, read[i])
		}
	}
	for name, c := range map[string]struct {
		q    memory.Query
		keep func(plan.Event) bool
	}{
		"all":         {memory.Query{}, func(plan.Event) bool { return true }},
		"after":       {memory.Query{After: 300}, func(e plan.Event) bool { return e.Seq > 300 }},
		"after all":   {memory.Query{After: 9999}, func(plan.Event) bool { return false }},
		"conv":        {memory.Query{Conv: "c1"}, func(e plan.Event) bool { return e.Conv == "c1" }},
		"no conv":     {memory.Query{Conv: "c9"}, func(plan.Event) bool { return false }},
		"type":        {memory.Query{Types: []plan.EventType{plan.TypeTurnEnd}}, func(e plan.Event) bool { return e.Type() == plan.TypeTurnEnd }},
		"two types":   {memory.Query{Types: []plan.EventType{plan.TypeTurnEnd, plan.TypeRunStart}}, func(e plan.Event) bool { return e.Type() != plan.TypeReport }},
		"all of them": {memory.Query{After: 5, Conv: "c2", Types: []plan.EventType{plan.TypeTurnEnd}}, func(e plan.Event) bool { return e.Seq > 5 && e.Conv == "c2" }},
	} {
		var got, want []int64
		for e, err := range db.Events(ctx, "R1", c.q) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Seq)
		}
		for _, e := range all {
			if c.keep(e) {
				want = append(want, e.Seq)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// More readers than connections, each of which asks something else and appends
// while it reads.
func TestReadersHoldNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	db := open(t, t.TempDir())
	w := own(t, db, "R1")
	appendAll(t, w, runStart("R1"), report("R1", "x"))
	var nest func(depth int)
	nest = func(depth int) {
		if depth == 0 {
			if _, err := db.Run(ctx, "R1"); err != nil {
				t.Error(err)
			}
			appendAll(t, w, report("R1", "deep"))
			if busy, err := db.Checkpoint(ctx); err != nil || busy {
				t.Errorf("a reader blocks the checkpoint: %t, %v", busy, err)
			}
			return
		}
		for _, err := range db.Events(ctx, "R1", memory.Query{}) {
			if err != nil {
				t.Error(err)
			}
			nest(depth - 1)
			break
		}
	}
	nest(10)
}

func TestReadingStopsWithItsContext(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	appendAll(t, own(t, db, "R1"), runStart("R1"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var last error
	for _, err := range db.Lines(ctx, "R1", 0) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", last)
	}
}

func TestReadersOfNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	var errs []error
	for _, err := range db.Events(ctx, "R1", memory.Query{}) {
		errs = append(errs, err)
	}
	for _, err := range db.Lines(ctx, "R1", 0) {
		errs = append(errs, err)
	}
	for _, err := range db.Follow(ctx, "R1", 0) {
		errs = append(errs, err)
	}
	_, err := db.Run(ctx, "R1")
	errs = append(errs, err)
	_, err = db.Latest(ctx)
	errs = append(errs, err)
	_, err = db.Resolve(ctx, "R")
	errs = append(errs, err)
	_, err = db.Resolve(ctx, "")
	errs = append(errs, err, db.VerifyChain(ctx, "R1"))
	if len(errs) != 8 {
		t.Errorf("%d errors, want 8", len(errs))
	}
	for i, err := range errs {
		if !errors.Is(err, memory.ErrNoRun) {
			t.Errorf("%d: got %v, want ErrNoRun", i, err)
		}
	}
}

func TestFollowSeesAnotherProcess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	db := open(t, dir)
	p := spawn(t, dir, "20", "R1")
	p.line(t) // the run exists
	var got []memory.Line
	for l, err := range db.Follow(ctx, "R1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	wantSeqs(t, got, 42)
	if diff := differ(lines(t, db, "R1"), got); diff != "" {
		t.Error(diff)
	}
	for l, err := range db.Follow(ctx, "R1", 42) {
		t.Errorf("after the end: %v, %v", l, err)
	}
	for l, err := range db.Follow(ctx, "R1", 40) {
		if err != nil {
			t.Error(err)
		}
		if l.Seq == 41 {
			break // leaving early must be clean
		}
	}
	if ctx.Err() != nil {
		t.Error("following did not end with the run")
	}
}

func TestFollowWaitsAndStopsWithItsContext(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	w := own(t, db, "R1")
	appendAll(t, w, runStart("R1"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var n int
	var wg sync.WaitGroup
	for _, err := range db.Follow(ctx, "R1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			cancel()
			continue
		}
		wg.Go(func() { // only once the line before was seen
			if _, err := w.Append(ctx, report("R1", "more")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n != 3 {
		t.Errorf("saw %d events, want 3", n)
	}
}

func TestVerifyChainNamesTheFirstBrokenEvent(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		harm string
		seq  int64
	}{
		"changed":       {`UPDATE events SET line = replace(line, 'two', 'TWO') WHERE seq = 3`, 3},
		"removed":       {`DELETE FROM events WHERE seq = 3`, 3},
		"first removed": {`DELETE FROM events WHERE seq = 1`, 1},
		"last removed":  {`DELETE FROM events WHERE seq = 4`, 4},
		"last forged":   {`UPDATE runs SET chain = x'00'`, 4},
		"swapped":       {`UPDATE events SET line = (SELECT line FROM events WHERE seq = 2) WHERE seq = 3`, 3},
		"hash changed":  {`UPDATE events SET sha = x'00' WHERE seq = 2`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, t.TempDir())
			w := own(t, db, "R1")
			appendAll(t, w, runStart("R1"), report("R1", "one"), report("R1", "two"), report("R1", "three"))
			if err := db.VerifyChain(ctx, "R1"); err != nil {
				t.Fatal(err)
			}
			if err := db.Exec(ctx, c.harm); err != nil {
				t.Fatal(err)
			}
			var broken *memory.ChainError
			if err := db.VerifyChain(ctx, "R1"); !errors.As(err, &broken) || broken.Seq != c.seq || broken.Run != "R1" {
				t.Errorf("got %v, want event %d", err, c.seq)
			}
			if _, err := db.ReadAll(ctx, "R1"); !errors.As(err, &broken) || broken.Seq != c.seq || broken.Run != "R1" {
				t.Errorf("read at once: got %v, want event %d", err, c.seq)
			}
		})
	}
}

// TestReadingAtOnceProvesAllOfIt harms a journal of several pages around where
// one begins: what is said of it is what reading it event by event says.
func TestReadingAtOnceProvesAllOfIt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, harm := range []string{
		`UPDATE events SET line = replace(line, 'two', 'TWO') WHERE seq IN (256, 600)`, `UPDATE events SET line = replace(line, 'two', 'TWO') WHERE seq = 257`,
		`UPDATE events SET sha = x'00' WHERE seq = 256`, `UPDATE events SET sha = x'00' WHERE seq = 257`, `UPDATE events SET sha = x'00' WHERE seq IN (300, 700)`,
		`DELETE FROM events WHERE seq = 256`, `DELETE FROM events WHERE seq = 257`, `DELETE FROM events WHERE seq > 256`, `DELETE FROM events WHERE seq > 512`, `DELETE FROM events`,
		`UPDATE events SET line = (SELECT line FROM events WHERE seq = 258) WHERE seq = 257`, `UPDATE runs SET chain = x'00'`,
	} {
		db := open(t, t.TempDir())
		events := []plan.Event{runStart("R1")}
		for range 767 {
			events = append(events, report("R1", "two"))
		}
		appendAll(t, own(t, db, "R1"), events...)
		if all, err := db.ReadAll(ctx, "R1"); err != nil || len(all) != len(events) {
			t.Fatalf("%d events, %v", len(all), err)
		}
		if err := db.Exec(ctx, harm); err != nil {
			t.Fatal(err)
		}
		want := db.VerifyChain(ctx, "R1")
		if all, err := db.ReadAll(ctx, "R1"); all != nil || err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%s: %d events, %v; event by event: %v", harm, len(all), err, want)
		}
	}
	if _, err := open(t, t.TempDir()).ReadAll(ctx, "R1"); !errors.Is(err, memory.ErrNoRun) {
		t.Errorf("of no run: %v", err)
	}
}
