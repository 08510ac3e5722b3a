package memory

import (
	"context"
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
		FROM runs`, bytesPerEvent)
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

// Remove takes a run that has ended out of the database, with all that only it
// needs. Errors: [ErrNoRun], [ErrUnfinished], [*HeldError].
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
	return nil
}

// removal takes the run of a writer out.
type removal struct{ w *Writer }

// write implements pending.
func (r removal) write(ctx context.Context, tx *txn) error {
	key := r.w.tail.key
	hashes, err := r.w.db.blobsOf(ctx, key) // no other process changes them while the run is owned
	if err != nil {
		return err
	}
	for _, query := range []string{
		"DELETE FROM inbox WHERE run = ?",
		"DELETE FROM events WHERE run = ?",
		"DELETE FROM blob_refs WHERE run = ?",
		"DELETE FROM runs WHERE key = ?",
	} {
		if _, err := tx.tx.ExecContext(ctx, query, key); err != nil {
			return fmt.Errorf("%.24s: %w", query, err)
		}
	}
	// Notes that the run has been counted: it will not come to an end again.
	for _, query := range []string{
		"DELETE FROM skill_outcomes WHERE run = ?",
		"DELETE FROM streak_runs WHERE run = ?",
	} {
		if _, err := tx.tx.ExecContext(ctx, query, string(r.w.run)); err != nil {
			return fmt.Errorf("%.32s: %w", query, err)
		}
	}
	for _, hash := range hashes {
		_, err := tx.tx.ExecContext(
			ctx,
			"DELETE FROM blobs WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE hash = ?1)",
			hash,
		)
		if err != nil {
			return fmt.Errorf("remove a blob: %w", err)
		}
	}
	return nil
}

// Shrink gives the free space in the file back to the disk. It needs room for a
// second copy, and keeps all who write waiting; no run should be live.
func (db *DB) Shrink(ctx context.Context) error {
	if _, err := db.write.ExecContext(ctx, "VACUUM"); err != nil {
		return db.wrapError("shrink", err)
	}
	if !db.rollback {
		if _, err := db.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return db.wrapError("shrink", err)
		}
	}
	return nil
}
