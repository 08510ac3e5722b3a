package memory

import (
	"context"

	"github.com/plan-engine/plan"
)

// kindImported is a letter that says which part of a run's journal was written
// elsewhere: up to the event after which it counts as taken. It lies in the same
// commit as that part, goes with the run, and is nothing that an owner reads.
const kindImported = "imported"

const insertImported = `INSERT INTO inbox (run, kind, data, created, taken_seq)
	SELECT key, '` + kindImported + `', 'null', ?, ? FROM runs WHERE id = ?`

// Imported returns the seq of the last event of a run that was written elsewhere
// and taken in by [DB.Import]; 0 for a run that was begun here.
func (db *DB) Imported(ctx context.Context, run plan.RunID) (upTo int64, err error) {
	err = db.read.QueryRowContext(ctx, `SELECT coalesce(max(taken_seq), 0) FROM inbox JOIN runs ON run = key
		WHERE runs.id = ? AND kind = '`+kindImported+`'`, string(run)).Scan(&upTo)
	return upTo, db.runError("look for the origin of", run, err)
}

// MarkImported notes that the journal of a run, up to an event, was written elsewhere:
// for one that begins as an imported run does.
func (db *DB) MarkImported(ctx context.Context, run plan.RunID, upTo int64) error {
	_, err := db.write.exec(ctx, insertImported, db.now().UnixNano(), upTo, string(run))
	return db.runError("note the origin of", run, err)
}
