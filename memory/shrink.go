package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/failpoint"
)

// Not shrunk: see [DB.Shrink].
var (
	// ErrLive says that the file can be made smaller only while no run is live.
	ErrLive = errors.New("another process drives a run")
	// ErrWanted says that another process came to write, and the file was left as it is.
	ErrWanted = errors.New("another process came to write")
)

const (
	// shrinkPages is how many pages a step gives back: about 1 MB.
	shrinkPages = 256
	// yieldEvery is how often a process that rewrites the file looks whether
	// another one waits.
	yieldEvery = 20 * time.Millisecond
	// incremental is the auto_vacuum of a file that can give back some pages.
	incremental = 2
)

// Shrink gives the free space in the file back to the disk, in steps between which
// other processes write. The first time the file has to be written anew for that,
// which needs room for a second copy and keeps all who write waiting: it is done only
// while no process drives a run (else [ErrLive]), and given up when one comes that
// wants to write ([ErrWanted]). Progress, if there is one, hears after each step how
// many pages were given back.
func (db *DB) Shrink(ctx context.Context, progress func(done, pages int)) error {
	failpoint.Hit("before the file shrinks")
	defer failpoint.Hit("after the file shrank")
	var mode int
	err := db.read.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&mode)
	switch {
	case err != nil:
	case mode == incremental:
		err = db.shrinkInSteps(ctx, progress)
	default:
		err = db.rewrite(ctx)
	}
	if err == nil {
		failpoint.Hit("before the log is cut")
		err = db.checkpoint(ctx)
	}
	if errors.Is(err, ErrLive) || errors.Is(err, ErrWanted) {
		return err
	}
	return db.wrapError("shrink", err)
}

func (db *DB) shrinkInSteps(ctx context.Context, progress func(done, pages int)) error {
	for total, left := 0, 1; left > 0; {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := db.shrinkStep(ctx); err != nil {
			return err
		}
		failpoint.Hit("after a step of shrinking")
		if err := db.read.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&left); err != nil {
			return fmt.Errorf("count the free pages: %w", err)
		}
		if total = max(total, left+shrinkPages); progress != nil {
			progress(total-left, total)
		}
	}
	return nil
}

// shrinkStep gives some pages back. The pragma does a page for each row that is read.
func (db *DB) shrinkStep(ctx context.Context) error {
	return db.inTx(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", shrinkPages))
		if err != nil {
			return err //nolint:wrapcheck // Shrink says what was done
		}
		defer rows.Close() //nolint:errcheck // rows.Err says it
		for rows.Next() {
			continue
		}
		return rows.Err()
	})
}

// checkpoint brings what is in the log to the file, which is cut by that, and then cuts
// the log. The first takes long and no process waits for it; the second must not wait
// for those that read.
func (db *DB) checkpoint(ctx context.Context) error {
	if db.rollback {
		return nil
	}
	if _, err := db.write.pool.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
		return fmt.Errorf("bring the log to the file: %w", err)
	}
	_, err := db.write.exec(context.WithoutCancel(ctx), fmt.Sprintf(
		"PRAGMA busy_timeout = 20; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA busy_timeout = %d",
		busyTimeout.Milliseconds(),
	))
	if err != nil {
		return fmt.Errorf("cut the log: %w", err)
	}
	return nil
}

// rewrite writes the file anew, as one that can be shrunk in steps from then on.
func (db *DB) rewrite(ctx context.Context) error {
	if err := db.write.line.Enter(ctx); err != nil {
		return err
	}
	defer db.write.line.Leave()
	// A process that begins to drive a run has its lock before it stands in line.
	switch live, err := db.anyLive(ctx); {
	case err != nil:
		return err
	case live:
		return ErrLive
	}
	alone, stop := db.whileUnwanted(ctx)
	defer stop()
	_, err := db.write.pool.ExecContext(alone, fmt.Sprintf("PRAGMA auto_vacuum = %d; VACUUM", incremental))
	if err != nil {
		if cause := context.Cause(alone); cause != nil {
			return cause
		}
		return err //nolint:wrapcheck // Shrink says what was done
	}
	return nil
}

// anyLive reports whether a process drives a run.
func (db *DB) anyLive(ctx context.Context) (bool, error) {
	rows, err := db.read.QueryContext(ctx, "SELECT id FROM runs WHERE outcome = ''")
	if err != nil {
		return false, err //nolint:wrapcheck // Shrink says what was done
	}
	defer rows.Close() //nolint:errcheck // rows.Err says it
	for rows.Next() {
		var id plan.RunID
		if err := rows.Scan(&id); err != nil {
			return false, err //nolint:wrapcheck // Shrink says what was done
		}
		if _, held := db.Holder(id); held {
			return true, nil
		}
	}
	return false, rows.Err()
}

// whileUnwanted is a context that ends with [ErrWanted] when another process waits to
// write.
func (db *DB) whileUnwanted(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		look := time.NewTicker(yieldEvery)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				if db.write.line.Wanted() {
					cancel(ErrWanted)
				}
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}
