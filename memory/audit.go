package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

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
// its hash chain, every blob, and every other row with its sum. Progress, if there is one, hears after each
// run how far it is; it may take long. What is wrong with the database is in
// the result; the error says why there is none.
func (db *DB) Audit(ctx context.Context, progress func(done, runs int)) (Audit, error) {
	a := Audit{}
	ids, err := db.runIDs(ctx)
	if err != nil {
		return a, errors.Join(db.integrity(ctx), err)
	}
	a.Runs = len(ids)
	// SQLite looks at the structure with one processor, while the others prove contents.
	structure := make(chan error, 1)
	go func() { structure <- db.integrity(ctx) }()
	journals := db.proveRuns(ctx, &a, ids, progress)
	blobs, err := db.auditBlobs(ctx, &a)
	a.addFault(<-structure)
	for _, fault := range slices.Concat(journals, blobs, db.auditSums(ctx), db.auditSchema(ctx)) {
		a.addFault(fault)
	}
	a.addFault(err)
	if ctx.Err() != nil {
		return a, db.wrapError("check", context.Cause(ctx))
	}
	return a, nil
}

// proveRuns proves the journals of runs, on all processors, and returns what is
// wrong with them in the order of the runs.
func (db *DB) proveRuns(ctx context.Context, a *Audit, ids []plan.RunID, progress func(done, runs int)) []error {
	faults := make([]error, len(ids))
	var mu sync.Mutex
	var proving errgroup.Group
	proving.SetLimit(provers())
	done := 0
	for i, id := range ids {
		if ctx.Err() != nil {
			break
		}
		proving.Go(func() error {
			n, err := db.auditRun(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			faults[i] = err
			a.Events += n
			done++
			if progress != nil {
				progress(done, len(ids))
			}
			return nil
		})
	}
	_ = proving.Wait() // what is wrong is in faults
	return faults
}

// provers is how many proofs go on at once: one connection is for other readers.
func provers() int { return min(runtime.GOMAXPROCS(0), maxReaders-1) }

func (a *Audit) addFault(err error) {
	if err != nil {
		a.Faults = append(a.Faults, err)
	}
}

// integrity asks SQLite about the file and the references in it.
func (db *DB) integrity(ctx context.Context) (err error) {
	conn, err := db.read.Conn(ctx)
	if err != nil {
		return db.wrapError("check", err)
	}
	// Each row is looked up in each index: with a cache that holds most of these, the file
	// is read once and not many times.
	_, err = conn.ExecContext(ctx, "PRAGMA cache_size = -32768")
	defer func() {
		_, reset := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA cache_size = -2000")
		err = errors.Join(err, db.wrapError("check", errors.Join(reset, conn.Close())))
	}()
	if err != nil {
		return db.wrapError("check", err)
	}
	for _, query := range []string{
		"PRAGMA integrity_check(1)",
		`SELECT 'a row of ' || "table" || ' refers to nothing in ' || parent FROM pragma_foreign_key_check LIMIT 1`,
	} {
		if err := db.firstComplaint(ctx, conn, query); err != nil {
			return err
		}
	}
	return nil
}

// rowsQuerier is a connection or many.
type rowsQuerier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// firstComplaint runs a query whose first row says what is wrong, unless it says ok.
func (db *DB) firstComplaint(ctx context.Context, from rowsQuerier, query string) error {
	rows, err := from.QueryContext(ctx, query)
	if err != nil {
		return db.wrapError("check", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	if rows.Next() {
		var problem string
		if err := rows.Scan(&problem); err != nil {
			return db.wrapError("check", err)
		}
		if problem != "ok" {
			return &Error{
				Op:   "check",
				Path: db.path,
				Err:  errors.New(problem),
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
	stored, err := db.Run(ctx, run)
	var folded RunInfo
	for s, err := range db.storedLines(ctx, run, Query{}) {
		if errors.Is(err, ErrNoRun) { // removed meanwhile
			return 0, nil
		}
		if err != nil {
			return n, err
		}
		if n++; s.seq > stored.Head { // appended since
			continue
		}
		if s.seq < stored.Head && !projected(s.typ) && s.foundAsItSays() {
			continue // the row of the run says nothing of it
		}
		var e plan.Event
		if err := e.Read(s.line); err != nil {
			return n, &ChainError{
				Run: run,
				Seq: s.seq,
				Why: err.Error(),
			}
		}
		if e.Type() != s.typ || e.Conv != s.conv {
			return n, &ChainError{
				Run: run,
				Seq: s.seq,
				Why: "it is found under another type or conversation than it has",
			}
		}
		folded = folded.fold(e)
	}
	if err == nil && !folded.equal(stored) {
		err = &Error{
			Op:   "check",
			Path: db.path,
			Hint: hintDamaged,
			Err:  fmt.Errorf("the list of runs does not say of run %s what its journal says, which is whole", run),
		}
	}
	return n, err
}

// foundAsItSays reports whether a line, as this program writes it, names the type and the
// conversation that it is found under. Within strings its quotes would be escaped. Of a
// line that is written in another way it is not known.
func (s storedLine) foundAsItSays() bool {
	head, _, own := strings.Cut(s.line, `,"data":`)
	if !own || !strings.Contains(head, `"type":"`+string(s.typ)+`"`) {
		return false
	}
	if s.conv == "" {
		return !strings.Contains(head, `"conv":`)
	}
	return strings.Contains(head, `"conv":"`+s.conv+`"`)
}

// equal compares what a journal comes to with the row of its run. Costs are sums
// of the same numbers in the same order.
func (r RunInfo) equal(row RunInfo) bool {
	woken := (r.WakeAt == nil) == (row.WakeAt == nil) && (r.WakeAt == nil || r.WakeAt.Equal(*row.WakeAt))
	r.WakeAt, row.WakeAt = nil, nil
	return woken && r == row
}

// blobsAtOnce is how many rows of blobs one query reads.
const blobsAtOnce = 64

// auditBlobs proves every blob, on all processors. The error says which rows could not be
// read at all.
func (db *DB) auditBlobs(ctx context.Context, a *Audit) ([]error, error) {
	var last int64
	err := db.read.QueryRowContext(ctx, "SELECT ifnull(max(rowid), 0) FROM blobs").Scan(&last)
	if err != nil {
		return nil, db.wrapError("check", err)
	}
	faults := make([][]error, last/blobsAtOnce+1)
	var damages atomic.Int64
	var proving errgroup.Group
	proving.SetLimit(provers())
	for part := range faults {
		proving.Go(func() error {
			n, broken, err := db.auditSomeBlobs(ctx, int64(part)*blobsAtOnce)
			damages.Add(n)
			faults[part] = broken
			return err
		})
	}
	err = proving.Wait()
	a.Blobs = int(damages.Load())
	return slices.Concat(faults...), err
}

// auditSomeBlobs proves the blobs from one row on. One connection is held for as long as it takes.
func (db *DB) auditSomeBlobs(ctx context.Context, from int64) (n int64, faults []error, err error) {
	rows, err := db.read.QueryContext(
		ctx,
		"SELECT hash, data, packed FROM blobs WHERE rowid >= ? AND rowid < ?",
		from,
		from+blobsAtOnce,
	)
	if err != nil {
		return 0, nil, db.wrapError("check", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	for rows.Next() {
		var hash string
		var data, packed sql.RawBytes
		if err := rows.Scan(&hash, &data, &packed); err != nil {
			return n, faults, db.wrapError("check", err)
		}
		n++
		if _, err := db.packer.content(hash, data, packed); err != nil {
			faults = append(faults, err)
		}
	}
	return n, faults, db.wrapError("check", rows.Err())
}
