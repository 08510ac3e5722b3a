package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// repackRows and repackBytes bound what one step of [DB.Pack] looks at and
// compresses, and so how long it keeps other writers waiting.
const (
	repackRows  = 1000
	repackBytes = 2 << 20
)

// Pack compresses what an earlier program has stored as it is, and gives sums to its
// rows, in small steps that other writers come between. It goes on where the last call has stopped, and has
// nothing to do once all was looked at: what is stored today is compressed from the
// beginning. Progress, if there is one, hears after each step how many rows it has
// looked at.
func (db *DB) Pack(ctx context.Context, progress func(done, rows int)) error {
	if err := db.sumOldRows(ctx); err != nil {
		return db.wrapError("compress", err)
	}
	total, err := db.unpackedRows(ctx)
	if err != nil || total == 0 {
		return err
	}
	looked := 0
	for _, r := range []*repack{
		{
			table: "events",
			list: `SELECT id, octet_length(line), packed IS NOT NULL FROM events
				WHERE id < ? ORDER BY id DESC LIMIT ?`,
			read:   "SELECT CAST(line AS BLOB) FROM events WHERE id = ?",
			change: "UPDATE events SET line = '', packed = ? WHERE id = ?",
		},
		{
			table:  "blobs",
			list:   "SELECT hash, size, packed IS NOT NULL FROM blobs WHERE hash < ? ORDER BY hash DESC LIMIT ?",
			read:   "SELECT data FROM blobs WHERE hash = ?",
			change: "UPDATE blobs SET data = x'', packed = ? WHERE hash = ?",
		},
	} {
		r.packer = &db.packer
		for !r.done {
			if err := ctx.Err(); err != nil {
				return db.wrapError("compress", context.Cause(ctx))
			}
			if err := db.commits.submit(context.WithoutCancel(ctx), r); err != nil {
				return db.wrapError("compress", err)
			}
			if looked += r.looked; progress != nil {
				progress(min(looked, total), total)
			}
		}
	}
	return nil
}

// unpackedRows is about how many rows Pack will look at. Counting them would read them.
func (db *DB) unpackedRows(ctx context.Context) (n int, err error) {
	err = db.read.QueryRowContext(ctx, `SELECT
		(SELECT ifnull(sum(next), 0) FROM unpacked WHERE content = 'events') +
		(SELECT ifnull(max(rowid), 0) FROM blobs WHERE EXISTS (SELECT 1 FROM unpacked WHERE content = 'blobs')) +
		(SELECT count(*) FROM unpacked)`).Scan(&n)
	return n, db.wrapError("compress", err)
}

// repack compresses the contents of one table, from the top.
type repack struct {
	table, list, read, change string

	packer *packer
	done   bool
	looked int // rows of the last step
}

// write implements pending: one step.
func (r *repack) write(ctx context.Context, tx *txn) error {
	r.looked = 0
	var below any
	err := tx.tx.QueryRowContext(ctx, "SELECT next FROM unpacked WHERE content = ?", r.table).Scan(&below)
	if errors.Is(err, sql.ErrNoRows) {
		r.done = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("read how far %s are compressed: %w", r.table, err)
	}
	keys, next, err := r.next(ctx, tx.tx, below)
	if err != nil {
		return fmt.Errorf("list %s: %w", r.table, err)
	}
	for _, key := range keys {
		var data []byte
		if err := tx.tx.QueryRowContext(ctx, r.read, key).Scan(&data); err != nil {
			return fmt.Errorf("read of %s: %w", r.table, err)
		}
		if packed := r.packer.pack(data); packed != nil {
			if _, err := tx.tx.ExecContext(ctx, r.change, packed, key); err != nil {
				return fmt.Errorf("compress %s: %w", r.table, err)
			}
		}
	}
	if next == nil {
		_, err = tx.tx.ExecContext(ctx, "DELETE FROM unpacked WHERE content = ?", r.table)
	} else {
		_, err = tx.tx.ExecContext(ctx, "UPDATE unpacked SET next = ? WHERE content = ?", next, r.table)
	}
	return err //nolint:wrapcheck // the caller names the file
}

// next lists what a step compresses, and where the step after it begins: nil where
// nothing is left.
func (r *repack) next(ctx context.Context, tx *sql.Tx, below any) (keys []any, next any, err error) {
	rows, err := tx.QueryContext(ctx, r.list, below, repackRows)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller says what was listed
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	for total := int64(0); total < repackBytes && rows.Next(); {
		var size int64
		var packed bool
		if err := rows.Scan(&next, &size, &packed); err != nil {
			return nil, nil, err //nolint:wrapcheck // the caller says what was listed
		}
		r.looked++
		if size >= packFrom && !packed {
			keys = append(keys, next)
			total += size
		}
	}
	return keys, next, rows.Err()
}
