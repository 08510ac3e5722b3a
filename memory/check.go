package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"

	"github.com/plan-engine/plan"
)

// Check looks for damage in the structure of the file. It reads all of it; see
// [DB.VerifyChain] for what the journals say.
func (db *DB) Check(ctx context.Context) error {
	var verdict string
	err := db.read.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict)
	if err != nil {
		return db.fail("check", err)
	}
	if verdict != "ok" {
		return &Error{
			Op: "check", Path: db.path, Err: errors.New(verdict),
			Hint: "the file is damaged: keep a copy of it and restore a backup",
		}
	}
	return nil
}

// VerifyChain proves that the journal of a run is what was committed, byte for
// byte and without a gap. A [*ChainError] names the first event that is not.
func (db *DB) VerifyChain(ctx context.Context, run plan.RunID) error {
	now, err := db.standing(ctx, run)
	if err != nil {
		return db.runError("verify", run, err)
	}
	var seq int64
	var chain []byte
	for s, err := range db.stored(ctx, run, Query{}) {
		if err != nil {
			return err
		}
		seq++
		if s.Seq != seq {
			return &ChainError{Run: run, Seq: seq, Why: "it is missing"}
		}
		sum := sha256.Sum256(append(chain, s.JSON...))
		if chain = sum[:]; !bytes.Equal(chain, s.sha) {
			return &ChainError{Run: run, Seq: seq, Why: "its bytes have changed"}
		}
		if seq == now.head && !bytes.Equal(chain, now.chain) {
			return &ChainError{Run: run, Seq: seq, Why: "it is not the event that was committed last"}
		}
	}
	if seq < now.head { // a live run may have grown meanwhile
		return &ChainError{Run: run, Seq: seq + 1, Why: "it is missing"}
	}
	return nil
}
