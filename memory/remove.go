package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/plan-engine/plan"
)

// ErrUnfinished says that a run has not ended, and so is not to be removed.
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
		(SELECT ifnull(sum(ifnull(octet_length(packed), size)), 0) FROM blobs JOIN blob_refs USING (hash) WHERE run = key
			AND NOT EXISTS (SELECT 1 FROM blob_refs AS other WHERE other.hash = blobs.hash AND other.run <> key))
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

// Remove takes a run that has ended out of the database, with all that only it
// needs. It is gone at once; what it had is removed in steps. If the process dies
// between two of them, [DB.FinishRemovals] goes on. Errors: [ErrNoRun],
// [ErrUnfinished], [*HeldError].
func (db *DB) Remove(ctx context.Context, run plan.RunID) error {
	if info, err := db.Run(ctx, run); err != nil {
		return err
	} else if !info.Ended() {
		return fmt.Errorf("remove run %s: %w", run, ErrUnfinished)
	}
	w, err := db.Own(ctx, run)
	if err != nil {
		return err
	}
	defer w.Close() //nolint:errcheck // nothing is written with it
	if err := db.commits.submit(context.WithoutCancel(ctx), removal{w}); err != nil {
		return db.runError("remove", run, err)
	}
	// No process waits for the lock of a run that is gone.
	if err := os.Remove(w.lock.Path()); err != nil {
		return wrapError("remove", w.lock.Path(), err)
	}
	w.lock.Close() //nolint:errcheck // closing the file releases it in any case
	w.lock = nil
	return db.FinishRemovals(ctx)
}

// removal hides the run of a writer from all who read.
type removal struct{ w *Writer }

// write implements pending.
func (r removal) write(ctx context.Context, tx *txn) error {
	for _, query := range []string{
		"DELETE FROM inbox WHERE run = ?1",
		// Notes that the run has been counted: it will not come to an end again.
		"DELETE FROM skill_outcomes WHERE run = ?2",
		"DELETE FROM streak_runs WHERE run = ?2",
		"UPDATE runs SET id = '" + removedPrefix + "' || ?2 WHERE key = ?1",
	} {
		if _, err := tx.tx.ExecContext(ctx, query, r.w.tail.key, string(r.w.run)); err != nil {
			return fmt.Errorf("%.32s: %w", query, err)
		}
	}
	return nil
}

// FinishRemovals removes what is left of removed runs, in steps between which other
// processes write.
func (db *DB) FinishRemovals(ctx context.Context) error {
	for {
		var left bool
		err := db.inTx(ctx, func(tx *sql.Tx) (err error) {
			left, err = removeStep(ctx, tx)
			return err
		})
		if err != nil || !left {
			return db.wrapError("remove what removed runs have left in", err)
		}
	}
}

// removeStep makes one step, and reports false where nothing was left to do.
func removeStep(ctx context.Context, tx *sql.Tx) (bool, error) {
	var key int64
	err := tx.QueryRowContext(ctx, "SELECT key FROM runs WHERE NOT "+notRemoved+" LIMIT 1").Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find a removed run: %w", err)
	}
	for _, part := range []removedPart{
		{
			list: "SELECT id, octet_length(line) FROM events WHERE run = ? ORDER BY seq LIMIT ?",
			drop: []string{"DELETE FROM events WHERE run = ?1 AND id = ?2"},
		},
		{
			list: "SELECT hash, size FROM blob_refs JOIN blobs USING (hash) WHERE run = ? LIMIT ?",
			drop: []string{
				"DELETE FROM blob_refs WHERE run = ?1 AND hash = ?2",
				"DELETE FROM blobs WHERE hash = ?2 AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE hash = ?2)",
			},
		},
	} {
		if some, err := part.remove(ctx, tx, key); some || err != nil {
			return true, err
		}
	}
	_, err = tx.ExecContext(ctx, "DELETE FROM runs WHERE key = ?", key)
	return true, err //nolint:wrapcheck // FinishRemovals says what was done
}

// removedPart is one kind of what a run has: how to list it with sizes, and what
// drops one of it.
type removedPart struct {
	list string
	drop []string
}

// remove drops as much as a step may, and reports whether there was any.
func (p removedPart) remove(ctx context.Context, tx *sql.Tx, key int64) (some bool, err error) {
	items, err := p.choose(ctx, tx, key)
	if err != nil || len(items) == 0 {
		return false, err
	}
	for _, query := range p.drop {
		drop, err := tx.PrepareContext(ctx, query)
		if err != nil {
			return true, err //nolint:wrapcheck // FinishRemovals says what was done
		}
		defer drop.Close() //nolint:errcheck // the transaction closes it
		for _, item := range items {
			if _, err := drop.ExecContext(ctx, key, item); err != nil {
				return true, err //nolint:wrapcheck // FinishRemovals says what was done
			}
		}
	}
	return true, nil
}

// choose lists what one step drops.
func (p removedPart) choose(ctx context.Context, tx *sql.Tx, key int64) ([]any, error) {
	rows, err := tx.QueryContext(ctx, p.list, key, maxStepRows)
	if err != nil {
		return nil, err //nolint:wrapcheck // FinishRemovals says what was done
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var items []any
	for bytes := int64(0); bytes < maxStepBytes && rows.Next(); {
		var item any
		var size int64
		if err := rows.Scan(&item, &size); err != nil {
			return nil, err //nolint:wrapcheck // FinishRemovals says what was done
		}
		items = append(items, item)
		bytes += size
	}
	return items, rows.Err()
}
