package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/failpoint"
)

// ErrUnfinished says that a run has not ended, or that another one is to go on from its
// end, and so is not to be removed.
var ErrUnfinished = errors.New("the run has not ended")

// bytesPerEvent is about what an event takes beside its line: its row, its hash and
// its places in the indexes, in bytes.
const bytesPerEvent = 160

// Sizes returns about how many bytes each run would give free: its events, and
// the blobs that no other run has.
func (db *DB) Sizes(ctx context.Context) (map[plan.RunID]int64, error) {
	const op = "measure the runs in"
	rows, err := db.read.QueryContext(ctx, `SELECT id,
		(SELECT ifnull(sum(octet_length(line) + ifnull(octet_length(packed), 0) + ?), 0) FROM events WHERE run = key) +
		(SELECT ifnull(sum(ifnull(octet_length(packed), size)), 0) FROM blobs JOIN blob_refs USING (hash)
			WHERE run = key AND NOT EXISTS (
				SELECT 1 FROM blob_refs AS other WHERE other.hash = blobs.hash AND other.run <> key))
		FROM runs WHERE `+notRemoved, bytesPerEvent)
	if err != nil {
		return nil, db.wrapError(op, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	sizes := map[plan.RunID]int64{}
	for rows.Next() {
		var id plan.RunID
		var size int64
		if err := rows.Scan(&id, &size); err != nil {
			return nil, db.wrapError(op, err)
		}
		sizes[id] = size
	}
	return sizes, db.wrapError(op, rows.Err())
}

// UsedBytes is how many bytes of the file hold something. What removed runs have
// given free is used again before the file grows.
func (db *DB) UsedBytes(ctx context.Context) (int64, error) {
	var used int64
	err := db.read.QueryRowContext(ctx, `SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&used)
	return used, db.wrapError("measure", err)
}

// removedPrefix begins the id of a run that is gone for all who read, while its
// journal is being removed. No run's own id has a slash.
const removedPrefix = "removed/"

// notRemoved is the condition of all who list runs.
const notRemoved = "id NOT GLOB '" + removedPrefix + "*'"

// A step of a removal takes out as much as this, so that other processes write in
// between: they wait for tens of milliseconds at most. A blob that is larger is a
// step of its own.
const (
	maxStepRows  = 500
	maxStepBytes = 4 << 20
)

// hideAtOnce is how many runs a step of [DB.Hide] takes out, and so how many locks it holds.
const hideAtOnce = 100

// Hide takes runs that have ended out of the database, and says which are gone: at
// once for all who read. What they had is removed by [DB.FinishRemovals]. One that
// cannot go does not keep the others: [ErrNoRun], [ErrUnfinished], [*HeldError].
func (db *DB) Hide(ctx context.Context, runs ...plan.RunID) (hidden []plan.RunID, err error) {
	var faults []error
	for some := range slices.Chunk(runs, hideAtOnce) {
		if ctx.Err() != nil {
			faults = append(faults, context.Cause(ctx))
			break
		}
		done, err := db.hideSome(ctx, some)
		hidden = append(hidden, done...)
		faults = append(faults, err)
	}
	return hidden, errors.Join(faults...)
}

// hideSome is one step of Hide, and one commit.
func (db *DB) hideSome(ctx context.Context, runs []plan.RunID) ([]plan.RunID, error) {
	h := &hiding{}
	var faults []error
	for _, run := range runs {
		// The process that writes a run has its lock, and none comes to be while it is hidden.
		lock, err := db.lockRun(ctx, run)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		defer lock.Close() //nolint:errcheck // closing the file releases it in any case
		h.locked = append(h.locked, run)
	}
	if len(h.locked) == 0 {
		return nil, errors.Join(faults...)
	}
	failpoint.Hit("before runs are hidden")
	if err := db.commits.submit(context.WithoutCancel(ctx), h); err != nil {
		return nil, errors.Join(append(faults, db.wrapError("remove runs from", err))...)
	}
	failpoint.Hit("after runs are hidden")
	faults = append(faults, h.faults...)
	for _, run := range h.hidden { // no process waits for the lock of a run that is gone
		path, err := db.lockPath(run)
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			faults = append(faults, wrapError("remove", path, err))
		}
	}
	return h.hidden, errors.Join(faults...)
}

// hiding takes runs whose locks are held out of what is read.
type hiding struct {
	locked []plan.RunID

	hidden []plan.RunID
	faults []error
}

// write implements pending.
func (h *hiding) write(ctx context.Context, tx *txn) error {
	h.hidden, h.faults = nil, nil
	drops := []string{
		"UPDATE runs SET repo = '' WHERE key = ?1 AND ?2 <> '' AND " + onlyImported, // it has left nothing there
		"DELETE FROM inbox WHERE run = ?1 AND ?2 <> ''",
		// Notes that the run has been counted: it will not come to an end again.
		"DELETE FROM skill_outcomes WHERE run = ?2 AND ?1 <> 0",
		"DELETE FROM streak_runs WHERE run = ?2 AND ?1 <> 0",
		"UPDATE runs SET id = '" + removedPrefix + "' || ?2, token = token + 1 WHERE key = ?1",
	}
	stmts, err := prepareIn(ctx, tx.tx, append(drops, `SELECT key, outcome <> '' AND NOT EXISTS (
		SELECT 1 FROM inbox WHERE run = key AND kind = '`+KindContinue+`' AND taken_seq IS NULL)
		FROM runs WHERE id = ?`)...)
	if err != nil {
		return err
	}
	for _, run := range h.locked {
		var key int64
		var ended bool
		switch err := stmts[len(drops)].QueryRowContext(ctx, string(run)).Scan(&key, &ended); {
		case errors.Is(err, sql.ErrNoRows):
			h.faults = append(h.faults, fmt.Errorf("remove run %s: %w", run, ErrNoRun))
			continue
		case err != nil:
			return fmt.Errorf("read run %s: %w", run, err)
		case !ended:
			h.faults = append(h.faults, fmt.Errorf("remove run %s: %w", run, ErrUnfinished))
			continue
		}
		for i, query := range drops {
			if _, err := stmts[i].ExecContext(ctx, key, string(run)); err != nil {
				return fmt.Errorf("%.32s: %w", query, err)
			}
		}
		h.hidden = append(h.hidden, run)
	}
	return nil
}

// prepareIn prepares queries, which the end of the transaction closes.
func prepareIn(ctx context.Context, tx *sql.Tx, queries ...string) ([]*sql.Stmt, error) {
	out := make([]*sql.Stmt, len(queries))
	for i, query := range queries {
		var err error
		if out[i], err = tx.PrepareContext(ctx, query); err != nil { //nolint:sqlclosecheck // the transaction closes it
			return nil, fmt.Errorf("%.32s: %w", query, err)
		}
	}
	return out, nil
}

// Hidden are the runs of which something is left: their ids and repositories, "" where they
// did nothing here.
func (db *DB) Hidden(ctx context.Context) (runs []RunInfo, err error) {
	const op = "list removed runs in"
	const query = "SELECT substr(id, ?), repo FROM runs WHERE NOT " + notRemoved
	rows, err := db.read.QueryContext(ctx, query, len(removedPrefix)+1)
	if err != nil {
		return nil, db.wrapError(op, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	for rows.Next() {
		var r RunInfo
		if err := rows.Scan(&r.ID, &r.Repo); err != nil {
			return nil, db.wrapError(op, err)
		}
		runs = append(runs, r)
	}
	return runs, db.wrapError(op, rows.Err())
}

// removedBut is the condition of hidden runs, without those of a JSON array.
const removedBut = "NOT " + notRemoved + " AND id NOT IN (SELECT '" + removedPrefix + "' || value FROM json_each(?))"

// FinishRemovals removes what hidden runs have left, but for those that wait for
// something else to go first, in steps between which other processes write. Progress, if
// there is one, hears after each how many of them are done. If the process dies between
// two steps, the next call goes on.
func (db *DB) FinishRemovals(ctx context.Context, waiting []plan.RunID, progress func(done, runs int)) error {
	const op = "remove what removed runs have left in"
	but, err := json.Marshal(append([]plan.RunID{}, waiting...))
	if err != nil {
		return db.wrapError(op, err)
	}
	var left int
	err = db.read.QueryRowContext(ctx, "SELECT count(*) FROM runs WHERE "+removedBut, string(but)).Scan(&left)
	if err != nil {
		return db.wrapError(op, err)
	}
	for total := left; left > 0; {
		if ctx.Err() != nil {
			return db.wrapError(op, context.Cause(ctx))
		}
		step := removal{but: string(but)}
		if err := db.inTx(ctx, func(tx *sql.Tx) error { return step.run(ctx, tx) }); err != nil {
			return db.wrapError(op, err)
		}
		failpoint.Hit("after a step of a removal")
		if left -= step.runs; step.none {
			left = 0 // or another process has removed the rest
		}
		if progress != nil {
			progress(total-max(left, 0), total)
		}
	}
	return nil
}

// removal is one step: of as many runs as there is room for.
type removal struct {
	but   string // a JSON array of runs that wait
	rows  int
	bytes int64
	runs  int  // that are gone for good
	none  bool // there is nothing left to remove

	parts [2]removedPart
	first *sql.Stmt // finds a run
	last  *sql.Stmt // removes its row
}

// removedPart is one kind of what a run has: how to list it with sizes, and what
// drops one of it.
type removedPart struct {
	list *sql.Stmt
	drop []*sql.Stmt
}

func (r *removal) prepare(ctx context.Context, tx *sql.Tx) error {
	stmts, err := prepareIn(ctx, tx,
		"SELECT key FROM runs WHERE "+removedBut+" LIMIT 1",
		"DELETE FROM runs WHERE key = ?",
		`SELECT id, octet_length(line) + ifnull(octet_length(packed), 0)
			FROM events WHERE run = ? ORDER BY seq LIMIT ?`,
		"DELETE FROM events WHERE run = ?1 AND id = ?2",
		"SELECT hash, size FROM blob_refs JOIN blobs USING (hash) WHERE run = ? LIMIT ?",
		"DELETE FROM blob_refs WHERE run = ?1 AND hash = ?2",
		"DELETE FROM blobs WHERE hash = ?2 AND ?1 <> 0 AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE hash = ?2)",
	)
	if err != nil {
		return err
	}
	r.first, r.last = stmts[0], stmts[1]
	r.parts = [2]removedPart{{stmts[2], stmts[3:4]}, {stmts[4], stmts[5:]}}
	return nil
}

func (r *removal) full() bool { return r.rows >= maxStepRows || r.bytes >= maxStepBytes }

func (r *removal) run(ctx context.Context, tx *sql.Tx) error {
	if err := r.prepare(ctx, tx); err != nil {
		return err
	}
	for {
		var key int64
		err := r.first.QueryRowContext(ctx, r.but).Scan(&key)
		if errors.Is(err, sql.ErrNoRows) {
			r.none = true
			return nil
		}
		if err != nil {
			return fmt.Errorf("find a removed run: %w", err)
		}
		for _, part := range r.parts {
			if err := r.remove(ctx, part, key); err != nil {
				return err
			}
			if r.full() {
				return nil
			}
		}
		if _, err := r.last.ExecContext(ctx, key); err != nil {
			return err //nolint:wrapcheck // FinishRemovals says what was done
		}
		r.rows++
		r.runs++
	}
}

// remove drops as much of a part as there is room for.
func (r *removal) remove(ctx context.Context, part removedPart, key int64) error {
	items, err := r.choose(ctx, part, key)
	if err != nil {
		return err
	}
	for _, drop := range part.drop {
		for _, item := range items {
			if _, err := drop.ExecContext(ctx, key, item); err != nil {
				return err //nolint:wrapcheck // FinishRemovals says what was done
			}
		}
	}
	return nil
}

// choose lists what is dropped of a part.
func (r *removal) choose(ctx context.Context, part removedPart, key int64) ([]any, error) {
	rows, err := part.list.QueryContext(ctx, key, maxStepRows-r.rows)
	if err != nil {
		return nil, err //nolint:wrapcheck // FinishRemovals says what was done
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var items []any
	for !r.full() && rows.Next() {
		var item any
		var size int64
		if err := rows.Scan(&item, &size); err != nil {
			return nil, err //nolint:wrapcheck // FinishRemovals says what was done
		}
		items = append(items, item)
		r.rows++
		r.bytes += size
	}
	return items, rows.Err()
}
