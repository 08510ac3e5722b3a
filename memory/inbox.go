package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/plan-engine/plan"
)

// Letter is what another process asks the owner of a run to do.
type Letter struct {
	ID      int64 // grows with the time of posting
	Kind    string
	Data    json.RawMessage
	Created time.Time // UTC
}

// Post puts a letter into the inbox of a run, from any process, and returns
// its id. When it returns, the letter is on disk; the owner of the run takes it
// at its next boundary. No data means null. Errors: [ErrNoRun], and [ErrEnded]
// for a run whose owner will never look again.
func (db *DB) Post(ctx context.Context, run plan.RunID, kind string, data json.RawMessage) (int64, error) {
	return db.PostSeen(ctx, run, kind, data, math.MaxInt64)
}

// LastLetter is the id of the last letter that was posted to any run, for [DB.PostSeen].
func (db *DB) LastLetter(ctx context.Context) (id int64, err error) {
	err = db.read.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM inbox").Scan(&id)
	return id, db.wrapError("look into the inbox of", err)
}

// PostSeen is [DB.Post] for a letter that was written by what the inbox had, up to the
// letter with the id last: it fails with [ErrNewLetters] where others have come to the run
// since, taken or not. Of two that decide at once, one learns of the other.
func (db *DB) PostSeen(
	ctx context.Context,
	run plan.RunID,
	kind string,
	data json.RawMessage,
	last int64,
) (int64, error) {
	if len(data) == 0 {
		data = json.RawMessage("null")
	}
	if kind == "" || !json.Valid(data) {
		return 0, fmt.Errorf("post to run %s: a letter needs a kind and valid JSON data", run)
	}
	res, err := db.write.exec(ctx, `INSERT INTO inbox (run, kind, data, created)
		SELECT key, ?, ?, ? FROM runs WHERE id = ? AND outcome = ''
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE run = key AND id > ?)`,
		kind, string(data), db.now().UnixNano(), string(run), last)
	if err != nil {
		return 0, db.runError("post to", run, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, db.runError("post to", run, err)
	}
	if n == 0 {
		r, err := db.Run(ctx, run)
		switch {
		case err != nil:
			return 0, err
		case !r.Ended():
			return 0, fmt.Errorf("post to run %s: %w", run, ErrNewLetters)
		}
		return 0, fmt.Errorf("post to run %s: %w", run, ErrEnded)
	}
	id, err := res.LastInsertId()
	if err != nil {
		return 0, db.runError("post to", run, err)
	}
	return id, nil
}

// RunsWithLetters returns the runs that letters wait for.
func (db *DB) RunsWithLetters(ctx context.Context) ([]plan.RunID, error) {
	const op = "look for letters in"
	rows, err := db.read.QueryContext(
		ctx,
		"SELECT DISTINCT runs.id FROM inbox JOIN runs ON run = key WHERE taken_seq IS NULL AND outcome = ''",
	)
	if err != nil {
		return nil, db.wrapError(op, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []plan.RunID
	for rows.Next() {
		var id plan.RunID
		if err := rows.Scan(&id); err != nil {
			return nil, db.wrapError(op, err)
		}
		out = append(out, id)
	}
	return out, db.wrapError(op, rows.Err())
}

// Letters returns the letters that wait in the inbox, oldest first. They wait
// until [Writer.AppendTaking] takes them.
func (w *Writer) Letters(ctx context.Context) ([]Letter, error) { return w.db.Letters(ctx, w.run) }

// letterWhole is the condition of letters that are what was posted.
var letterWhole = provenIn("inbox", "id", "run", "kind", "data", "created", "taken_seq")

// Letters returns the letters that wait in the inbox of a run, oldest first. One that is
// not what was posted is an error.
func (db *DB) Letters(ctx context.Context, run plan.RunID) ([]Letter, error) {
	// A loop looks before each turn. For a context that can end, database/sql and
	// the driver would start a goroutine each, which costs more than the look.
	rows, err := db.stmt.letters.QueryContext(context.WithoutCancel(ctx), string(run))
	if err != nil {
		return nil, db.runError("read the inbox of", run, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var letters []Letter
	for rows.Next() {
		var l Letter
		var created int64
		var whole bool
		if err := rows.Scan(&l.ID, &l.Kind, (*[]byte)(&l.Data), &created, &whole); err != nil {
			return nil, db.runError("read the inbox of", run, err)
		}
		if !whole {
			return nil, db.rowError("read the inbox of run "+string(run)+" in", "inbox", l.ID)
		}
		l.Created = fromNanos(created)
		letters = append(letters, l)
	}
	if err := rows.Err(); err != nil {
		return nil, db.runError("read the inbox of", run, err)
	}
	return letters, nil
}
