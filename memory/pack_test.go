package memory_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// noise is data that cannot be compressed, and the same each time.
func noise(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // it never fails
	return data
}

// noiseText is noise as a text.
func noiseText(n int) string { return base64.StdEncoding.EncodeToString(noise(n))[:n] }

// What is large is kept small, and read and exported as it was.
func TestLargeContentsAreCompressed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, whole := open(t, t.TempDir()), strings.Repeat("some words of a result; ", 8000)
	e := report("R1", whole)
	e.Blobs = []plan.Blob{plan.NewBlob([]byte(whole)), plan.NewBlob(noise(9000)), plan.NewBlob([]byte("short"))}
	sent := appendAll(t, own(t, db, "R1"), runStart("R1"), e, report("R1", "short"), runEnd("R1"))
	for query, want := range map[string]int64{
		"SELECT count(*) FROM events WHERE packed IS NOT NULL AND line = '' AND seq = 2":  1,
		"SELECT count(*) FROM events WHERE packed IS NOT NULL":                            1,
		"SELECT count(*) FROM blobs WHERE packed IS NOT NULL AND length(data) = 0":        1,
		"SELECT count(*) FROM blobs WHERE packed IS NOT NULL OR size <> length(data)":     1,
		"SELECT (SELECT sum(length(packed)) FROM events) > 9000":                          0,
		"SELECT (SELECT sum(length(packed)) FROM blobs) > 9000":                           0,
		fmt.Sprintf("SELECT count(*) FROM blobs WHERE size IN (5, 9000, %d)", len(whole)): 3,
	} {
		if n, err := db.Count(ctx, query); err != nil || n != want {
			t.Errorf("%s: %d (%v), want %d", query, n, err, want)
		}
	}
	for _, b := range e.Blobs {
		if got, err := db.Blob(ctx, b.Hash); err != nil || !bytes.Equal(got, b.Data) {
			t.Errorf("a blob of %d bytes came back with %d: %v", len(b.Data), len(got), err)
		}
	}
	read, err := db.ReadAll(ctx, "R1")
	must(t, err)
	if diff := cmp.Diff(sent[1].Body, read[1].Body); diff != "" {
		t.Errorf("another event came back: %s", diff)
	}
	file, _ := exported(t, db, "R1", nil)
	other := open(t, t.TempDir())
	_, err = other.Import(ctx, bytes.NewReader(file))
	must(t, err)
	if diff := differ(lines(t, db, "R1"), lines(t, other, "R1")); diff != "" {
		t.Error(diff)
	}
	if n, err := other.Count(ctx, "SELECT (SELECT count(packed) FROM events) + (SELECT count(packed) FROM blobs)"); n != 2 {
		t.Errorf("an imported run has %d compressed contents, want 2 (%v)", n, err)
	}
	audit, err := db.Audit(ctx, nil)
	if err != nil || len(audit.Faults) > 0 {
		t.Errorf("%+v, %v", audit, err)
	}
}

// Whatever byte of a content is changed, no reader gets it.
func TestNoReaderGetsChangedContents(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	long := strings.Repeat("some words of a result; ", 1000)
	blobs := []plan.Blob{plan.NewBlob([]byte(long)), plan.NewBlob([]byte("short")), plan.NewBlob(nil)}
	for name, harm := range map[string]string{
		"flipped":      "substr(IT, 1, length(IT) / 2) || 'x' || substr(IT, length(IT) / 2 + 2)",
		"cut":          "substr(IT, 1, length(IT) - 1)",
		"emptied":      "substr(IT, 1, 0)",
		"longer":       "IT || ' '",
		"another's":    "(SELECT packed FROM other)",
		"claims a lot": "x'28b52ffde0ffffffffffffff7f0b0000616263'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, t.TempDir())
			first, second := report("R1", long), report("R1", "short")
			first.Blobs, first.Conv, second.Conv = blobs, "c1", "c2"
			appendAll(t, own(t, db, "R1"), runStart("R1"), first, second)
			must(t, db.Exec(ctx, "CREATE TABLE other AS SELECT packed FROM blobs WHERE packed IS NOT NULL"))
			set := func(table, column string) {
				query := "UPDATE %s SET %[2]s = ifnull(CAST(%[3]s AS BLOB), x'') WHERE (packed IS NULL) = ('%[2]s' = 'data')"
				must(t, db.Exec(ctx, fmt.Sprintf(query, table, column, strings.ReplaceAll(harm, "IT", column))))
			}
			set("events", "packed")
			if name != "another's" {
				set("blobs", "packed")
				set("blobs", "data")
			}
			for _, q := range []memory.Query{
				{},
				{After: 1},
				{Conv: "c1"},
				{Types: []plan.EventType{plan.TypeReport}},
				{Conv: "c1", After: 1, Types: []plan.EventType{plan.TypeReport}},
			} {
				var last error
				for e, err := range db.Events(ctx, "R1", q) {
					if last = err; err == nil && e.Seq > 1 {
						t.Errorf("%+v: event %d was read", q, e.Seq)
					}
				}
				var broken *memory.ChainError
				if !errors.As(last, &broken) || broken.Seq != 2 || !strings.Contains(last.Error(), "plan journal export R1 -o") {
					t.Errorf("%+v: got %v, want a ChainError of event 2 that says what to do", q, last)
				}
			}
			for _, b := range blobs {
				got, err := db.Blob(ctx, b.Hash)
				if name == "another's" || len(b.Data) == 0 && name != "longer" {
					continue // it is as it was, or has nothing that could be changed
				}
				var changed *memory.BlobError
				if !errors.As(err, &changed) || got != nil || !strings.Contains(err.Error(), "--skip-damaged") {
					t.Errorf("a blob of %d bytes: read %d, %v", len(b.Data), len(got), err)
				}
			}
		})
	}
}

// What an earlier program has left is read as it is, and compressed when that is asked
// for, in steps that go on where the last one was stopped.
func TestPackCompressesWhatIsThere(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	want := manyRuns(t, dir, 12)
	db := open(t, dir)
	rows := func() (n int64) {
		n, err := db.Count(ctx, "SELECT (SELECT count(packed) FROM events) + (SELECT count(packed) FROM blobs)")
		must(t, err)
		return n
	}
	packed := rows()
	asItWas := func(when string) {
		for run, all := range want {
			if diff := differ(all, lines(t, db, run)); diff != "" {
				t.Errorf("%s: %s", when, diff)
			}
		}
		if audit, err := db.Audit(ctx, nil); err != nil || len(audit.Faults) > 0 {
			t.Errorf("%s: %+v, %v", when, audit, err)
		}
	}
	for run, all := range want { // as a program without compression leaves them
		for _, l := range all {
			must(t, db.Exec(ctx, "UPDATE events SET line = ?, packed = NULL WHERE seq = ? AND run = (SELECT key FROM runs WHERE id = ?)",
				string(l.JSON), l.Seq, string(run)))
		}
	}
	shared := strings.Repeat("what all share; ", 500)
	must(t, db.Exec(ctx, "UPDATE blobs SET data = ?, packed = NULL WHERE size = ?", []byte(shared), len(shared)))
	asItWas("before")
	must(t, db.Pack(ctx, nil))
	if n := rows(); n != 0 {
		t.Errorf("a home of this program was rewritten: %d rows", n)
	}
	must(t, db.Exec(ctx, "INSERT INTO unpacked SELECT 'events', max(id) + 1 FROM events UNION SELECT 'blobs', max(hash) || ' ' FROM blobs"))
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := db.Pack(ended, nil); !errors.Is(err, context.Canceled) || rows() != 0 {
		t.Errorf("got %v, want context.Canceled and nothing done", err)
	}
	before, err := db.UsedBytes(ctx)
	must(t, err)
	must(t, db.Pack(ctx, nil))
	if n := rows(); n != packed {
		t.Errorf("%d contents are compressed, want %d", n, packed)
	}
	if after, err := db.UsedBytes(ctx); err != nil || after >= before {
		t.Errorf("%d bytes are used, %d before (%v)", after, before, err)
	}
	if n, err := db.Count(ctx, "SELECT count(*) FROM unpacked"); n != 0 {
		t.Errorf("%d tables are left to do (%v)", n, err)
	}
	asItWas("after")
}
