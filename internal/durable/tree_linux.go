package durable

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/plan-engine/plan/internal/failpoint"
)

// SyncTree makes all that is below a directory, on the disk that it is on, survive
// a loss of power. The kernel writes everything of that disk: for thousands of
// files that is a hundred times faster than to ask for one after the other.
func SyncTree(dir string) error {
	if failpoint.Unsynced() {
		return nil
	}
	d, err := os.Open(dir)
	if err == nil {
		err = errors.Join(unix.Syncfs(int(d.Fd())), d.Close())
	}
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
