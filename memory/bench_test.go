package memory_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
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
	for b.Loop() {
		if _, err := w.Append(context.Background(), events...); err != nil {
			b.Fatal(err)
		}
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
	for b.Loop() {
		tx, err := db.Begin()
		must(b, err)
		for range 3 {
			_, err := tx.Stmt(insert).Exec(line) //nolint:sqlclosecheck // tx closes it
			must(b, err)
		}
		must(b, tx.Commit())
	}
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
