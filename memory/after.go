package memory

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/plan-engine/plan"
)

// AfterLetter is a letter to a run that has ended. No owner reads it: it says what
// follows from the run, and the process that carries that out notes it as done.
type AfterLetter struct {
	Letter
	Run     plan.RunID // that has ended
	Settled bool
}

// KindContinue is the kind of a letter by which another run is to go on from one that
// has ended. Until it is settled, that one cannot be removed.
const KindContinue = "continue"

// PostAfter is [DB.Post] for a run that has ended. Errors: [ErrNoRun], and
// [ErrUnfinished] for a run that goes on.
func (db *DB) PostAfter(ctx context.Context, run plan.RunID, kind string, data json.RawMessage) (int64, error) {
	const op = "post to"
	res, err := db.write.exec(ctx, `INSERT INTO inbox (run, kind, data, created)
		SELECT key, ?, ?, ? FROM runs WHERE id = ? AND outcome <> ''`,
		kind, string(data), db.now().UnixNano(), string(run))
	if err != nil {
		return 0, db.runError(op, run, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, db.runError(op, run, err)
	}
	if n == 0 {
		if _, err := db.Run(ctx, run); err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("post to run %s: %w", run, ErrUnfinished)
	}
	id, err := res.LastInsertId()
	return id, db.runError(op, run, err)
}

// After returns the letters of a kind that were posted to runs after their end, oldest
// first. Waiting leaves out those that are settled.
func (db *DB) After(ctx context.Context, kind string, waiting bool) (out []AfterLetter, err error) {
	const op = "read what follows from runs in"
	query := `SELECT inbox.id, runs.id, kind, data, inbox.created, taken_seq IS NOT NULL, ` + letterWhole + `
		FROM inbox JOIN runs ON run = key WHERE kind = ?`
	if waiting {
		query += " AND taken_seq IS NULL"
	}
	rows, err := db.read.QueryContext(ctx, query+" ORDER BY inbox.id", kind)
	if err != nil {
		return nil, db.wrapError(op, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	for rows.Next() {
		var l AfterLetter
		var created int64
		var whole bool
		if err := rows.Scan(&l.ID, &l.Run, &l.Kind, (*[]byte)(&l.Data), &created, &l.Settled, &whole); err != nil {
			return nil, db.wrapError(op, err)
		}
		if !whole { // nothing follows from it
			continue
		}
		l.Created = fromNanos(created)
		out = append(out, l)
	}
	return out, db.wrapError(op, rows.Err())
}

// SettleAfter marks a letter of [DB.PostAfter] as carried out.
func (db *DB) SettleAfter(ctx context.Context, id int64) error {
	_, err := db.write.exec(ctx, "UPDATE inbox SET taken_seq = 0 WHERE id = ? AND taken_seq IS NULL", id)
	return db.wrapError("settle a letter in", err)
}
