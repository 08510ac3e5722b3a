package memory_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sampling"
	"github.com/plan-engine/plan/memory"
)

// besides puts something into each table that is about no journal.
func besides(t testing.TB, db *memory.DB) {
	t.Helper()
	ctx := context.Background()
	w := own(t, db, "L1")
	appendAll(t, w, runStart("L1"))
	_, err := db.Post(ctx, "L1", "steer", json.RawMessage(`{"text":"look"}`))
	must(t, err)
	letters, err := w.Letters(ctx)
	must(t, err)
	_, err = w.AppendTaking(ctx, []int64{letters[0].ID}, report("L1", "taken"))
	must(t, err)
	must(t, db.AddBatch(ctx, memory.Batch{ID: "B1", Digest: "d", Name: "jobs.toml"}, []memory.Job{
		{ID: "one", Spec: json.RawMessage(`{"task":"a"}`)},
		{ID: "two", Spec: json.RawMessage(`{"task":"b"}`)},
	}))
	_, _, err = db.ClaimJob(ctx, "B1", "L1", "one")
	must(t, err)
	must(t, db.RecordPublished(ctx, "B1", "one", json.RawMessage(`{"url":"u"}`)))
	must(t, db.RecordJobResult(ctx, "B1", "one", memory.JobDone, json.RawMessage(`{"ok":1}`)))
	for _, text := range []string{"tests run with make test", "the port is 8080", "forget this"} {
		_, _, err := db.AddFact(ctx, plan.Fact{Repo: "/r", Text: text, Run: "L1"})
		must(t, err)
	}
	must(t, db.UseFacts(ctx, []int64{1}, clock()))
	_, err = db.ForgetFact(ctx, 3)
	must(t, err)
	must(t, db.KeepBaseline(ctx, "k", plan.CheckResult{}))
	_, err = db.RecordSkill(ctx, "L1", plan.Implement, "s", func(r plan.SkillRecord) plan.SkillRecord {
		r.Alpha, r.Beta, r.Pulls = 2.5, 1, 3
		return r
	})
	must(t, err)
	_, err = db.Streak(ctx, "sig", "L1", true, 3)
	must(t, err)
	must(t, db.GrantSkill(ctx, plan.SkillGrant{Name: "s", Digest: "d", Decision: "approved", At: clock()}))
	must(t, db.StateStyle(ctx, "briefly"))
	must(t, db.RecordToolUses(ctx, memory.ToolUse{Tool: "t", Run: "L1", Use: memory.ToolCalled}))
	must(t, w.Close())
}

// complaints are what an audit complains of.
func complaints(t testing.TB, db *memory.DB) []error {
	t.Helper()
	a, err := db.Audit(context.Background(), nil)
	must(t, err)
	return a.Faults
}

// cells lists the columns of tables whose rows have sums, as table and column.
func cells(t testing.TB, db *memory.DB) [][2]string {
	t.Helper()
	var out [][2]string
	names, err := db.Texts(context.Background(), `SELECT t.name || '.' || c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.name IN (SELECT tbl_name FROM sqlite_schema WHERE type = 'trigger') AND t.type = 'table'`)
	must(t, err)
	for _, name := range names {
		table, column, _ := strings.Cut(name, ".")
		out = append(out, [2]string{table, column})
	}
	return out
}

// Whichever cell of whichever row is another: it is seen, and said which row that is.
func TestEveryCellIsProven(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	besides(t, db)
	if found := complaints(t, db); len(found) > 0 {
		t.Fatal(found)
	}
	must(t, db.Exec(ctx, "PRAGMA ignore_check_constraints = on"))
	must(t, db.Exec(ctx, "PRAGMA foreign_keys = off"))
	triggers, err := db.Texts(ctx, "SELECT name FROM sqlite_schema WHERE type = 'trigger'")
	must(t, err)
	all := cells(t, db)
	for _, name := range triggers { // a disk knows none
		must(t, db.Exec(ctx, "DROP TRIGGER "+name))
	}
	tables := map[string]bool{}
	for _, cell := range all {
		table, column := cell[0], cell[1]
		n, err := db.Count(ctx, "SELECT count(*) FROM "+table+" WHERE sum IS NOT NULL")
		if must(t, err); n == 0 {
			t.Errorf("%s has no row with a sum", table)
		}
		tables[table] = true
		must(t, db.Exec(ctx, "CREATE TABLE kept AS SELECT * FROM "+table))
		must(t, db.Exec(ctx, fmt.Sprintf(`UPDATE %[1]s SET %[2]s = CASE typeof(%[2]s) WHEN 'text' THEN %[2]s || '?'
			WHEN 'blob' THEN CAST(substr(%[2]s, 2) || x'07' AS BLOB) ELSE ifnull(%[2]s, 0) + 1024 END`, table, column)))
		found := errors.Join(complaints(t, db)...)
		if found == nil || !strings.Contains(found.Error(), "of the table "+table+" is not what was written") ||
			!strings.Contains(found.Error(), "--skip-damaged") {
			t.Errorf("another %s of %s is not seen: %v", column, table, found)
		}
		must(t, db.Exec(ctx, "DELETE FROM "+table))
		must(t, db.Exec(ctx, "INSERT INTO "+table+" SELECT * FROM kept"))
		must(t, db.Exec(ctx, "DROP TABLE kept"))
	}
	if len(tables) != 13 {
		t.Errorf("%d tables have sums: %v", len(tables), tables)
	}
	if found := complaints(t, db); len(found) != 1 || !strings.Contains(found[0].Error(), "its schema") {
		t.Errorf("%v, want a word about the triggers that are gone", found)
	}
}

// A row that is damaged stays so when some of it is written anew, is left out of a backup
// where it may be, and is nothing that anything is decided by.
func TestDamagedRowsStaySeen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	besides(t, db)
	for _, table := range []string{"facts", "batch_jobs", "batches", "baselines", "inbox"} {
		must(t, db.Exec(ctx, "UPDATE "+table+" SET sum = x'00'"))
	}
	must(t, db.UseFacts(ctx, []int64{1, 2}, clock()))
	_, _, err := db.ClaimJob(ctx, "B1", "L1", "two")
	must(t, err)
	if found := complaints(t, db); len(found) != 2+2+1+1+1 {
		t.Errorf("%d rows are damaged: %v", len(found), found)
	}
	if _, there, err := db.Baseline(ctx, "k"); there || err != nil {
		t.Errorf("a baseline that is not what was kept: %t, %v", there, err)
	}
	if facts, err := db.FactsWithin(ctx, "/r", 1000, clock()); len(facts) > 0 || err != nil {
		t.Errorf("facts that are not what was learned: %v, %v", facts, err)
	}
	file := filepath.Join(t.TempDir(), "plan.db")
	if _, err := db.Backup(ctx, file, memory.BackupOptions{}); err == nil || !strings.Contains(err.Error(), "--skip-damaged") {
		t.Errorf("got %v, want an error that says what helps", err)
	}
	got, err := db.Backup(ctx, file, memory.BackupOptions{SkipDamaged: true})
	must(t, err)
	left := map[string]int{}
	for _, skipped := range got.Skipped {
		_, table, _ := strings.Cut(skipped.Err.Error(), " of the table ")
		left[strings.TrimSuffix(table, " is not what was written")]++
	}
	want := map[string]int{"facts": 2, "batch_jobs": 2, "batches": 1, "baselines": 1, "inbox": 1}
	if diff := cmp.Diff(want, left); diff != "" || got.Runs != 1 {
		t.Errorf("of %d runs, rows left out (-want +got):\n%s", got.Runs, diff)
	}
	must(t, db.KeepBaseline(ctx, "k", plan.CheckResult{}))
	if _, there, err := db.Baseline(ctx, "k"); !there || err != nil {
		t.Errorf("a baseline that was found out anew: %t, %v", there, err)
	}
	saved := open(t, filepath.Dir(file))
	if found := complaints(t, saved); len(found) > 0 {
		t.Error(found)
	}
}

// What is damaged is given to no reader: a letter is an error, a job and a batch come without
// what they say, and of the rest nothing is known.
func TestDamageIsNotRead(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, t.TempDir())
	besides(t, db)
	_, err := db.Post(ctx, "L1", "steer", json.RawMessage(`{"text":"once more"}`))
	must(t, err)
	tables := []string{"batch_jobs", "batches", "inbox", "skill_grants", "skill_stats", "style"}
	for _, table := range tables {
		must(t, db.Exec(ctx, "UPDATE "+table+" SET sum = x'00'"))
	}
	told := func(err error) {
		t.Helper()
		if !memory.IsDamage(err) || !strings.Contains(err.Error(), "--skip-damaged") {
			t.Errorf("got %v", err)
		}
	}
	letters, err := db.Letters(ctx, "L1")
	if told(err); len(letters) > 0 {
		t.Errorf("letters that are not what was posted: %v", letters)
	}
	claimed, ok, err := db.ClaimJob(ctx, "B1", "L2", "two")
	if must(t, err); !ok || claimed.ID != "two" {
		t.Errorf("claimed %t: %+v", ok, claimed)
	}
	jobs, err := db.Jobs(ctx, "B1")
	must(t, err)
	for _, j := range append(jobs, claimed) {
		if told(j.Damage); j.Spec != nil || j.Result != nil || j.Published != nil {
			t.Errorf("got %+v", j)
		}
	}
	b, err := db.Batch(ctx, "B1")
	must(t, err)
	if told(b.Damage); b.Settings != nil || len(jobs) != 2 {
		t.Errorf("got %+v with %d jobs", b, len(jobs))
	}
	grants, err := db.SkillGrants(ctx)
	must(t, err)
	records, err := db.AllSkillRecords(ctx)
	must(t, err)
	style, err := db.Style(ctx)
	must(t, err)
	if len(grants) > 0 || len(records) > 0 || style.Line() != memory.Neutral().Line() {
		t.Errorf("decided by what is damaged: %v, %v, %v", grants, records, style)
	}
}

// Rows of an earlier program have no sums until gc has been at them.
func TestOldRowsGetSums(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	must(t, memory.MakeOld(ctx, config(dir), 8,
		"INSERT INTO facts VALUES (1, '/r', x'00', 'person', '', 0, 1, 0, 0, 'a fact')",
		"INSERT INTO batches VALUES ('B', 'd', 'n', '{}', 0, 1, 1)",
		"INSERT INTO batch_jobs (batch, id, place, turn, priority, state, run, started, ended, spec, result) "+
			"VALUES ('B', 'j', 0, 0, 0, 'queued', '', 0, 0, '{}', 'null')",
		"INSERT INTO style VALUES (1, '{}', 1)"))
	db := open(t, dir)
	const summed = "SELECT (SELECT count(*) FROM facts WHERE sum IS NOT NULL) + (SELECT count(*) FROM batches WHERE sum IS NOT NULL) + " +
		"(SELECT count(*) FROM batch_jobs WHERE sum IS NOT NULL) + (SELECT count(*) FROM style WHERE sum IS NOT NULL)"
	if n, err := db.Count(ctx, summed); n != 0 || err != nil {
		t.Errorf("%d rows have sums: %v", n, err)
	}
	if facts, err := db.FactsWithin(ctx, "/r", 1000, clock()); len(facts) != 1 || err != nil {
		t.Errorf("facts of an earlier program: %v, %v", facts, err)
	}
	if jobs, err := db.Jobs(ctx, "B"); len(jobs) != 1 || err != nil || jobs[0].Damage != nil {
		t.Errorf("jobs of an earlier program: %+v, %v", jobs, err)
	}
	_, _, err := db.AddFact(ctx, plan.Fact{Repo: "/r", Text: "another", Run: "L1"})
	must(t, err)
	if n, err := db.Count(ctx, summed); n != 1 || err != nil {
		t.Errorf("%d rows have sums, and one is new: %v", n, err)
	}
	must(t, db.Pack(ctx, nil))
	if n, err := db.Count(ctx, summed); n != 5 || err != nil {
		t.Errorf("%d rows have sums: %v", n, err)
	}
	if found := complaints(t, db); len(found) > 0 {
		t.Error(found)
	}
}

// Whatever byte of the file is another, it is seen, or nothing that anyone reads is.
func TestEveryByteIsProven(t *testing.T) {
	t.Parallel()
	ctx, home := context.Background(), t.TempDir()
	db, err := memory.Open(ctx, config(home))
	must(t, err)
	besides(t, db)
	_, err = db.Checkpoint(ctx)
	must(t, err)
	want := dump(t, db)
	must(t, db.Close())
	file, err := os.ReadFile(filepath.Join(home, "plan.db"))
	must(t, err)
	random, tries := sampling.New(t), 20
	if sampling.All() {
		tries = 3000
	}
	seen := 0
	for range tries {
		broken, at := bytes.Clone(file), random.IntN(len(file))
		broken[at] ^= byte(1 + random.IntN(255))
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "plan.db"), broken, 0o600))
		db, err := memory.Open(ctx, config(dir))
		if err != nil {
			seen++
			continue
		}
		if a, err := db.Audit(ctx, nil); err != nil || len(a.Faults) > 0 {
			seen++
		} else if diff := cmp.Diff(want, dump(t, db)); diff != "" {
			t.Errorf("byte %d is another, and nothing is said of it: %s", at, diff)
		}
		must(t, db.Close())
	}
	t.Logf("%d of %d were seen, the others are in no row", seen, tries)
}

// dump is all that stands in rows, but for numbers that only save time or order processes.
func dump(t testing.TB, db *memory.DB) (out []string) {
	t.Helper()
	columns, err := db.Texts(context.Background(), `
		SELECT 'SELECT ' || group_concat('quote(' || c.name || ')', '||'',''||') || ' FROM ' || t.name
		FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
		WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'
		AND t.name NOT LIKE 'fact\_%' ESCAPE '\' AND t.name NOT LIKE 'facts\_%' ESCAPE '\'
		AND t.name || '.' || c.name NOT IN ('runs.token') GROUP BY t.name ORDER BY t.name`)
	must(t, err)
	for _, query := range columns {
		rows, err := db.Texts(context.Background(), query)
		must(t, err)
		out = append(out, query)
		out = append(out, rows...)
	}
	return out
}
