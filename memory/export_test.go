package memory

import "context"

// PageLines is for tests that read more than a page.
const PageLines = pageLines

// Exec runs a statement on the writing connection, so that a test can bring
// about what a disk or another program would.
func (db *DB) Exec(ctx context.Context, query string, args ...any) error {
	_, err := db.write.ExecContext(ctx, query, args...)
	return err
}

// Count runs a query that returns one number.
func (db *DB) Count(ctx context.Context, query string, args ...any) (int64, error) {
	var n int64
	err := db.read.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}

// Checkpoint empties the write-ahead log, and reports whether a reader is in
// its way.
func (db *DB) Checkpoint(ctx context.Context) (busy bool, err error) {
	var log, done int
	err = db.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done)
	return busy, err
}
