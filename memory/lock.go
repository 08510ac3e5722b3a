package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/holder"
)

// probeGrace is how long Own keeps trying: a process that only asks who holds
// the run (Holder) has the lock for an instant too.
const probeGrace = 20 * lockPoll

// lockOwner is what a lock file says, for people.
type lockOwner struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// maxIDLength bounds an id that comes from elsewhere: files and branches have it in their names.
const maxIDLength = 128

// lockPath names the lock file of a run. A run id comes from people too, so it
// must not be able to name a file elsewhere.
func (db *DB) lockPath(run plan.RunID) (string, error) {
	if run == "" {
		return "", errors.New("the run id is empty")
	}
	if run[0] == '-' || len(run) > maxIDLength {
		return "", fmt.Errorf("the run id %.40q begins with - or has more than %d characters", run, maxIDLength)
	}
	for _, c := range []byte(run) {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '-', c == '_':
		default:
			return "", fmt.Errorf("the run id %q has a character other than letters, digits, - and _", run)
		}
	}
	return filepath.Join(db.locks, string(run)+".lock"), nil
}

// lockRun takes the lock of a run. The kernel releases it when the process
// dies, however it dies. The file stays until a collection removes it.
func (db *DB) lockRun(ctx context.Context, run plan.RunID) (*flock.Flock, error) {
	path, err := db.lockPath(run)
	if err != nil {
		return nil, fmt.Errorf("own a run: %w", err)
	}
	grace, cancel := context.WithTimeout(ctx, probeGrace)
	defer cancel()
	lock, ok, err := holder.Take(grace, path, lockPoll)
	switch {
	case ctx.Err() != nil:
		return nil, errors.Join(fmt.Errorf("own run %s: %w", run, context.Cause(ctx)), lock.Close())
	case !ok && errors.Is(err, context.DeadlineExceeded):
		return nil, errors.Join(readHolder(path, run), lock.Close())
	case err != nil:
		return nil, errors.Join(wrapError(fmt.Sprintf("lock run %s with", run), path, err), lock.Close())
	}
	if err := db.writeLockOwner(path); err != nil {
		return nil, errors.Join(wrapError(fmt.Sprintf("lock run %s with", run), path, err), lock.Close())
	}
	return lock, nil
}

func (db *DB) writeLockOwner(path string) error {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	return holder.Sign(path, lockOwner{
		PID:   os.Getpid(),
		Host:  host,
		Since: db.now().UTC(),
	})
}

func readHolder(path string, run plan.RunID) *HeldError {
	held := &HeldError{Run: run}
	if h := (lockOwner{}); holder.Read(path, &h) { // else the holder is just signing
		held.PID, held.Host, held.Since = h.PID, h.Host, h.Since
	}
	return held
}

// Holder says who writes a run right now, if any process does.
func (db *DB) Holder(run plan.RunID) (*HeldError, bool) {
	path, err := db.lockPath(run)
	if err != nil {
		return nil, false
	}
	// A shared lock does not disturb others who ask; nothing is created.
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	defer lock.Close() //nolint:errcheck // closing the file releases it in any case
	if free, err := lock.TryRLock(); free || err != nil {
		return nil, false
	}
	return readHolder(path, run), true
}
