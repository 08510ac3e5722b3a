package holder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// Take takes the lock of a file, which is made if it is not there, and tries again
// until ctx ends. A lock on a file that has lost its name meanwhile does not count,
// so that [Collect] may remove files of locks. A lock that is free is taken however
// late it is: on a busy machine the time may be over before the first try. With an
// error, or false, the lock is still to be closed.
func Take(ctx context.Context, path string, poll time.Duration) (*flock.Flock, bool, error) {
	for {
		lock := flock.New(path)
		free, err := lock.TryLockContext(ctx, poll)
		if errors.Is(err, context.DeadlineExceeded) {
			if last, fault := lock.TryLock(); last || fault != nil {
				free, err = last, fault
			}
		}
		if err != nil || !free || isNamed(lock, path) {
			return lock, free, err
		}
		_ = lock.Close()
	}
}

// isNamed reports whether a locked file is the one under its name.
func isNamed(lock *flock.Flock, path string) bool {
	held, err := lock.Stat()
	info, statErr := os.Stat(path)
	return err == nil && statErr == nil && os.SameFile(held, info)
}

// Collect removes the file of a lock that no process has, or with dry only asks. It
// reports whether there was none to have it.
func Collect(path string, dry bool) (bool, error) {
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	defer lock.Close() //nolint:errcheck // the file is gone, or was only asked for
	free, err := lock.TryLock()
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !free:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask for the lock %s: %w", path, err)
	case dry || !isNamed(lock, path):
		return dry, nil
	}
	if err := os.Remove(path); err != nil {
		return false, fmt.Errorf("remove a lock: %w", err)
	}
	return true, nil
}
