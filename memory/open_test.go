package memory_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"
	"github.com/plan-engine/plan/memory"
)

func TestOpenMakesPrivateFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new home", "100%?#")
	db := open(t, dir)
	appendAll(t, own(t, db, "R1"), runStart("R1"))
	want := map[string]fs.FileMode{
		".": 0o700, "locks": 0o700, "plan.db": 0o600, "plan.db-wal": 0o600, "plan.db-shm": 0o600, "locks/R1.lock": 0o600,
	}
	for name, mode := range want {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm() != mode {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), mode)
		}
	}
}

func TestOpenFromManyAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			db, err := memory.Open(context.Background(), config(dir))
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(db.Check(context.Background()), db.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// A process that changes the database makes those wait that would change it
// too, however long it takes, and no one else.
func TestOpenWaitsForAMigration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	migrating := flock.New(filepath.Join(dir, "locks", "migrate.lock"))
	if err := migrating.Lock(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if db, err := memory.Open(ctx, config(dir)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, %v, want DeadlineExceeded", db, err)
	}
	if got := contents(t, dir); got["plan.db"] != "" {
		t.Error("the database was created meanwhile")
	}
	if err := migrating.Unlock(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if err := migrating.Lock(); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	if err := migrating.Unlock(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenAgainFindsWhatWasWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := memory.Open(context.Background(), config(dir))
	if err != nil {
		t.Fatal(err)
	}
	w, err := db.Own(context.Background(), "R1")
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, w, runStart("R1"))
	if err := errors.Join(db.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	wantSeqs(t, lines(t, open(t, dir), "R1"), 1)
}

// contents reads the database and its log.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"plan.db", "plan.db-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		out[name] = string(data)
	}
	return out
}

func TestOpenLeavesANewerDatabaseAlone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, age := range map[string]func(t *testing.T, dir string){
		"in the header": func(t *testing.T, dir string) {
			open(t, dir)
			raise(t, dir, true)
		},
		"in the header, with a log": func(t *testing.T, dir string) {
			other := t.TempDir()
			open(t, other)
			raise(t, other, true)
			touch(t, other)
			restore(t, dir, contents(t, other))
		},
		"in the log of a living process": func(t *testing.T, dir string) {
			open(t, dir)
			raise(t, dir, false)
		},
		"in the log of a dead process": func(t *testing.T, dir string) {
			other := t.TempDir()
			open(t, other)
			raise(t, other, false)
			restore(t, dir, contents(t, other))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			age(t, dir)
			before := contents(t, dir)
			db, err := memory.Open(ctx, config(dir))
			if !errors.Is(err, memory.ErrNewer) {
				t.Fatalf("got %v, %v, want ErrNewer", db, err)
			}
			for _, word := range []string{"version 99", "this plan knows version", "install a newer plan"} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
			if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
				t.Error("the file was changed")
			}
			if _, err := os.Stat(filepath.Join(dir, "plan.db-shm")); err == nil && name == "in the header, with a log" {
				t.Error("the header says enough, and yet the database was opened")
			}
		})
	}
}

// restore writes what contents has read: a database whose last process died.
func restore(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// touch leaves something in the log.
func touch(t *testing.T, dir string) {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(dir, "plan.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec("PRAGMA application_id = 7")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if contents(t, dir)["plan.db-wal"] == "" {
		t.Fatal("the log is empty")
	}
}

// raise makes a database newer, in its main file or only in its log.
func raise(t *testing.T, dir string, checkpoint bool) {
	t.Helper()
	path := filepath.Join(dir, "plan.db")
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	script := "PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = 99;"
	if checkpoint {
		script += "PRAGMA wal_checkpoint(TRUNCATE);"
	}
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if inHeader := binary.BigEndian.Uint32(data[60:]) == 99; inHeader != checkpoint {
		t.Fatalf("the header has the new version: %t, want %t", inHeader, checkpoint)
	}
}

// spoilSchema makes a database, and spoils the page that says what is in it.
func spoilSchema(t *testing.T, dir string) {
	locks := filepath.Join(t.TempDir(), "locks")
	db, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(dir, "plan.db"), Locks: locks})
	must(t, err)
	must(t, db.Close())
	file, err := os.OpenFile(filepath.Join(dir, "plan.db"), os.O_WRONLY, 0)
	must(t, err)
	_, err = file.WriteAt([]byte(strings.Repeat("\xff", 900)), 100)
	must(t, errors.Join(err, file.Close()))
}

func TestOpenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		make func(*testing.T, string)
		path string
		want string
	}{
		"home is a file":      {write("home", ""), "home/plan.db", "PLAN_HOME"},
		"path is a directory": {func(*testing.T, string) {}, ".", "plan doctor"},
		"not a database":      {write("plan.db", "hello"), "plan.db", "move it away"},
		"a long text":         {write("plan.db", strings.Repeat("hello ", 5000)), "plan.db", "move it away"},
		"damaged header":      {write("plan.db", "SQLite format 3\x00"+strings.Repeat("\xff\x00", 5000)), "plan.db", "newer plan"},
		"a damaged schema":    {spoilSchema, "plan.db", "--skip-damaged"},
		"damaged pages":       {write("plan.db", "SQLite format 3\x00"+strings.Repeat("\x00", 5000)), "plan.db", "not a plan database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.make(t, dir)
			cfg := memory.Config{Path: filepath.Join(dir, c.path), Locks: filepath.Join(t.TempDir(), "locks")}
			before := contents(t, dir)
			_, err := memory.Open(context.Background(), cfg)
			var e *memory.Error
			if !errors.As(err, &e) || !strings.Contains(e.Hint, c.want) {
				t.Fatalf("got %v, want a hint with %q", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
				t.Errorf("the file was changed:\n%s", diff)
			}
		})
	}
	if _, err := memory.Open(context.Background(), memory.Config{}); err == nil {
		t.Error("an empty path was opened")
	}
}

// A damaged file may be refused or opened, and what is in it read or refused;
// nothing may crash or hang.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	db, err := memory.Open(context.Background(), config(dir))
	if err != nil {
		f.Fatal(err)
	}
	w, err := db.Own(context.Background(), "R1")
	if err != nil {
		f.Fatal(err)
	}
	appendAll(f, w, runStart("R1"), report("R1", "x"))
	if err := errors.Join(w.Close(), db.Close()); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "plan.db"))
	if err != nil {
		f.Fatal(err)
	}
	for _, at := range []int{0, 16, 18, 60, 100, 4096, 8192, len(whole) - 10} {
		f.Add(at, []byte{0xff, 0, 0x80})
	}
	f.Fuzz(func(t *testing.T, at int, patch []byte) {
		if at < 0 || at >= len(whole) {
			return
		}
		data := append([]byte(nil), whole...)
		copy(data[at:], patch)
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "plan.db"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		db, err := memory.Open(ctx, config(dir))
		if err != nil {
			return
		}
		defer db.Close()
		_ = db.Check(ctx)
		if db.VerifyChain(ctx, "R1") == nil {
			for l, err := range db.Lines(ctx, "R1", 0) {
				if err != nil || len(l.JSON) == 0 {
					t.Errorf("a verified journal cannot be read: %v", err)
				}
			}
		}
	})
}
