package memory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/plan-engine/plan/memory"
)

// A home of an earlier program opens without its rows being read, however many there
// are: not even one that no reading would let pass. What it has can be read and written.
func TestOldRowsAreNotRead(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, version := range []int{2, 6} {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, memory.MakeOld(ctx, config(dir), version,
				"INSERT INTO runs (key, id, token, head, chain, state, parked, outcome, created, updated, requests, input, cached, "+
					"output, reasoning, cost_usd, priced, repo, job, request) "+
					"VALUES (7, 'R1', 1, 0, x'', '', '', '', 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', 'of old')",
				"INSERT INTO blobs VALUES ('a', 1, x'00')",
				// As a disk may leave them: values that the tables do not take.
				"PRAGMA writable_schema = ON",
				"UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')') WHERE name IN ('runs', 'events')",
				"PRAGMA writable_schema = RESET",
				"INSERT INTO runs (key, id, token, head, chain, state, parked, outcome, created, updated, requests, input, cached, "+
					"output, reasoning, cost_usd, priced, repo, job, request) "+
					"VALUES (8, 'R2', 'none', 0, x'', '', '', '', 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', 'of old')",
				"INSERT INTO events VALUES (9, 8, 1, 'report', '', '{}', 'none')",
				"PRAGMA writable_schema = ON",
				"UPDATE sqlite_schema SET sql = sql || ' STRICT' WHERE name IN ('runs', 'events')",
				"PRAGMA writable_schema = RESET",
			))
			db := open(t, dir)
			for query, want := range map[string]int64{
				"SELECT next FROM unpacked WHERE content = 'events'":                              10,
				"SELECT count(*) FROM unpacked WHERE content = 'blobs' AND next = 'a '":           1,
				"SELECT count(*) FROM events WHERE packed IS NULL":                                1,
				"SELECT count(*) FROM runs WHERE title = ''":                                      2,
				"SELECT count(*) FROM pragma_table_info('blobs') WHERE name = 'packed'":           1,
				"SELECT count(*) FROM pragma_table_list WHERE strict AND name NOT LIKE 'sqlite%'": 19,
			} {
				if n, err := db.Count(ctx, query); err != nil || n != want {
					t.Errorf("%s: %d (%v), want %d", query, n, err, want)
				}
			}
			appendAll(t, own(t, db, "NEW"), runStart("NEW"), report("NEW", noiseText(5000)))
			must(t, db.VerifyChain(ctx, "NEW"))
		})
	}
}
