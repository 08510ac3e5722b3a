package memory_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// pileUp makes the appends of n runs wait for each other while the first is
// held at the door, and returns what became of each. mangle may spoil a writer
// before its append.
func pileUp(t *testing.T, db *memory.DB, n int, mangle func(i int, w *memory.Writer) plan.Event) (errs []error, commits int) {
	t.Helper()
	writers := make([]*memory.Writer, n)
	events := make([]plan.Event, n)
	for i := range writers {
		run := plan.RunID("R" + strconv.Itoa(i))
		writers[i] = own(t, db, run)
		appendAll(t, writers[i], runStart(run))
		events[i] = mangle(i, writers[i])
	}
	arrived, open := make(chan struct{}), make(chan struct{})
	db.OnBegin(func() {
		if commits++; commits == 1 {
			close(arrived)
			<-open
		}
	})
	errs = make([]error, n)
	var wg sync.WaitGroup
	for i, w := range writers {
		wg.Go(func() { _, errs[i] = w.Append(context.Background(), events[i]) })
		if i == 0 {
			<-arrived
		}
	}
	await(t, "the appends to pile up", func() bool { return db.Waiting() == n-1 })
	close(open)
	wg.Wait()
	return errs, commits
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline, tick := time.After(20*time.Second), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

func TestWaitingAppendsAreCommittedTogether(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	const runs = 20
	errs, commits := pileUp(t, db, runs, func(i int, _ *memory.Writer) plan.Event {
		return report(plan.RunID("R"+strconv.Itoa(i)), "x")
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if commits != 2 {
		t.Errorf("%d commits, want one for the first and one for all that waited", commits)
	}
	for i := range runs {
		run := plan.RunID("R" + strconv.Itoa(i))
		wantSeqs(t, lines(t, db, run), 2)
		must(t, db.VerifyChain(context.Background(), run))
	}
}

// What is wrong with one run of a group is that run's failure alone.
func TestOneOfAGroupFails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	db, other := open(t, dir), open(t, dir)
	must(t, db.Exec(ctx, "CREATE TRIGGER spoil BEFORE INSERT ON events WHEN NEW.line LIKE '%spoiled%' BEGIN SELECT RAISE(ABORT, 'no'); END"))
	const runs, fenced, spoiled = 9, 4, 6
	errs, _ := pileUp(t, db, runs, func(i int, _ *memory.Writer) plan.Event {
		run := plan.RunID("R" + strconv.Itoa(i))
		switch i {
		case fenced:
			must(t, os.Remove(filepath.Join(dir, "locks", string(run)+".lock")))
			own(t, other, run)
		case spoiled:
			return report(run, "spoiled")
		}
		return report(run, "x")
	})
	for i, err := range errs {
		want := 2
		switch i {
		case fenced:
			if !errors.Is(err, memory.ErrFenced) {
				t.Errorf("the fenced one: %v", err)
			}
			want = 1
		case spoiled:
			var e *memory.Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), "run R6") {
				t.Errorf("the spoiled one: %v", err)
			}
			want = 1
		default:
			if err != nil {
				t.Errorf("run %d: %v", i, err)
			}
		}
		wantSeqs(t, lines(t, db, plan.RunID("R"+strconv.Itoa(i))), want)
	}
}

// SQLite goes on writing to a file that has no name any more.
func TestFilesTakenAway(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(t *testing.T, path string){
		"deleted": func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"replaced": func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".old"))
			data, err := os.ReadFile(path + ".old")
			must(t, err)
			must(t, os.WriteFile(path, data, 0o600))
		},
		"log deleted": func(t *testing.T, path string) { must(t, os.Remove(path+"-wal")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			db := open(t, dir)
			w := own(t, db, "R1")
			appendAll(t, w, runStart("R1"))
			take(t, filepath.Join(dir, "plan.db"))
			_, err := w.Append(context.Background(), report("R1", "x"))
			var e *memory.Error
			if !errors.Is(err, memory.ErrReplaced) || !errors.As(err, &e) || !strings.Contains(e.Hint, "put it back") {
				t.Fatalf("got %v, want ErrReplaced with a hint", err)
			}
		})
	}
}
