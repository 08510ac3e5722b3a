package memory_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan/memory"
)

func TestFailuresOfTheFileSayWhatToDo(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		break_ func(t *testing.T, db *memory.DB, dir string) (repair func())
		want   string
	}{
		"full disk": {func(t *testing.T, db *memory.DB, _ string) func() {
			must(t, db.Exec(ctx, "PRAGMA max_page_count = 1")) // that is: no page more
			return func() { must(t, db.Exec(ctx, "PRAGMA max_page_count = 1000000")) }
		}, "free some space"},
		"read-only": {func(t *testing.T, db *memory.DB, _ string) func() {
			must(t, db.Exec(ctx, "PRAGMA query_only = on"))
			return func() { must(t, db.Exec(ctx, "PRAGMA query_only = off")) }
		}, "writable"},
		"locked": {func(t *testing.T, db *memory.DB, dir string) func() {
			must(t, db.Exec(ctx, "PRAGMA busy_timeout = 1"))
			other, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "plan.db")+"?_txlock=immediate")
			must(t, err)
			tx, err := other.Begin()
			must(t, err)
			return func() { must(t, errors.Join(tx.Rollback(), other.Close())) }
		}, "another process keeps it locked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			db := open(t, dir)
			w := own(t, db, "R1")
			appendAll(t, w, runStart("R1"))
			repair := c.break_(t, db, dir)
			_, err := w.Append(ctx, report("R1", noiseText(100_000)))
			repair()
			var e *memory.Error
			if !errors.As(err, &e) || !strings.Contains(e.Hint, c.want) || e.Path != filepath.Join(dir, "plan.db") {
				t.Fatalf("got %v, want a hint with %q", err, c.want)
			}
			if strings.Contains(err.Error(), "xxx") {
				t.Error("the error tells what was in the event")
			}
			if _, again := w.Append(ctx, report("R1", "y")); again != err { //nolint:errorlint // the very same
				t.Errorf("the writer goes on after a failure: %v", again)
			}
			wantSeqs(t, lines(t, db, "R1"), 1)
			must(t, w.Close())
			appendAll(t, own(t, db, "R1"), report("R1", "z"))
			must(t, db.VerifyChain(ctx, "R1"))
		})
	}
}

func TestDamagedFile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	db, err := memory.Open(ctx, config(dir))
	must(t, err)
	w, err := db.Own(ctx, "R1")
	must(t, err)
	appendAll(t, w, runStart("R1"))
	for range 50 {
		appendAll(t, w, report("R1", strings.Repeat("x", 3000)))
	}
	must(t, db.Check(ctx))
	must(t, errors.Join(w.Close(), db.Close()))
	path := filepath.Join(dir, "plan.db")
	data, err := os.ReadFile(path)
	must(t, err)
	for i := 4096; i < len(data); i += 4096 { // the beginning of every page but the first
		copy(data[i:], "broken!!")
	}
	must(t, os.WriteFile(path, data, 0o600))
	db, err = memory.Open(ctx, config(dir))
	if err == nil {
		err = db.Check(ctx)
		var last error
		for _, last = range db.Lines(ctx, "R1", 0) {
		}
		var e *memory.Error
		if !errors.As(last, &e) || !strings.Contains(e.Hint, "backup") {
			t.Errorf("reading says %v, want a hint with a backup", last)
		}
		must(t, db.Close())
	}
	var e *memory.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "backup") {
		t.Errorf("got %v, want a hint with a backup", err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
