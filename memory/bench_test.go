package memory_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// BenchmarkAppend commits what a turn commits: three events of about 1 KB.
func BenchmarkAppend(b *testing.B) {
	db := open(b, b.TempDir())
	w := own(b, db, "R1")
	appendAll(b, w, runStart("R1"))
	text := strings.Repeat("some words of an answer; ", 36)
	turn := 7
	events := []plan.Event{
		{Body: plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockText, Text: text}}}}},
		{Body: plan.ToolStart{Call: "call_1", Name: "edit", Args: []byte(`{"path":"main.go","old_string":"` + text + `"}`)}},
		{Body: plan.ToolEnd{Call: "call_1", Name: "edit", Output: text}},
	}
	for i := range events {
		events[i].Run, events[i].Time, events[i].Conv = "R1", start, "c3"
		events[i].Phase, events[i].Attempt, events[i].Turn = plan.Implement, 1, &turn
	}
	b.ReportAllocs()
	var took latencies
	for b.Loop() {
		took.time(func() {
			if _, err := w.Append(context.Background(), events...); err != nil {
				b.Fatal(err)
			}
		})
	}
	took.report(b)
}

// latencies are how long each of many commits took.
type latencies []time.Duration

func (l *latencies) time(do func()) {
	began := time.Now()
	do()
	*l = append(*l, time.Since(began))
}

func (l latencies) report(b *testing.B) {
	slices.Sort(l)
	for _, percent := range []int{50, 99} {
		b.ReportMetric(float64(l[len(l)*percent/100].Microseconds()), fmt.Sprintf("p%d-µs", percent))
	}
}

// BenchmarkRuns is how many appends a second all runs of a process get onto the
// disk, each run waiting for its last append before the next.
func BenchmarkRuns(b *testing.B) {
	for _, runs := range []int{1, 8, 64} {
		b.Run(strconv.Itoa(runs), func(b *testing.B) {
			db := open(b, b.TempDir())
			writers := make([]*memory.Writer, runs)
			for i := range writers {
				run := plan.RunID("R" + strconv.Itoa(i))
				writers[i] = own(b, db, run)
				appendAll(b, writers[i], runStart(run))
			}
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			for i, w := range writers {
				e := report(plan.RunID("R"+strconv.Itoa(i)), "one line of a report")
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := w.Append(context.Background(), e); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
		})
	}
}

// BenchmarkBareInsert is the floor: the same bytes as three rows of a table
// without an index, in one transaction.
func BenchmarkBareInsert(b *testing.B) {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(b.TempDir(), "bare.db")+"?_journal_mode=WAL&_synchronous=FULL&_txlock=immediate")
	must(b, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY, line TEXT)")
	must(b, err)
	insert, err := db.Prepare("INSERT INTO t (line) VALUES (?)")
	must(b, err)
	line := strings.Repeat("x", 1080)
	b.ReportAllocs()
	var took latencies
	for b.Loop() {
		took.time(func() {
			tx, err := db.Begin()
			must(b, err)
			for range 3 {
				_, err := tx.Stmt(insert).Exec(line) //nolint:sqlclosecheck // tx closes it
				must(b, err)
			}
			must(b, tx.Commit())
		})
	}
	took.report(b)
}

// BenchmarkEvents reads and decodes a journal of 3,000 events.
func BenchmarkEvents(b *testing.B) {
	db := open(b, b.TempDir())
	w := own(b, db, "R1")
	appendAll(b, w, runStart("R1"))
	events := make([]plan.Event, 2999)
	for i := range events {
		events[i] = report("R1", strings.Repeat("some words of an answer; ", 36))
	}
	appendAll(b, w, events...)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for range db.Lines(context.Background(), "R1", 0) {
			n++
		}
		if n != 3000 {
			b.Fatal(n)
		}
	}
}
