package memory_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/memory"
)

// TestLockedByAnotherProcess: the other process holds the database in the
// middle of a transaction, and is then killed.
func TestLockedByAnotherProcess(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	db := open(t, dir)
	w := own(t, db, "R1")
	appendAll(t, w, runStart("R1"))
	must(t, db.Exec(ctx, "PRAGMA busy_timeout = 20"))
	p := spawn(t, dir, "lock", "R2")
	p.line(t)
	_, err := w.Append(ctx, report("R1", "x"))
	var e *memory.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "another process keeps it locked") {
		t.Fatalf("got %v", err)
	}
	p.kill(t)
	must(t, w.Close())
	appendAll(t, own(t, db, "R1"), report("R1", "x"))
	wantSeqs(t, lines(t, db, "R1"), 2)
}

// TestFlippedByte: one bit of a stored event changes while no process has the file open.
// Nothing that reads the run takes it for what was committed.
func TestFlippedByte(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	must(t, appendNeedles(dir))
	path := filepath.Join(dir, "plan.db")
	data, err := os.ReadFile(path)
	must(t, err)
	at := strings.Index(string(data), "needle 7")
	if at < 0 {
		t.Fatal("the event is not in the file")
	}
	data[at] ^= 1
	must(t, os.WriteFile(path, data, 0o600))
	db := open(t, dir)
	must(t, db.Check(ctx)) // SQLite has nothing to find
	var broken *memory.ChainError
	if err := db.VerifyChain(ctx, "R1"); !errors.As(err, &broken) || broken.Seq != 9 {
		t.Errorf("got %v, want a break at event 9", err)
	}
	n := 0
	for _, err = range db.Events(ctx, "R1", memory.Query{}) {
		if err == nil {
			n++
		}
	}
	if !errors.As(err, &broken) || n != 8 {
		t.Errorf("reading gave %d events and then %v", n, err)
	}
	for _, err = range db.Lines(ctx, "R1", 5) {
	}
	if !errors.As(err, &broken) || broken.Seq != 9 {
		t.Errorf("reading a part gave %v", err)
	}
	for _, err := range db.Lines(ctx, "R1", 9) { // behind it the journal is whole
		must(t, err)
	}
}

func appendNeedles(dir string) error {
	ctx := context.Background()
	db, err := memory.Open(ctx, config(dir))
	if err != nil {
		return err
	}
	defer db.Close() // which empties the log into the file
	w, err := db.Own(ctx, "R1")
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.Append(ctx, runStart("R1")); err != nil {
		return err
	}
	for i := range 20 {
		if _, err := w.Append(ctx, report("R1", fmt.Sprint("needle ", i))); err != nil {
			return err
		}
	}
	return nil
}

// TestTruncatedLog: a process dies and its log loses its end. What is left is a
// journal all the same, and the run goes on from there.
func TestTruncatedLog(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dead := t.TempDir()
	p := spawn(t, dead, "forever", "R1")
	for range 30 {
		p.line(t)
	}
	p.kill(t)
	files := contents(t, dead)
	if len(files["plan.db-wal"]) < 100_000 {
		t.Fatalf("the log has only %d bytes", len(files["plan.db-wal"]))
	}
	before := 1 << 30
	for cut := len(files["plan.db-wal"]); cut > 0; cut = cut*7/10 - 7 {
		dir := t.TempDir()
		restore(t, dir, map[string]string{"plan.db": files["plan.db"], "plan.db-wal": files["plan.db-wal"][:cut]})
		db, err := memory.Open(ctx, config(dir))
		must(t, err)
		must(t, db.Check(ctx))
		w, err := db.Own(ctx, "R1")
		must(t, err)
		n := 0
		if _, err := db.Run(ctx, "R1"); err == nil {
			must(t, db.VerifyChain(ctx, "R1"))
			n = len(lines(t, db, "R1"))
		}
		if n > before {
			t.Errorf("%d events with %d bytes of log, %d with more of it", n, cut, before)
		}
		next := report("R1", "on")
		if before = n; n == 0 {
			next = runStart("R1")
		}
		if out := appendAll(t, w, next); out[0].Seq != int64(n+1) {
			t.Errorf("went on at %d after %d", out[0].Seq, n)
		}
		must(t, errors.Join(w.Close(), db.Close()))
	}
}

// TestRollbackJournal: what must hold on a network file system, where there is
// no write-ahead log.
func TestRollbackJournal(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	cfg := config(dir)
	cfg.Rollback = true
	db, err := memory.Open(ctx, cfg)
	must(t, err)
	defer db.Close()
	other, err := memory.Open(ctx, cfg)
	must(t, err)
	defer other.Close()
	w := own(t, db, "R1")
	appendAll(t, w, runStart("R1"))
	done := make(chan int)
	go func() {
		n := 0
		for range other.Follow(ctx, "R1", 0) {
			n++
		}
		done <- n
	}()
	for range 30 {
		appendAll(t, w, report("R1", "x"))
	}
	appendAll(t, w, runEnd("R1"))
	if n := <-done; n != 32 {
		t.Errorf("the other saw %d events, want 32", n)
	}
	if _, err := os.Stat(filepath.Join(dir, "plan.db-wal")); err == nil {
		t.Error("there is a write-ahead log")
	}
	must(t, db.VerifyChain(ctx, "R1"))
}

// lockHelper holds the database in a transaction until stdin closes.
func lockHelper(ctx context.Context, db *memory.DB) error {
	for _, query := range []string{"BEGIN IMMEDIATE", "UPDATE runs SET request = 'x'"} {
		if err := db.Exec(ctx, query); err != nil {
			return err
		}
	}
	fmt.Println("locked")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}
