package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/plan-engine/plan"
)

// kindImported is a letter that says which part of a run's journal was written
// elsewhere: up to the event after which it counts as taken. It lies in the same
// commit as that part, goes with the run, and is nothing that an owner reads.
const kindImported = "imported"

const insertImported = `INSERT INTO inbox (run, kind, data, created, taken_seq)
	SELECT key, '` + kindImported + `', 'null', ?, ? FROM runs WHERE id = ?`

// Imported returns the seq of the last event of a run that was written elsewhere
// and taken in by [DB.Import], or [Writer.AppendImported]; 0 for a run that was begun here.
func (db *DB) Imported(ctx context.Context, run plan.RunID) (upTo int64, err error) {
	err = db.read.QueryRowContext(ctx, `SELECT coalesce(max(taken_seq), 0) FROM inbox JOIN runs ON run = key
		WHERE runs.id = ? AND kind = '`+kindImported+`'`, string(run)).Scan(&upTo)
	return upTo, db.runError("look for the origin of", run, err)
}

// ImportedAt is when a run was taken in, to the nanosecond: no journal from elsewhere can say it.
// It is the zero time for a run that was begun here.
func (db *DB) ImportedAt(ctx context.Context, run plan.RunID) (time.Time, error) {
	var at int64
	err := db.read.QueryRowContext(ctx, `SELECT coalesce(max(inbox.created), 0) FROM inbox JOIN runs ON run = key
		WHERE runs.id = ? AND kind = '`+kindImported+`'`, string(run)).Scan(&at)
	if err != nil || at == 0 {
		return time.Time{}, db.runError("look for the origin of", run, err)
	}
	return time.Unix(0, at), nil
}

// noteImported notes that the journal of a run, up to an event, was written elsewhere.
func (w *Writer) noteImported(ctx context.Context, tx *txn, upTo int64) error {
	_, err := tx.tx.ExecContext(ctx, insertImported, w.db.now().UnixNano(), upTo, string(w.run))
	if err != nil {
		return fmt.Errorf("note where the run is from: %w", err)
	}
	return nil
}

// onlyImported is the condition of runs that were taken in and have not gone on here: they have
// done nothing in this home but come to an end, with what that closes, and what their journals
// name are no places of it.
const onlyImported = `EXISTS (SELECT 1 FROM inbox WHERE run = key AND kind = '` + kindImported + `' AND NOT EXISTS (
	SELECT 1 FROM events WHERE run = key AND seq > taken_seq AND type IN (
		'unparked', 'parked', 'settings', 'drift', 'phase_start', 'check_start', 'snapshot')))`

// OnlyImported lists the runs that were taken in and have not gone on here.
func (db *DB) OnlyImported(ctx context.Context) (imported map[plan.RunID]bool, err error) {
	const op = "list runs from elsewhere in"
	rows, err := db.read.QueryContext(ctx, "SELECT id FROM runs WHERE "+onlyImported)
	if err != nil {
		return nil, db.wrapError(op, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	imported = map[plan.RunID]bool{}
	for rows.Next() {
		var id plan.RunID
		if err := rows.Scan(&id); err != nil {
			return nil, db.wrapError(op, err)
		}
		imported[id] = true
	}
	return imported, db.wrapError(op, rows.Err())
}
