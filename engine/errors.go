package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/plan-engine/plan"
)

// JournalError says that the journal could not be written or read. The run
// stopped before it did anything unrecorded and can be resumed once the cause
// is gone.
type JournalError struct{ Err error }

// Error implements error.
func (e *JournalError) Error() string {
	return "the journal cannot be used, so the run stopped: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *JournalError) Unwrap() error { return e.Err }

// Defect says that the program itself is at fault. The journal was left as it
// was, so that the run can be resumed by a program that is not.
type Defect struct {
	State plan.State // in which it happened
	Panic any
	Stack []byte
}

// Error implements error.
func (d *Defect) Error() string {
	return fmt.Sprintf("the program crashed while the run was %s: %v\n%s", d.State, d.Panic, d.Stack)
}

// Hint says what to do about it.
func (d *Defect) Hint() string {
	return "This is a defect of plan, and the text above says where. The run is kept as it stands; `plan resume` " +
		"tries again."
}

// TreeError says that the work tree cannot be taken as a run would find it, so
// the run was not begun.
type TreeError struct{ Err error }

// Error implements error.
func (e *TreeError) Error() string { return "take a snapshot of the work tree: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *TreeError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *TreeError) Hint() string {
	var inner Hinter
	switch {
	case errors.As(e.Err, &inner):
		return "Nothing was begun. " + inner.Hint()
	case errors.Is(e.Err, syscall.ENOSPC), errors.Is(e.Err, syscall.EDQUOT):
		return "Nothing was begun. The disk has no room left: the repository's, where snapshots are kept, or that of " +
			"temporary files. Make room, and begin again."
	case !errors.Is(e.Err, fs.ErrPermission):
		return "Nothing was begun. `git add --dry-run -A` and `git fsck` may say more about the reason."
	}
	return "Nothing was begun. Every file that git tracks, or would add, must be one that can be read: make it " +
		"so, remove it, or put it into .gitignore; `git add --dry-run -A` finds such files."
}
