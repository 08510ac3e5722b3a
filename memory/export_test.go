package memory

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/plan-engine/plan"
)

// PageLines is for tests that read more than a page.
const PageLines = pageLines

// Exec runs a statement on the writing connection, so that a test can bring
// about what a disk or another program would.
func (db *DB) Exec(ctx context.Context, query string, args ...any) error {
	_, err := db.write.pool.ExecContext(ctx, query, args...)
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
	err = db.write.pool.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &done)
	return busy, err
}

// HoldWriter takes the one connection that writes: what needs it waits until it is
// given back.
func (db *DB) HoldWriter(ctx context.Context) (giveBack func() error, err error) {
	conn, err := db.write.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return conn.Close, nil
}

// Waiting is how many appends wait for the one that is being committed.
func (db *DB) Waiting() int {
	db.commits.mu.Lock()
	defer db.commits.mu.Unlock()
	return len(db.commits.queue)
}

// OnBegin calls f at the beginning of every commit from now on.
func (db *DB) OnBegin(f func()) {
	begin := db.commits.begin
	db.commits.begin = func(ctx context.Context) (*writeTx, error) {
		f()
		return begin(ctx)
	}
}

// OnWrite calls f in every commit from now on, where no other process can write.
func (db *DB) OnWrite(f func()) {
	begin := db.commits.begin
	db.commits.begin = func(ctx context.Context) (*writeTx, error) {
		tx, err := begin(ctx)
		f()
		return tx, err
	}
}

// CleanJSON cleans a JSON text as Export does.
func CleanJSON(data []byte, redact func(string) string) []byte {
	return (&cleaner{redact: redact}).json(data)
}

// MakeOld makes the database of a program that knew the first versions of the schema
// alone, and runs statements on it.
func MakeOld(ctx context.Context, cfg Config, version int, statements ...string) error {
	scripts, err := migrations()
	if err != nil {
		return err
	}
	db := &DB{path: cfg.Path}
	if err := os.WriteFile(cfg.Path, nil, 0o600); err != nil {
		return err
	}
	if db.write.pool, err = openPool(db.writeDSN(), 1); err != nil {
		return err
	}
	defer db.write.pool.Close()
	tx, err := db.write.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := errors.Join(migrate(ctx, tx, scripts[:version]), tx.Commit()); err != nil {
		return err
	}
	for _, s := range statements {
		if err := db.Exec(ctx, s); err != nil {
			return fmt.Errorf("%.60s: %w", s, err)
		}
	}
	return nil
}

// Remove removes runs with all that they have.
func (db *DB) Remove(ctx context.Context, runs ...plan.RunID) error {
	_, err := db.Hide(ctx, runs...)
	return errors.Join(err, db.FinishRemovals(ctx, nil, nil))
}

// Texts runs a query that returns a text a row.
func (db *DB) Texts(ctx context.Context, query string) ([]string, error) {
	rows, err := db.read.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, rows.Err()
}
