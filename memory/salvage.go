package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/plan-engine/plan"
)

// SkippedRun is what a backup of a damaged database has left out.
type SkippedRun struct {
	Run plan.RunID // "" for what belongs to no run, or to one that is not known any more
	Err error      // the damage
}

// runTables hold what belongs to one run; blobs may belong to several.
var runTables = []string{"events", "blob_refs", "inbox"}

// salvage copies what can be read of a database to a new file, run by run, and then
// takes those runs out of it that are not what was committed.
type salvage struct {
	conn    *sql.Conn // of the new file, with the old one attached
	skipped []SkippedRun
}

// writeSalvage writes what is whole to an empty file, and says what is not.
func (db *DB) writeSalvage(ctx context.Context, path string) (skipped []SkippedRun, err error) {
	scripts, err := migrations()
	if err != nil {
		return nil, err
	}
	// It is synced when it is done, and only named then.
	pool, err := openPool(dsn(path, "mode=rw&_busy_timeout=5000&_synchronous=OFF&_journal_mode=DELETE"), 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the file
	}
	if err := migrate(ctx, tx, scripts); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the file
	}
	s := &salvage{conn: conn}
	err = errors.Join(s.copy(ctx, readOnlyDSN(db.path)), conn.Close())
	if err == nil {
		err = s.removeDamaged(ctx, pool, path)
	}
	return s.skipped, err
}

func (s *salvage) exec(ctx context.Context, query string, args ...any) error {
	if _, err := s.conn.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("%.40s: %w", query, err)
	}
	return nil
}

// copy copies all that can be read, as it stands at one moment.
func (s *salvage) copy(ctx context.Context, from string) error {
	if err := s.exec(ctx, "ATTACH ? AS old", from); err != nil {
		return err
	}
	if err := s.exec(ctx, "BEGIN"); err != nil {
		return err
	}
	// An index is made when it is missing.
	others, err := s.names(ctx, `SELECT name FROM main.sqlite_schema
		WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
		AND name NOT IN ('runs', 'blobs', 'fact_index', 'events', 'blob_refs', 'inbox')`)
	if err != nil {
		return err
	}
	for _, table := range others {
		err := s.try(ctx, "", "DELETE FROM main."+table, "INSERT INTO main."+table+" SELECT * FROM old."+table)
		if err != nil {
			return err
		}
	}
	runs, err := s.names(ctx, "SELECT id FROM old.runs ORDER BY key")
	if err != nil && !IsDamage(err) {
		return err
	}
	if err != nil {
		s.skipped = append(s.skipped, SkippedRun{Err: fmt.Errorf("other runs cannot be listed: %w", err)})
	}
	for _, id := range runs {
		if err := s.copyRun(ctx, plan.RunID(id)); err != nil {
			return err
		}
	}
	if err := s.exec(ctx, "COMMIT"); err != nil {
		return err
	}
	return s.exec(ctx, "DETACH old")
}

// copyRun copies a run with all that belongs to it.
func (s *salvage) copyRun(ctx context.Context, id plan.RunID) error {
	const key = " = (SELECT key FROM main.runs WHERE id = ?1)"
	queries := []string{"INSERT INTO main.runs SELECT * FROM old.runs WHERE id = ?1"}
	for _, table := range runTables {
		queries = append(queries, "INSERT INTO main."+table+" SELECT * FROM old."+table+" WHERE run"+key)
	}
	queries = append(queries, `INSERT INTO main.blobs SELECT * FROM old.blobs
		WHERE hash IN (SELECT hash FROM main.blob_refs WHERE run`+key+`)
		AND hash NOT IN (SELECT hash FROM main.blobs)`)
	return s.try(ctx, id, queries...)
}

// try does all of the queries or, where the old file is damaged, none of them.
func (s *salvage) try(ctx context.Context, id plan.RunID, queries ...string) error {
	if err := s.exec(ctx, "SAVEPOINT part"); err != nil {
		return err
	}
	for _, query := range queries {
		var args []any
		if id != "" {
			args = []any{string(id)}
		}
		err := s.exec(ctx, query, args...)
		if err == nil {
			continue
		}
		if !IsDamage(err) {
			return err
		}
		s.skipped = append(s.skipped, SkippedRun{
			Run: id,
			Err: err,
		})
		if err := s.exec(ctx, "ROLLBACK TO part"); err != nil {
			return err
		}
		break
	}
	return s.exec(ctx, "RELEASE part")
}

// names reads texts, as far as they can be read.
func (s *salvage) names(ctx context.Context, query string) ([]string, error) {
	rows, err := s.conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the file
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return out, err //nolint:wrapcheck // the caller names the file
		}
		out = append(out, name)
	}
	return out, rows.Err()
}

// removeDamaged takes those runs out of the copy that cannot be proven, with what they
// leave in free pages.
func (s *salvage) removeDamaged(ctx context.Context, pool *sql.DB, path string) error {
	ids, err := proveCopy(ctx, path, s)
	if err != nil {
		return err
	}
	rows, err := s.removeRows(ctx, pool)
	if err != nil {
		return err
	}
	if len(ids)+rows == 0 {
		return nil
	}
	var queries []string
	for _, table := range runTables {
		queries = append(queries, "DELETE FROM "+table+" WHERE run = (SELECT key FROM runs WHERE id = ?)")
	}
	for _, id := range ids {
		for _, query := range append(slices.Clone(queries), "DELETE FROM runs WHERE id = ?") {
			if _, err := pool.ExecContext(ctx, query, string(id)); err != nil {
				return fmt.Errorf("leave run %s out: %w", id, err)
			}
		}
	}
	for _, query := range []string{
		"DELETE FROM blobs WHERE hash NOT IN (SELECT hash FROM blob_refs)",
		"VACUUM",
	} {
		if _, err := pool.ExecContext(ctx, query); err != nil {
			return fmt.Errorf("leave damaged runs out: %w", err)
		}
	}
	return nil
}

// removeRows takes those rows out of the copy that are not what was written, and the jobs
// that have no batch then, and counts them.
func (s *salvage) removeRows(ctx context.Context, pool *sql.DB) (count int, err error) {
	tables, err := summedTables(ctx, pool)
	if err != nil {
		return 0, err
	}
	for _, t := range tables {
		broken, err := brokenRows(ctx, pool, t)
		if err != nil {
			return 0, err
		}
		for _, why := range broken {
			s.skipped = append(s.skipped, SkippedRun{Err: why})
		}
		if count += len(broken); len(broken) == 0 {
			continue
		}
		query := "DELETE FROM " + t.name + " WHERE " + t.broken() //nolint:gosec // the names of tables are ours
		if _, err := pool.ExecContext(ctx, query); err != nil {
			return 0, fmt.Errorf("leave damaged rows out: %w", err)
		}
	}
	res, err := pool.ExecContext(ctx, "DELETE FROM batch_jobs WHERE batch NOT IN (SELECT id FROM batches)")
	if err != nil {
		return 0, fmt.Errorf("leave jobs out: %w", err)
	}
	jobs, err := res.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("leave jobs out: %w", err)
	}
	if jobs > 0 {
		s.skipped = append(s.skipped, SkippedRun{Err: fmt.Errorf("the batch of %d jobs is damaged", jobs)})
	}
	return count + int(jobs), nil
}

// proveCopy finds the runs of a copy that are not what was committed.
func proveCopy(ctx context.Context, path string, s *salvage) (broken []plan.RunID, err error) {
	db, err := openProven(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ids, err := db.runIDs(ctx)
	if err != nil {
		return nil, err
	}
	var a Audit
	for i, fault := range db.proveRuns(ctx, &a, ids, nil) {
		if fault == nil {
			fault = db.proveBlobsOf(ctx, ids[i])
		}
		if fault != nil {
			broken = append(broken, ids[i])
			s.skipped = append(s.skipped, SkippedRun{
				Run: ids[i],
				Err: fault,
			})
		}
	}
	return broken, ctx.Err()
}

// proveBlobsOf proves the contents that a run needs.
func (db *DB) proveBlobsOf(ctx context.Context, run plan.RunID) error {
	hashes, err := db.BlobRefs(ctx, run)
	for _, hash := range hashes {
		if err == nil {
			_, err = db.Blob(ctx, hash)
		}
	}
	return err
}
