package memory_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// A backup that is made while runs are written is one moment of the database:
// it opens as one, every journal in it is whole, and can be gone on with.
func TestBackupWhileRunsGoOn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 4 {
		run := plan.RunID("R" + strconv.Itoa(i))
		w := own(t, db, run)
		blob := report(run, "see the blob")
		blob.Blobs = []plan.Blob{plan.NewBlob([]byte("content " + string(run)))}
		appendAll(t, w, runStart(run), blob)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := w.Append(ctx, report(run, "a"), report(run, "b")); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	home := t.TempDir()
	for i := range 5 {
		c, err := db.Backup(ctx, filepath.Join(home, "plan.db"), memory.BackupOptions{Replace: i > 0})
		must(t, err)
		if c.Runs != 4 || c.Events < 8 || c.Bytes == 0 {
			t.Errorf("backup %d: %+v", i, c)
		}
	}
	close(stop)
	wg.Wait()
	info, err := os.Stat(filepath.Join(home, "plan.db"))
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("it has mode %o", info.Mode().Perm())
	}
	copied := open(t, home)
	for i := range 4 {
		run := plan.RunID("R" + strconv.Itoa(i))
		must(t, copied.VerifyChain(ctx, run))
		if n := len(lines(t, copied, run)); n%2 != 0 {
			t.Errorf("run %d has %d events: an append is there in half", i, n)
		}
		appendAll(t, own(t, copied, run), report(run, "on"))
	}
	entries, err := os.ReadDir(home)
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".plan-backup") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	db := open(t, dir)
	appendAll(t, own(t, db, "R1"), runStart("R1"))
	there := filepath.Join(t.TempDir(), "there")
	must(t, os.WriteFile(there, []byte("mine"), 0o600))
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(filepath.Join(dir, "plan.db-wal"), link))
	for name, c := range map[string]struct {
		path    string
		replace bool
		want    string
	}{
		"a file that is there": {there, false, "allow it to be replaced"},
		"the database":         {filepath.Join(dir, "plan.db"), true, "database itself"},
		"a way to its log":     {link, true, "database itself"},
		"a directory":          {dir, true, "not a file"},
		"nowhere":              {filepath.Join(dir, "no", "such", "b"), false, "no such file"},
	} {
		_, err := db.Backup(ctx, c.path, memory.BackupOptions{Replace: c.replace})
		var e *memory.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) || e.Hint == "" {
			t.Errorf("%s: got %v, want %q and a hint", name, err, c.want)
		}
	}
	if _, err := db.Backup(ctx, there, memory.BackupOptions{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want fs.ErrExist", err)
	}
	if data, _ := os.ReadFile(there); string(data) != "mine" {
		t.Error("the file was changed")
	}
	must(t, db.Exec(ctx, "UPDATE events SET line = line || ' '"))
	fresh := filepath.Join(t.TempDir(), "fresh")
	var broken *memory.ChainError
	if _, err := db.Backup(ctx, fresh, memory.BackupOptions{}); !errors.As(err, &broken) {
		t.Errorf("a backup of a damaged database: %v", err)
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("it was kept")
	}
}

func TestAuditFindsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	for i := range 5 {
		run := plan.RunID("R" + strconv.Itoa(i))
		e := report(run, "see the blob")
		e.Blobs = []plan.Blob{plan.NewBlob([]byte("content " + string(run)))}
		appendAll(t, own(t, db, run), runStart(run), e, report(run, "x"))
	}
	var heard []int
	a, err := db.Audit(ctx, func(done, runs int) { heard = append(heard, done*10+runs) })
	must(t, err)
	if len(a.Faults) > 0 || a.Runs != 5 || a.Events != 15 || a.Blobs != 5 {
		t.Fatalf("a sound database: %+v", a)
	}
	if len(heard) != 5 || heard[4] != 55 {
		t.Errorf("progress: %v", heard)
	}
	for _, harm := range []string{
		"UPDATE events SET line = replace(line, 'x', 'y') WHERE seq = 3 AND run IN (SELECT key FROM runs WHERE id = 'R1')",
		"DELETE FROM events WHERE seq = 2 AND run IN (SELECT key FROM runs WHERE id = 'R3')",
		"UPDATE blobs SET data = x'00' WHERE hash = (SELECT min(hash) FROM blobs)",
		"UPDATE runs SET request = 'another' WHERE id = 'R4'",
		"PRAGMA foreign_keys = off", "DELETE FROM blobs WHERE hash = (SELECT max(hash) FROM blobs)",
	} {
		must(t, db.Exec(ctx, harm))
	}
	a, err = db.Audit(ctx, nil)
	must(t, err)
	all := errors.Join(a.Faults...).Error()
	for _, want := range []string{"run R1 is broken at event 3", "run R3 is broken at event 2", "bytes of blob", "does not say of run R4", "refers to nothing"} {
		if !strings.Contains(all, want) {
			t.Errorf("no word of %q in:\n%s", want, all)
		}
	}
	if len(a.Faults) != 5 {
		t.Errorf("%d faults, want 5:\n%s", len(a.Faults), all)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := db.Audit(ended, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
