package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/holder"
)

// Holder is who works in a work tree, as the lock file says it for people.
type Holder struct {
	Run   plan.RunID `json:"run,omitempty"`
	PID   int        `json:"pid"`
	Host  string     `json:"host"`
	Since time.Time  `json:"since"`
	Root  string     `json:"root"` // of the work tree
}

// BusyError says that another process works in the work tree.
type BusyError struct {
	Root   string
	Holder Holder // zero while the holder is just signing
}

// Error implements error.
func (e *BusyError) Error() string {
	switch owner := e.Holder; {
	case owner.PID == 0:
		return fmt.Sprintf("the work tree %s is in use by another process", e.Root)
	case owner.Run == "":
		return fmt.Sprintf(
			"the work tree %s is in use by process %d on %s since %s",
			e.Root,
			owner.PID,
			owner.Host,
			owner.Since.Format(time.RFC3339),
		)
	default:
		return fmt.Sprintf("the work tree %s is in use by run %s, which process %d on %s drives since %s",
			e.Root, owner.Run, owner.PID, owner.Host, owner.Since.Format(time.RFC3339))
	}
}

// Hint says what to do about it.
func (e *BusyError) Hint() string {
	return "Two runs in one work tree would mix their changes. Give the new one a tree of its own with `plan run " +
		"--worktree`, or wait for the other."
}

// sweepGrace is how long Hold keeps trying: a process that collects locks has each
// for an instant.
const sweepGrace = 50 * time.Millisecond

// Hold keeps a work tree for one process.
type Hold struct{ lock *flock.Flock }

// Hold keeps the work tree for who, until the result is closed or the process
// dies. Locks is the directory of the lock files; all processes that should
// see each other must agree on it. While another process, or another Hold of
// this one, has the tree it fails with a [*BusyError].
func (r *Repo) Hold(ctx context.Context, locks string, owner Holder) (*Hold, error) {
	return holdRoot(ctx, r.root, locks, owner)
}

// HoldPlace is [Repo.Hold] for a folder in which a work tree is about to be made, or may
// be while another process does so.
func HoldPlace(ctx context.Context, dir, locks string, owner Holder) (*Hold, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("lock the place of work tree %q: %w", dir, err)
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return nil, fmt.Errorf("lock the place of work tree %q: %w", dir, err)
	}
	return holdRoot(ctx, filepath.Join(parent, filepath.Base(dir)), locks, owner)
}

func holdRoot(ctx context.Context, root, locks string, owner Holder) (*Hold, error) {
	if err := os.MkdirAll(locks, 0o700); err != nil {
		return nil, fmt.Errorf("lock work tree %q: %w", root, err)
	}
	path := lockPath(root, locks)
	patience, cancel := context.WithTimeout(ctx, sweepGrace)
	defer cancel()
	lock, free, err := holder.Take(patience, path, sweepGrace/10)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("lock work tree %q: %w", root, errors.Join(err, lock.Close()))
	}
	if !free {
		return nil, errors.Join(busy(path, root), lock.Close())
	}
	owner.Root = root
	if err := holder.Sign(path, owner); err != nil {
		return nil, fmt.Errorf("lock work tree %q: %w", root, errors.Join(err, lock.Close()))
	}
	return &Hold{lock: lock}, nil
}

// lockPath names the lock file after the tree, whatever characters are in its
// path. The file stays until a collection removes it.
func lockPath(root, locks string) string {
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(locks, "tree-"+hex.EncodeToString(sum[:12])+".lock")
}

func busy(path, root string) *BusyError {
	e := &BusyError{Root: root}
	if owner := (Holder{}); holder.Read(path, &owner) {
		e.Holder = owner
	}
	return e
}

// Close gives the work tree up.
func (h *Hold) Close() error {
	_ = os.Truncate(h.lock.Path(), 0) // a name that stays counts for nothing once the lock is free
	if err := h.lock.Close(); err != nil {
		return fmt.Errorf("release a work tree: %w", err)
	}
	return nil
}
