package memory_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// bulky stores a run that has ended, with many events, and with large blobs that are its
// own, all but the first.
func bulky(t *testing.T, db *memory.DB, run plan.RunID, events, blobs int) {
	t.Helper()
	w := own(t, db, run)
	all := []plan.Event{runStart(run)}
	for i := range events {
		all = append(all, report(run, "event "+strconv.Itoa(i)))
	}
	for i := range blobs {
		name := string(run) + strconv.Itoa(i)
		if i == 0 {
			name = "of all"
		}
		e := report(run, name)
		data := make([]byte, 1_000_000) // that no compression makes smaller
		_, _ = rand.NewChaCha8(sha256.Sum256([]byte(name))).Read(data)
		e.Blobs = []plan.Blob{plan.NewBlob(data)}
		all = append(all, e)
	}
	appendAll(t, w, append(all, runEnd(run))...)
	must(t, w.Close())
}

// meanwhile does something while another process commits as often as it can, and
// returns how often that was.
func meanwhile(t *testing.T, dir string, do func() error) (commits int64) {
	t.Helper()
	other := own(t, open(t, dir), "OTHER")
	appendAll(t, other, runStart("OTHER"))
	var stop atomic.Bool
	var slowest time.Duration
	done := make(chan error)
	begun := make(chan struct{})
	go func() {
		var err error
		for err == nil && !stop.Load() {
			began := time.Now()
			_, err = other.Append(context.Background(), report("OTHER", "x"))
			if slowest = max(slowest, time.Since(began)); commits == 0 {
				close(begun)
			}
			commits++
		}
		done <- err
	}()
	<-begun
	err := do()
	stop.Store(true)
	must(t, errors.Join(err, <-done))
	t.Logf("%d commits meanwhile, the slowest took %s", commits, slowest)
	return commits
}

// What is removed is removed in steps: another process commits in between.
func TestRemoveInSteps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := open(t, dir)
	bulky(t, db, "R1", 12_000, 20)
	const steps = 12_000/500 + 20/4
	if n := meanwhile(t, dir, func() error { return db.Remove(context.Background(), "R1") }); n < steps/2 {
		t.Errorf("%d commits while a run was removed, want about %d", n, steps)
	}
}

// A removal that was interrupted leaves a run that is gone for all who read, and
// another gc finishes it.
func TestInterruptedRemoval(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	db := open(t, dir)
	story(t, db, "R0", false)
	before, err := db.Runs(ctx, memory.Filter{})
	must(t, err)
	bulky(t, db, "R1", 1200, 3)
	bulky(t, db, "R2", 0, 1) // has the first blob too
	left, err := db.Runs(ctx, memory.Filter{})
	must(t, err)
	for _, at := range []string{
		"events WHEN OLD.seq = 600", "blob_refs", "runs", // the tables that are emptied in turn
	} {
		must(t, db.Exec(ctx, "CREATE TRIGGER interrupt BEFORE DELETE ON "+at+" BEGIN SELECT RAISE(ABORT, 'interrupted'); END"))
		err := db.Remove(ctx, "R1")
		if at != "events WHEN OLD.seq = 600" {
			err = db.FinishRemovals(ctx, nil, nil)
		}
		if err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Fatalf("at %s: %v", at, err)
		}
		must(t, db.Exec(ctx, "DROP TRIGGER interrupt"))
		runs, err := db.Runs(ctx, memory.Filter{})
		must(t, err)
		if diff := cmp.Diff(left[:1], runs[:1]); diff != "" || len(runs) != len(before)+1 {
			t.Errorf("at %s, %d runs (-want +got):\n%s", at, len(runs), diff)
		}
		for _, name := range []string{"R1", "removed"} {
			if _, err := db.Resolve(ctx, name); !errors.Is(err, memory.ErrNoRun) {
				t.Errorf("at %s, %s: %v", at, name, err)
			}
		}
		if id, err := db.Latest(ctx); err != nil || id != "R0" {
			t.Errorf("at %s, the newest is %s, %v", at, id, err)
		}
		sizes, err := db.Sizes(ctx)
		must(t, err)
		audit, err := db.Audit(ctx, nil)
		must(t, err)
		if len(sizes) != 2 || audit.Runs != 2 || len(audit.Faults) > 0 {
			t.Errorf("at %s: %v, %+v", at, sizes, audit)
		}
	}
	must(t, db.FinishRemovals(ctx, nil, nil))
	for query, want := range map[string]int64{
		"SELECT count(*) FROM runs":                                                 2,
		"SELECT count(DISTINCT run) FROM events":                                    2,
		"SELECT count(*) FROM blobs WHERE size > 900000":                            1,
		"SELECT count(*) FROM blobs WHERE hash NOT IN (SELECT hash FROM blob_refs)": 0,
	} {
		if n, err := db.Count(ctx, query); err != nil || n != want {
			t.Errorf("%s: %d, %v, want %d", query, n, err, want)
		}
	}
	must(t, db.VerifyChain(ctx, "R2"))
}

// The first time the file is written anew, while no run is live; from then on it is
// made smaller in steps, beside runs that are live.
func TestShrinkInSteps(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	db := open(t, dir)
	fill := func() (before int64) {
		bulky(t, db, "R1", 100, 24)
		must(t, db.Remove(ctx, "R1"))
		_, err := db.Checkpoint(ctx)
		must(t, err)
		return sizeOf(t, dir)
	}
	before := fill()
	story(t, db, "PARKED", false)
	live := own(t, open(t, dir), "PARKED")
	if err := db.Shrink(ctx, nil); !errors.Is(err, memory.ErrLive) || sizeOf(t, dir) != before {
		t.Errorf("a run is live: %v, %d of %d bytes", err, sizeOf(t, dir), before)
	}
	must(t, live.Close())
	must(t, db.Shrink(ctx, nil))
	if after := sizeOf(t, dir); after > before/10 {
		t.Errorf("%d of %d bytes", after, before)
	}
	before = fill()
	const steps = 24_000_000 / 4096 / 256
	n := meanwhile(t, dir, func() error { return db.Shrink(ctx, nil) })
	if after := sizeOf(t, dir); after > before/10 || n < steps/2 {
		t.Errorf("%d of %d bytes, and %d commits meanwhile, want about %d", after, before, n, steps)
	}
	audit, err := db.Audit(ctx, nil)
	must(t, err)
	if len(audit.Faults) > 0 {
		t.Error(audit.Faults)
	}
}

// The file is not written anew while another process wants to write. What writes it anew
// is held back until it has given way.
func TestShrinkGivesWay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	db, other := open(t, dir), own(t, open(t, dir), "R2")
	bulky(t, db, "R1", 0, 2)
	giveBack, err := db.HoldWriter(ctx)
	must(t, err)
	shrunk, written := make(chan error, 1), make(chan error, 1)
	go func() { shrunk <- db.Shrink(ctx, nil) }()
	await(t, "the one that shrinks to come in", func() bool {
		inside := flock.New(filepath.Join(dir, "locks", "writing.inside"))
		defer inside.Close()
		free, err := inside.TryLock()
		must(t, err)
		return !free
	})
	go func() {
		_, err := other.Append(ctx, runStart("R2"))
		written <- err
	}()
	select {
	case err := <-shrunk:
		if !errors.Is(err, memory.ErrWanted) {
			t.Errorf("got %v, want ErrWanted", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the one that shrinks does not give way")
	}
	must(t, giveBack())
	must(t, <-written)
	mode, err := db.Count(ctx, "PRAGMA auto_vacuum")
	if err != nil || mode != 0 {
		t.Errorf("auto_vacuum is %d, %v: the file was written anew", mode, err)
	}
}

// TestAway: a process that commits, or waits to, is not away. It is told that it waits,
// after two seconds, and for which process.
func TestAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, dir)
	notes := make(chan string, 9)
	cfg := config(dir)
	cfg.Note = func(text string) { notes <- text }
	second, err := memory.Open(context.Background(), cfg)
	must(t, err)
	defer second.Close()
	one, two := own(t, first, "R1"), own(t, second, "R2")
	arrived, leave := make(chan struct{}), make(chan struct{})
	first.OnWrite(func() {
		close(arrived)
		<-leave
	})
	var wg sync.WaitGroup
	commit := func(w *memory.Writer, e plan.Event) {
		wg.Go(func() {
			_, err := w.Append(context.Background(), e)
			if err != nil {
				t.Error(err)
			}
		})
	}
	commit(one, runStart("R1"))
	<-arrived
	commit(two, runStart("R2"))
	want := fmt.Sprintf("waiting for process %d, which is writing to %s", os.Getpid(), filepath.Join(dir, "plan.db"))
	if said := <-notes; said != want {
		t.Errorf("%q, want %q", said, want)
	}
	var away atomic.Int32
	for _, db := range []*memory.DB{first, second} {
		wg.Go(func() { db.Away(func() { away.Add(1) }) })
	}
	if n := away.Load(); n != 0 {
		t.Errorf("%d are away, and one commits and one waits", n)
	}
	close(leave)
	wg.Wait()
	if n := away.Load(); n != 2 || len(notes) != 0 {
		t.Errorf("%d are away, want both; %d more notes", n, len(notes))
	}
}

func sizeOf(t *testing.T, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, "plan.db"))
	must(t, err)
	return info.Size()
}

// Many small runs go together: what is written for one is not written for each.
func TestHide(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	db := open(t, dir)
	var runs []plan.RunID
	for i := range 30 {
		runs = append(runs, plan.RunID(fmt.Sprintf("R%d", i)))
		bulky(t, db, runs[i], 5, 0)
	}
	story(t, db, "PARKED", false)
	bulky(t, db, "HELD", 5, 0)
	live := own(t, open(t, dir), "HELD")
	pages := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "plan.db-wal"))
		must(t, err)
		return (info.Size() - 32) / (4096 + 24)
	}
	_, err := db.Checkpoint(ctx)
	must(t, err)
	hidden, err := db.Hide(ctx, append(runs, "PARKED", "HELD", "NONE")...)
	var held *memory.HeldError
	if !errors.Is(err, memory.ErrUnfinished) || !errors.Is(err, memory.ErrNoRun) || !errors.As(err, &held) {
		t.Errorf("got %v, want an error for each of the three that cannot go", err)
	}
	if diff := cmp.Diff(runs, hidden); diff != "" {
		t.Errorf("hidden (-want +got):\n%s", diff)
	}
	waiting, err := db.Hidden(ctx)
	if err != nil || len(waiting) != 30 || waiting[3].ID != "R3" {
		t.Errorf("%+v, %v", waiting, err)
	}
	must(t, db.FinishRemovals(ctx, runs, nil))
	if n, err := db.Count(ctx, "SELECT count(*) FROM runs WHERE id GLOB 'removed/*'"); n != 30 {
		t.Errorf("%d wait for something else to go first, want 30 (%v)", n, err)
	}
	var said []string
	must(t, db.FinishRemovals(ctx, nil, func(done, runs int) { said = append(said, fmt.Sprint(done, " of ", runs)) }))
	if diff := cmp.Diff([]string{"30 of 30"}, said); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if n := pages(); n > 80 {
		t.Errorf("%d pages were written for 30 runs", n)
	}
	must(t, live.Close())
	left, err := db.Runs(ctx, memory.Filter{})
	must(t, err)
	locks, err := filepath.Glob(filepath.Join(dir, "locks", "R*.lock"))
	must(t, err)
	if audit, err := db.Audit(ctx, nil); err != nil || len(left) != 2 || audit.Runs != 2 || len(audit.Faults) > 0 || len(locks) > 0 {
		t.Errorf("%v, %+v, %v, %v", left, audit, locks, err)
	}
}
