package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"

	"github.com/plan-engine/plan"
)

// Check looks for damage in the structure of the file. It reads all of it; see
// [DB.Audit] for all else.
func (db *DB) Check(ctx context.Context) error {
	return db.firstComplaint(ctx, db.read, "PRAGMA quick_check(1)")
}

// VerifyChain proves that the journal of a run is what was committed, byte for
// byte and without a gap. A [*ChainError] names the first event that is not.
func (db *DB) VerifyChain(ctx context.Context, run plan.RunID) error {
	for _, err := range db.storedLines(ctx, run, Query{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// whyChanged is said of an event that does not have its hash.
const whyChanged = "its bytes have changed"

// chainVerifier follows the hash chain of a journal.
type chainVerifier struct {
	run   plan.RunID
	want  journalState // where the journal stood at the beginning; it may grow
	seq   int64
	chain []byte
	line  []byte // of the last event, to be used again
}

// verifierAfter starts a proof behind event after.
func (db *DB) verifierAfter(
	ctx context.Context,
	run plan.RunID,
	now journalState,
	after int64,
) (*chainVerifier, error) {
	l := &chainVerifier{
		run:  run,
		want: now,
		seq:  max(after, 0),
	}
	if after <= 0 {
		return l, nil
	}
	err := db.read.QueryRowContext(
		ctx,
		"SELECT sha FROM events WHERE run = ? AND seq = ?",
		now.key,
		after,
	).Scan(
		&l.chain,
	)
	if errors.Is(err, sql.ErrNoRows) { // beyond the head, or a hole, which then shows
		err = nil
	}
	return l, err
}

// next proves that an event follows what came before.
func (l *chainVerifier) next(s storedLine) error {
	if s.seq != l.seq+1 {
		return &ChainError{
			Run: l.run,
			Seq: l.seq + 1,
			Why: "it is missing",
		}
	}
	l.seq++
	l.line = append(l.line[:0], s.line...)
	if l.chain = chainHash(l.chain, l.line); !bytes.Equal(l.chain, s.sha) {
		return &ChainError{
			Run: l.run,
			Seq: l.seq,
			Why: whyChanged,
		}
	}
	if l.seq == l.want.head && !bytes.Equal(l.chain, l.want.chain) {
		return &ChainError{
			Run: l.run,
			Seq: l.seq,
			Why: "it is not the event that was committed last",
		}
	}
	return nil
}

// end proves that nothing is missing at the end.
func (l *chainVerifier) end() error {
	if l.seq < l.want.head {
		return &ChainError{
			Run: l.run,
			Seq: l.seq + 1,
			Why: "it is missing",
		}
	}
	return nil
}

// chainHash is the hash of a line and of all before it.
func chainHash(chain, line []byte) []byte {
	hash := sha256.New()
	hash.Write(chain)
	hash.Write(line)
	return hash.Sum(nil)
}
