package memory

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
)

// maxGroupSize bounds how many appends one transaction carries, and so how long
// the first of them waits for the last.
const maxGroupSize = 256

// pending is an append that waits for its commit.
type pending interface {
	// write does the append in a transaction. It may be called again, in
	// another one, when the first was rolled back.
	write(ctx context.Context, tx *txn) error
}

// queuedAppend is a pending append in the queue.
type queuedAppend struct {
	pending
	err error
	// wake hears once: true makes it the leader, false says that err holds. It
	// is nil for one that leads from the beginning.
	wake chan bool
}

// committer carries the appends of all runs of this process to the disk. What
// waits is committed together: each transaction pays for one sync, and with
// many runs the syncs are what takes the time. The first to come leads: it
// commits what waits, its own append included, and then hands over to the first
// of those that came meanwhile. A run that is alone never waits.
type committer struct {
	begin func(ctx context.Context) (*writeTx, error)
	// checkFiles says whether what was committed is where it can be found again.
	checkFiles func() error

	mu         sync.Mutex
	queue      []*queuedAppend
	committing bool // an append of the queue commits right now
}

// submit returns when p is on disk, or has failed.
func (c *committer) submit(ctx context.Context, p pending) error {
	t := &queuedAppend{pending: p}
	c.mu.Lock()
	if c.committing {
		t.wake = make(chan bool, 1)
	}
	c.committing = true
	c.queue = append(c.queue, t)
	c.mu.Unlock()
	if t.wake == nil || <-t.wake {
		c.commitQueue(ctx, t)
	}
	return t.err
}

// commitQueue commits what waits, me first, and hands over.
func (c *committer) commitQueue(ctx context.Context, me *queuedAppend) {
	c.mu.Lock()
	n := min(len(c.queue), maxGroupSize)
	group := c.queue[:n:n]
	c.queue = c.queue[n:]
	c.mu.Unlock()
	c.commit(ctx, group)
	for _, t := range group {
		if t != me {
			t.wake <- false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.committing = len(c.queue) > 0; c.committing {
		c.queue[0].wake <- true
	}
}

// commit commits a group together. If that fails, each of it is tried alone,
// so that what is wrong with one run does not fail another.
func (c *committer) commit(ctx context.Context, group []*queuedAppend) {
	undone, err := c.transact(ctx, group)
	if len(group) == 1 || !undone {
		for _, t := range group {
			t.err = err
		}
		return
	}
	for i, t := range group {
		if undone, t.err = c.transact(ctx, group[i:i+1]); t.err != nil && !undone {
			for _, rest := range group[i:] {
				rest.err = t.err
			}
			return
		}
	}
}

// transact writes a group in one transaction. Undone says that it failed for
// what was in it. Other failures would meet any transaction, and each might
// take as long to fail.
func (c *committer) transact(ctx context.Context, group []*queuedAppend) (undone bool, err error) {
	tx, err := c.begin(ctx)
	if err != nil {
		return false, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it has nothing to do
	t := &txn{tx: tx.Tx, bound: map[*sql.Stmt]*sql.Stmt{}}
	for _, p := range group {
		if err := p.write(ctx, t); err != nil {
			return true, err
		}
	}
	if err := tx.Commit(); err != nil {
		return true, fmt.Errorf("commit: %w", err)
	}
	return false, c.checkFiles()
}

// txn is a transaction that prepared statements are bound to once.
type txn struct {
	tx    *sql.Tx
	bound map[*sql.Stmt]*sql.Stmt
}

func (t *txn) exec(ctx context.Context, stmt *sql.Stmt, args ...any) (sql.Result, error) {
	own, ok := t.bound[stmt]
	if !ok {
		own = t.tx.StmtContext(ctx, stmt) //nolint:sqlclosecheck // tx closes it
		t.bound[stmt] = own
	}
	return own.ExecContext(ctx, args...) //nolint:wrapcheck // the callers say what was written
}
