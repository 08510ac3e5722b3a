package memory

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/plan-engine/plan/internal/turnstile"
)

// lineName begins the names of the files in which processes stand in line to write.
// They are no names of runs' locks, which end in .lock.
const lineName = "writing"

// writePool is the one connection that writes. It is used only by the one process
// that is inside the turnstile: SQLite's own lock has no order, and with many
// processes there are always some that it lets wait until they fail. It is there
// all the same, for programs that do not stand in line.
type writePool struct {
	pool *sql.DB
	line *turnstile.Turnstile
}

// openLine opens the place where processes stand in line to write.
func (db *DB) openLine() (*turnstile.Turnstile, error) {
	return turnstile.New(turnstile.Config{
		Dir:  db.locks,
		Name: lineName,
		Tell: func(pid int) {
			if db.note == nil {
				return
			}
			owner := "another process"
			if pid != 0 {
				owner = fmt.Sprintf("process %d", pid)
			}
			db.note(fmt.Sprintf("waiting for %s, which is writing to %s", owner, db.path))
		},
	})
}

// exec runs one statement that writes.
func (w *writePool) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := w.line.Enter(ctx); err != nil {
		return nil, err
	}
	defer w.line.Leave()
	return w.pool.ExecContext(ctx, query, args...) //nolint:wrapcheck // the callers say what was done
}

// begin begins a transaction, which has to end soon: all other processes wait.
func (w *writePool) begin(ctx context.Context) (*writeTx, error) {
	if err := w.line.Enter(ctx); err != nil {
		return nil, err
	}
	tx, err := w.pool.BeginTx(ctx, nil)
	if err != nil {
		w.line.Leave()
		return nil, err //nolint:wrapcheck // the callers say what was done
	}
	return &writeTx{Tx: tx, line: w.line}, nil
}

// writeTx is a transaction of the process inside, which leaves when it ends.
type writeTx struct {
	*sql.Tx
	line *turnstile.Turnstile
}

// Commit commits, and lets the next process write.
func (t *writeTx) Commit() error { return t.end(t.Tx.Commit) }

// Rollback does nothing after Commit.
func (t *writeTx) Rollback() error { return t.end(t.Tx.Rollback) }

func (t *writeTx) end(how func() error) error {
	if t.line == nil {
		return sql.ErrTxDone
	}
	defer t.line.Leave()
	t.line = nil
	return how()
}

// inTx runs work in a transaction of its own.
func (db *DB) inTx(ctx context.Context, work func(*sql.Tx) error) error {
	tx, err := db.write.begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it has nothing to do
	if err := work(tx.Tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// Away calls do while this process neither writes nor waits for its turn to, nor
// begins to: it can be stopped there, and no other process waits for it.
func (db *DB) Away(do func()) { db.write.line.Away(do) }
