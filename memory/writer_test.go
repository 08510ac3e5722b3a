package memory_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

func TestAppendGivesSeqAndStoresTheBytes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	w := own(t, db, "R1")
	turn := 0
	in := []plan.Event{
		runStart("R1"),
		{Run: "R1", Time: start, Conv: "c1", Phase: plan.Explore, Attempt: 1, Turn: &turn, Body: plan.TurnStart{Trigger: "user <é>"}},
	}
	got := append(appendAll(t, w, in...), appendAll(t, w, report("R1", "found"))...)
	stored := lines(t, db, "R1")
	wantSeqs(t, stored, 3)
	for i, e := range got {
		want, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(stored[i].JSON)); diff != "" {
			t.Errorf("event %d (-returned +stored):\n%s", i+1, diff)
		}
	}
	if in[1].Seq != 0 {
		t.Error("Append changed the caller's event")
	}
	var read []plan.Event
	for e, err := range db.Events(ctx, "R1", memory.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, e)
	}
	if diff := cmp.Diff(got, read); diff != "" {
		t.Errorf("events (-appended +read):\n%s", diff)
	}
	if err := db.VerifyChain(ctx, "R1"); err != nil {
		t.Error(err)
	}
}

func TestAppendFromManyGoroutinesHasNoGaps(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	const runs, goroutines, each = 3, 4, 15
	var wg sync.WaitGroup
	for r := range runs {
		run := plan.RunID("R" + strconv.Itoa(r))
		w := own(t, db, run)
		appendAll(t, w, runStart(run))
		for range goroutines {
			wg.Go(func() {
				for range each {
					out, err := w.Append(context.Background(), report(run, "a"), report(run, "b"))
					if err != nil {
						t.Error(err)
						return
					}
					if out[1].Seq != out[0].Seq+1 {
						t.Errorf("one append got seq %d and %d", out[0].Seq, out[1].Seq)
					}
				}
			})
		}
	}
	wg.Wait()
	for r := range runs {
		run := plan.RunID("R" + strconv.Itoa(r))
		wantSeqs(t, lines(t, db, run), 1+goroutines*each*2)
		if err := db.VerifyChain(context.Background(), run); err != nil {
			t.Error(err)
		}
	}
}

func TestAppendRefusesAndPoisons(t *testing.T) {
	t.Parallel()
	late := runStart("R1")
	late.Time = time.Time{}
	blob := report("R1", "x")
	blob.Blobs = []plan.Blob{{Hash: strings.Repeat("0", 64), Data: []byte("x")}}
	started := []plan.Event{runStart("R1")}
	ended := []plan.Event{runStart("R1"), runEnd("R1")}
	for name, c := range map[string]struct {
		before []plan.Event
		events []plan.Event
		want   string
	}{
		"live":           {started, []plan.Event{event("R1", plan.Progress{Text: "…"})}, "live"},
		"other run":      {started, []plan.Event{report("R2", "x")}, `belongs to run "R2"`},
		"no body":        {started, []plan.Event{{Run: "R1", Time: start}}, "no body"},
		"no time":        {nil, []plan.Event{late}, "no usable time"},
		"no start":       {nil, []plan.Event{report("R1", "x")}, "begins with run_start"},
		"second start":   {started, started, "started already"},
		"after the end":  {ended, []plan.Event{report("R1", "x")}, "run has ended"},
		"behind the end": {started, []plan.Event{runEnd("R1"), report("R1", "x")}, "run has ended"},
		"second is bad":  {started, []plan.Event{report("R1", "x"), report("R2", "y")}, `belongs to run "R2"`},
		"end of what":    {started, []plan.Event{event("R1", &plan.RunEnd{Outcome: plan.Planning})}, "not final"},
		"wrong hash":     {started, []plan.Event{blob}, "hash"},
		"bad JSON":       {started, []plan.Event{event("R1", plan.ToolStart{Args: []byte("{")})}, "encode tool_start"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := open(t, t.TempDir())
			w := own(t, db, "R1")
			if c.before != nil {
				appendAll(t, w, c.before...)
			}
			_, err := w.Append(context.Background(), c.events...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
			_, again := w.Append(context.Background(), report("R1", "fine"))
			if again != err { //nolint:errorlint // the very same
				t.Errorf("the second append returned %v, want the first error", again)
			}
			if c.before != nil {
				wantSeqs(t, lines(t, db, "R1"), len(c.before))
			} else if _, err := db.Run(context.Background(), "R1"); !errors.Is(err, memory.ErrNoRun) {
				t.Errorf("a refused start left a run behind: %v", err)
			}
		})
	}
}

func TestAppendIgnoresCancellation(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	w := own(t, db, "R1")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.Append(ctx, runStart("R1"), runEnd("R1")); err != nil {
		t.Fatal(err)
	}
	wantSeqs(t, lines(t, db, "R1"), 2)
}

func TestBlobsAreKeptOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	data := []byte("a long output\x00\xff")
	sum := sha256.Sum256(data)
	empty := sha256.Sum256(nil)
	blob := plan.Blob{Hash: hex.EncodeToString(sum[:]), Data: data}
	for _, run := range []plan.RunID{"R1", "R2"} {
		w := own(t, db, run)
		e := report(run, "see the blob")
		e.Blobs = []plan.Blob{blob, blob, {Hash: hex.EncodeToString(empty[:])}}
		appendAll(t, w, runStart(run), e, e)
	}
	got, err := db.Blob(ctx, blob.Hash)
	if err != nil || string(got) != string(data) {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := db.Blob(ctx, hex.EncodeToString(empty[:])); err != nil || len(got) != 0 {
		t.Errorf("the empty blob is %q, %v", got, err)
	}
	_, err = db.Blob(ctx, "beef")
	if !errors.Is(err, memory.ErrNoBlob) || !strings.Contains(err.Error(), "plan journal backup --skip-damaged") {
		t.Errorf("got %v, want ErrNoBlob and what helps", err)
	}
	for query, want := range map[string]int64{
		"SELECT count(*) FROM blobs":                     2,
		"SELECT count(*) FROM blob_refs":                 4,
		"SELECT sum(size) FROM blobs":                    int64(len(data)),
		"SELECT count(*) FROM pragma_foreign_key_check;": 0,
	} {
		if n, err := db.Count(ctx, query); err != nil || n != want {
			t.Errorf("%s is %d, want %d (%v)", query, n, want, err)
		}
	}
}

// A lock file that is removed lets a second writer in: the token in the
// database stops the first.
func TestFencing(t *testing.T) {
	t.Parallel()
	for _, started := range []bool{true, false} {
		t.Run(fmt.Sprintf("started=%t", started), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			one, two := open(t, dir), open(t, dir)
			old := own(t, one, "R1")
			if started {
				appendAll(t, old, runStart("R1"))
			}
			if err := os.Remove(filepath.Join(dir, "locks", "R1.lock")); err != nil {
				t.Fatal(err)
			}
			young := own(t, two, "R1")
			first := report("R1", "young")
			if !started {
				first = runStart("R1")
			}
			appendAll(t, young, first)
			next := report("R1", "old")
			if !started {
				next = runStart("R1")
			}
			if _, err := old.Append(context.Background(), next); !errors.Is(err, memory.ErrFenced) {
				t.Errorf("got %v, want ErrFenced", err)
			}
			appendAll(t, young, report("R1", "again"))
		})
	}
}

func TestClosedWriter(t *testing.T) {
	t.Parallel()
	db := open(t, t.TempDir())
	w := own(t, db, "R1")
	appendAll(t, w, runStart("R1"))
	for range 2 {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Append(context.Background(), report("R1", "x")); !errors.Is(err, memory.ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	again := own(t, db, "R1")
	if out := appendAll(t, again, report("R1", "x")); out[0].Seq != 2 {
		t.Errorf("got seq %d, want 2", out[0].Seq)
	}
}

func TestInbox(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	db, other := open(t, dir), open(t, dir)
	if _, err := other.Post(ctx, "R1", "steer", nil); !errors.Is(err, memory.ErrNoRun) {
		t.Errorf("a letter to nobody: %v, want ErrNoRun", err)
	}
	w := own(t, db, "R1")
	if got, err := w.Letters(ctx); err != nil || len(got) != 0 {
		t.Errorf("before the start: %v, %v", got, err)
	}
	appendAll(t, w, runStart("R1"))
	var ids []int64
	for _, data := range []string{`{"text":"left"}`, `{"text":"right"}`, ``} {
		id, err := other.Post(ctx, "R1", "steer", []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if _, err := other.Post(ctx, "R1", "steer", []byte("{")); err == nil {
		t.Error("bad JSON was posted")
	}
	want := []memory.Letter{
		{ID: ids[0], Kind: "steer", Data: []byte(`{"text":"left"}`), Created: start},
		{ID: ids[1], Kind: "steer", Data: []byte(`{"text":"right"}`), Created: start},
		{ID: ids[2], Kind: "steer", Data: []byte(`null`), Created: start},
	}
	if runs, err := db.RunsWithLetters(ctx); err != nil || len(runs) != 1 || runs[0] != "R1" {
		t.Errorf("letters wait for %v, %v", runs, err)
	}
	got, err := w.Letters(ctx)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("letters (-want +got), %v:\n%s", err, diff)
	}
	if _, err := w.AppendUnlessUnread(ctx, []string{"x", "steer"}, nil, report("R1", "over")); !errors.Is(err, memory.ErrUnread) {
		t.Errorf("the run goes on past letters that wait: %v", err)
	}
	if _, err := w.AppendTaking(ctx, ids[:1], report("R1", "steered")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.AppendTaking(ctx, ids[1:2]); err != nil {
		t.Fatal(err)
	}
	if got, err = w.Letters(ctx); err != nil || len(got) != 1 || got[0].ID != ids[2] {
		t.Errorf("left over: %v, %v", got, err)
	}
	if n, err := db.Count(ctx, "SELECT sum(taken_seq) FROM inbox"); err != nil || n != 4 {
		t.Errorf("sum of taken_seq is %d, want 4 (%v)", n, err)
	}
	if _, err := w.AppendTaking(ctx, ids[:1], report("R1", "twice")); err == nil {
		t.Error("a letter was taken twice")
	}
	wantSeqs(t, lines(t, db, "R1"), 2)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	appendAll(t, own(t, db, "R1"), runEnd("R1"))
	if _, err := other.Post(ctx, "R1", "steer", nil); !errors.Is(err, memory.ErrEnded) {
		t.Errorf("a letter to an ended run: %v, want ErrEnded", err)
	}
}
