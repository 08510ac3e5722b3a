package memory_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/memory"
)

// rescued rescues a database and opens what is saved.
func rescued(t *testing.T, from string) (*memory.DB, memory.BackupFile) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.db")
	c, err := memory.Rescue(context.Background(), config(from), file, memory.BackupOptions{SkipDamaged: true})
	must(t, err)
	return open(t, filepath.Dir(file)), c
}

// Wherever a database is damaged that says what is in it, all that stands elsewhere is saved.
func TestRescue(t *testing.T) {
	t.Parallel()
	ctx, home := context.Background(), t.TempDir()
	want := manyRuns(t, home, 4)
	db, err := memory.Open(ctx, config(home))
	must(t, err)
	besides(t, db)
	want["L1"] = lines(t, db, "L1")
	_, err = db.Checkpoint(ctx)
	must(t, err)
	must(t, db.Close())
	file, err := os.ReadFile(filepath.Join(home, "plan.db"))
	must(t, err)
	replace := func(from, to string) func([]byte) []byte {
		return func(file []byte) []byte {
			if !bytes.Contains(file, []byte(from)) {
				t.Errorf("%q is not in the file", from)
			}
			return bytes.ReplaceAll(file, []byte(from), []byte(to)) // also what earlier words have left
		}
	}
	for name, harm := range map[string]func([]byte) []byte{
		"the first page": func(file []byte) []byte { copy(file, bytes.Repeat([]byte{0xff}, 4096)); return file },
		"its mark":       replace("SQLite format 3", "SQLite formaT 3"),
		"its tree":       func(file []byte) []byte { file[100] = 0x0d; return file },
		"a table":        replace("CREATE TABLE events", "CREATE TABLE evants"),
		"a column":       replace("  sha  BLOB", "  shb  BLOB"),
		"a word":         replace("CREATE TABLE facts (", "CREATE TABEL facts ("),
		"a trigger":      replace("CREATE TRIGGER facts_sum_new", "CREATE TRIGGER facts_sum_nex"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "plan.db"), harm(bytes.Clone(file)), 0o600))
			var saved *memory.DB
			var c memory.BackupFile
			if db, err := memory.Open(ctx, config(dir)); err == nil {
				if len(complaints(t, db)) == 0 {
					t.Error("nothing is said of it")
				}
				to := filepath.Join(t.TempDir(), "plan.db")
				c, err = db.Backup(ctx, to, memory.BackupOptions{SkipDamaged: true})
				must(t, err)
				must(t, db.Close())
				saved = open(t, filepath.Dir(to))
			} else {
				if !memory.Unreadable(err) {
					t.Fatal(err)
				}
				saved, c = rescued(t, dir)
			}
			if c.Runs != len(want) || len(c.Skipped) > 0 {
				t.Errorf("%+v", c)
			}
			for run, all := range want {
				if diff := differ(all, lines(t, saved, run)); diff != "" {
					t.Error(diff)
				}
				if hashes, err := saved.BlobRefs(ctx, run); err != nil || len(hashes) != 2 && run != "L1" {
					t.Errorf("%s has %d contents: %v", run, len(hashes), err)
				}
			}
			for query, rows := range map[string]int64{
				"SELECT count(*) FROM facts": 2, "SELECT count(*) FROM batch_jobs": 2, "SELECT count(*) FROM baselines": 1,
				"SELECT count(*) FROM inbox JOIN runs ON run = key WHERE runs.id = 'L1'": 1,
			} {
				if n, err := saved.Count(ctx, query); n != rows || err != nil {
					t.Errorf("%s: %d (%v), want %d", query, n, err, rows)
				}
			}
			if found := complaints(t, saved); len(found) > 0 {
				t.Error(found)
			}
		})
	}
}

// What stands in the log alone is saved, too: its writer was killed.
func TestRescueOfALog(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	db := open(t, home)
	w := own(t, db, "R1")
	appendAll(t, w, runStart("R1"), report("R1", noiseText(9000)))
	for _, name := range []string{"plan.db", "plan.db-wal"} {
		data, err := os.ReadFile(filepath.Join(home, name))
		must(t, err)
		if name == "plan.db" {
			copy(data, bytes.Repeat([]byte{0xff}, 100))
		}
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	saved, _ := rescued(t, dir)
	if diff := differ(lines(t, db, "R1"), lines(t, saved, "R1")); diff != "" {
		t.Error(diff)
	}
}

// Whatever else is damaged: what is saved is the beginning of what was committed, and
// what is missing is said.
func TestRescueOfWhatIsLeft(t *testing.T) {
	t.Parallel()
	ctx, home := context.Background(), t.TempDir()
	want := manyRuns(t, home, 6)
	file, err := os.ReadFile(filepath.Join(home, "plan.db"))
	must(t, err)
	random, tries := sampling.New(t), 3
	if sampling.All() {
		tries = 100
	}
	for range tries {
		broken := bytes.Clone(file)
		copy(broken, bytes.Repeat([]byte{0xff}, 4096))
		for range 1 + random.IntN(4) {
			at := 4096 * (1 + random.IntN(len(file)/4096-1))
			for i := range 4096 {
				broken[at+i] = byte(random.IntN(256))
			}
		}
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "plan.db"), broken, 0o600))
		saved, c := rescued(t, dir)
		for run, all := range want {
			got := []memory.Line{}
			if _, err := saved.Run(ctx, run); err == nil {
				got = lines(t, saved, run)
			}
			if diff := differ(all[:len(got)], got); diff != "" {
				t.Error(diff)
			}
			if len(got) < len(all) && len(c.Skipped) == 0 {
				t.Errorf("%s has %d events, and nothing is said", run, len(got))
			}
		}
	}
}
