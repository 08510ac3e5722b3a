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
	return db.complain(ctx, "PRAGMA quick_check(1)")
}

// VerifyChain proves that the journal of a run is what was committed, byte for
// byte and without a gap. A [*ChainError] names the first event that is not.
func (db *DB) VerifyChain(ctx context.Context, run plan.RunID) error {
	for _, err := range db.stored(ctx, run, Query{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// links follows the hash chain of a journal.
type links struct {
	run   plan.RunID
	now   standing // where the journal stood at the beginning; it may grow
	seq   int64
	chain []byte
	line  []byte // of the last event, to be used again
}

// linksAfter starts a proof behind event after.
func (db *DB) linksAfter(ctx context.Context, run plan.RunID, now standing, after int64) (*links, error) {
	l := &links{
		run: run,
		now: now,
		seq: max(after, 0),
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
func (l *links) next(s stored) error {
	if s.seq != l.seq+1 {
		return &ChainError{
			Run: l.run,
			Seq: l.seq + 1,
			Why: "it is missing",
		}
	}
	l.seq++
	l.line = append(l.line[:0], s.line...)
	if l.chain = link(l.chain, l.line); !bytes.Equal(l.chain, s.sha) {
		return &ChainError{
			Run: l.run,
			Seq: l.seq,
			Why: "its bytes have changed",
		}
	}
	if l.seq == l.now.head && !bytes.Equal(l.chain, l.now.chain) {
		return &ChainError{
			Run: l.run,
			Seq: l.seq,
			Why: "it is not the event that was committed last",
		}
	}
	return nil
}

// end proves that nothing is missing at the end.
func (l *links) end() error {
	if l.seq < l.now.head {
		return &ChainError{
			Run: l.run,
			Seq: l.seq + 1,
			Why: "it is missing",
		}
	}
	return nil
}

// link is the hash of a line and of all before it.
func link(chain, line []byte) []byte {
	hash := sha256.New()
	hash.Write(chain)
	hash.Write(line)
	return hash.Sum(nil)
}
