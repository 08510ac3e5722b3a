package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/plan-engine/plan"
)

// Audit is what a look at all of a database has found.
type Audit struct {
	Runs   int
	Events int64
	Blobs  int
	Faults []error // what is wrong: [*Error] and [*ChainError] values
}

// Audit reads the whole database: the structure of the file, every journal with
// its hash chain, and every blob. Progress, if there is one, hears after each
// run how far it is; it may take long. What is wrong with the database is in
// the result; the error says why there is none.
func (db *DB) Audit(ctx context.Context, progress func(done, runs int)) (Audit, error) {
	a := Audit{}
	a.addFault(db.integrity(ctx))
	ids, err := db.runIDs(ctx)
	if err != nil {
		return a, errors.Join(append(a.Faults, err)...)
	}
	a.Runs = len(ids)
	for i, id := range ids {
		n, err := db.auditRun(ctx, id)
		a.Events += n
		if a.addFault(err); ctx.Err() != nil {
			return a, db.wrapError("check", context.Cause(ctx))
		}
		if progress != nil {
			progress(i+1, len(ids))
		}
	}
	a.addFault(db.auditBlobs(ctx, &a))
	if ctx.Err() != nil {
		return a, db.wrapError("check", context.Cause(ctx))
	}
	return a, nil
}

func (a *Audit) addFault(err error) {
	if err != nil {
		a.Faults = append(a.Faults, err)
	}
}

// integrity asks SQLite about the file and the references in it.
func (db *DB) integrity(ctx context.Context) error {
	for _, query := range []string{
		"PRAGMA integrity_check(1)",
		`SELECT 'a row of ' || "table" || ' refers to nothing in ' || parent FROM pragma_foreign_key_check LIMIT 1`,
	} {
		if err := db.firstComplaint(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

// firstComplaint runs a query whose first row says what is wrong, unless it says ok.
func (db *DB) firstComplaint(ctx context.Context, query string) error {
	rows, err := db.read.QueryContext(ctx, query)
	if err != nil {
		return db.wrapError("check", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	if rows.Next() {
		var what string
		if err := rows.Scan(&what); err != nil {
			return db.wrapError("check", err)
		}
		if what != "ok" {
			return &Error{
				Op:   "check",
				Path: db.path,
				Err:  errors.New(what),
				Hint: hintDamaged,
			}
		}
	}
	return db.wrapError("check", rows.Err())
}

func (db *DB) runIDs(ctx context.Context) ([]plan.RunID, error) {
	const op = "list runs in"
	rows, err := db.read.QueryContext(ctx, "SELECT id FROM runs WHERE "+notRemoved+" ORDER BY created, key")
	if err != nil {
		return nil, db.wrapError(op, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	var ids []plan.RunID
	for rows.Next() {
		var id plan.RunID
		if err := rows.Scan(&id); err != nil {
			return nil, db.wrapError(op, err)
		}
		ids = append(ids, id)
	}
	return ids, db.wrapError(op, rows.Err())
}

// auditRun reads a journal until its end or a fault, counts its events, and
// compares what they come to with what the list of runs says.
func (db *DB) auditRun(ctx context.Context, run plan.RunID) (n int64, err error) {
	said, err := db.Run(ctx, run)
	var found RunInfo
	for s, err := range db.storedLines(ctx, run, Query{}) {
		if errors.Is(err, ErrNoRun) { // removed meanwhile
			return 0, nil
		}
		if err != nil {
			return n, err
		}
		if n++; s.seq > said.Head { // appended since
			continue
		}
		var e plan.Event
		if err := e.Read(s.line); err != nil {
			return n, &ChainError{
				Run: run,
				Seq: s.seq,
				Why: err.Error(),
			}
		}
		found = found.fold(e)
	}
	if err == nil && !found.equal(said) {
		err = &Error{
			Op:   "check",
			Path: db.path,
			Hint: hintDamaged,
			Err:  fmt.Errorf("the list of runs does not say of run %s what its journal says, which is whole", run),
		}
	}
	return n, err
}

// equal compares what a journal comes to with the row of its run. Costs are sums
// of the same numbers in the same order.
func (r RunInfo) equal(row RunInfo) bool {
	woken := (r.WakeAt == nil) == (row.WakeAt == nil) && (r.WakeAt == nil || r.WakeAt.Equal(*row.WakeAt))
	r.WakeAt, row.WakeAt = nil, nil
	return woken && r == row
}

// auditBlobs hashes every blob. One connection is held for as long as it takes.
func (db *DB) auditBlobs(ctx context.Context, a *Audit) error {
	rows, err := db.read.QueryContext(ctx, "SELECT hash, data FROM blobs")
	if err != nil {
		return db.wrapError("check", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	for rows.Next() {
		var hash string
		var data []byte
		if err := rows.Scan(&hash, &data); err != nil {
			return db.wrapError("check", err)
		}
		a.Blobs++
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
			a.addFault(&Error{
				Op:   "check",
				Path: db.path,
				Hint: hintDamaged,
				Err:  fmt.Errorf("the %d bytes of blob %s have changed", len(data), hash),
			})
		}
	}
	return db.wrapError("check", rows.Err())
}
