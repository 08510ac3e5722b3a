package memory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/memory"
)

// manyRuns fills a home with runs that have large and small contents, one of which all
// share, and closes it: all that there is then stands in the file.
func manyRuns(t testing.TB, dir string, runs int) map[plan.RunID][]memory.Line {
	t.Helper()
	db, err := memory.Open(context.Background(), config(dir))
	must(t, err)
	want := map[plan.RunID][]memory.Line{}
	shared := plan.NewBlob([]byte(strings.Repeat("what all share; ", 500)))
	for i := range runs {
		run := plan.RunID(fmt.Sprintf("R%d", i))
		own := plan.NewBlob([]byte(noiseText(3000 + i)))
		large := event(run, plan.ToolEnd{Call: "c", Name: "read", Output: strings.Repeat("some words; ", 500) + noiseText(6000+i), Blob: own.Hash})
		large.Blobs = []plan.Blob{shared, own}
		w, err := db.Own(context.Background(), run)
		must(t, err)
		appendAll(t, w, runStart(run), report(run, "short"), large, report(run, "on"), runEnd(run))
		must(t, w.Close())
		want[run] = lines(t, db, run)
	}
	_, err = db.Checkpoint(context.Background())
	must(t, errors.Join(err, db.Close()))
	return want
}

// Whichever run is damaged in whichever way, all others are saved and it is named.
func TestBackupLeavesOutWhatIsDamaged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const ofR2 = "(SELECT key FROM runs WHERE id = 'R2')"
	for name, harm := range map[string][]string{
		"an event":     {"UPDATE events SET line = replace(line, 'short', 'shirt') WHERE seq = 2 AND run = " + ofR2},
		"packed":       {"UPDATE events SET packed = x'00' WHERE packed IS NOT NULL AND run = " + ofR2},
		"its type":     {"UPDATE events SET type = 'plan' WHERE seq = 2 AND run = " + ofR2},
		"a hole":       {"DELETE FROM events WHERE seq = 2 AND run = " + ofR2},
		"its end":      {"DELETE FROM events WHERE seq = 5 AND run = " + ofR2},
		"its row":      {"UPDATE runs SET request = 'another' WHERE id = 'R2'"},
		"its blob":     {"UPDATE blobs SET packed = NULL, data = x'00' WHERE size = 3002"},
		"no blob":      {"PRAGMA foreign_keys = off", "DELETE FROM blobs WHERE size = 3002"},
		"all of these": {"UPDATE events SET sha = x'' WHERE run = " + ofR2, "UPDATE blobs SET data = x'00', packed = NULL WHERE size = 3002"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			want := manyRuns(t, dir, 4)
			db := open(t, dir)
			for _, query := range harm {
				must(t, db.Exec(ctx, query))
			}
			file := filepath.Join(t.TempDir(), "plan.db")
			if _, err := db.Backup(ctx, file, memory.BackupOptions{}); err == nil || !strings.Contains(err.Error(), "--skip-damaged") {
				t.Errorf("got %v, want an error that says what helps", err)
			}
			got, err := db.Backup(ctx, file, memory.BackupOptions{SkipDamaged: true})
			must(t, err)
			if len(got.Skipped) != 1 || got.Skipped[0].Run != "R2" || got.Skipped[0].Err == nil || got.Runs != 3 {
				t.Errorf("%+v: want R2 alone to be left out", got)
			}
			delete(want, "R2")
			saved := open(t, filepath.Dir(file))
			for run, all := range want {
				if diff := differ(all, lines(t, saved, run)); diff != "" {
					t.Error(diff)
				}
			}
			if n, err := saved.Count(ctx, "SELECT count(*) FROM blobs"); n != 4 {
				t.Errorf("%d blobs were saved, want 4 (%v)", n, err)
			}
			appendAll(t, own(t, saved, "R9"), runStart("R9")) // and it can be gone on with
		})
	}
}

// Whatever byte of the file is another, and whichever of its pages is gone: no reader gets
// anything that was not committed, and all that is in a backup or an export is whole.
func TestNoFlippedByteGetsOut(t *testing.T) {
	t.Parallel()
	ctx, home := context.Background(), t.TempDir()
	want := manyRuns(t, home, 6)
	file, err := os.ReadFile(filepath.Join(home, "plan.db"))
	must(t, err)
	const page = 4096
	random, tries := sampling.New(t), 2
	if sampling.All() {
		tries = 64
	}
	var saved, lost, cut int
	for i := range tries {
		broken, at := bytes.Clone(file), page+random.IntN(len(file)-page)
		if broken[at] ^= byte(1 + random.IntN(255)); i%4 == 0 { // all of a page
			copy(broken[at/page*page:], bytes.Repeat([]byte{0xff}, page))
		}
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "plan.db"), broken, 0o600))
		db, err := memory.Open(ctx, config(dir))
		if err != nil {
			continue // it is seen
		}
		other := open(t, t.TempDir())
		for run, all := range want {
			var got []memory.Line
			var err error
			for l, fault := range db.Lines(ctx, run, 0) {
				if err = fault; err == nil {
					got = append(got, l)
				}
			}
			if diff := differ(all[:min(len(got), len(all))], got); diff != "" && len(got) > 0 || err == nil && len(got) != len(all) {
				t.Errorf("byte %d of %s: %d events were read: %v\n%s", at, run, len(got), err, diff)
			}
			var out bytes.Buffer
			sent, err := db.Export(ctx, run, &out, nil)
			var part *memory.PartError
			if err != nil && !errors.As(err, &part) {
				continue
			}
			if part != nil {
				cut++
			}
			if _, err := other.Import(ctx, bytes.NewReader(out.Bytes())); err != nil || differ(all[:sent.Events], lines(t, other, run)) != "" {
				t.Errorf("byte %d: the export of %s is not what was committed: %v", at, run, err)
			}
		}
		copied := filepath.Join(dir, "copy", "plan.db")
		must(t, os.Mkdir(filepath.Dir(copied), 0o700))
		if sum, err := db.Backup(ctx, copied, memory.BackupOptions{SkipDamaged: true}); err == nil {
			whole := open(t, filepath.Dir(copied))
			runs, err := whole.Runs(ctx, memory.Filter{})
			must(t, err)
			for _, r := range runs {
				if differ(want[r.ID], lines(t, whole, r.ID)) != "" {
					t.Errorf("byte %d: run %s of the backup is another", at, r.ID)
				}
			}
			if saved, lost = saved+len(runs), lost+len(sum.Skipped); len(runs) < len(want) && len(sum.Skipped) == 0 {
				t.Errorf("byte %d: %d runs were left out without a word", at, len(want)-len(runs))
			}
		}
		must(t, db.Close())
	}
	if t.Logf("%d runs were saved, %d left out, %d exports cut", saved, lost, cut); sampling.All() && (saved < 40 || lost < 3 || cut < 3) {
		t.Error("that is too few to say anything")
	}
}
