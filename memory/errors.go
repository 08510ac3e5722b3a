package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/turnstile"
)

// Errors to branch on with [errors.Is].
var (
	// ErrNewer: the file has a version that this program does not know. The
	// file was not touched.
	ErrNewer = errors.New("the database was written by a newer plan")
	// ErrFenced: another writer has taken the run over.
	ErrFenced = errors.New("the run has been taken over by another process")
	// ErrEnded: the run has its run_end, after which nothing can follow.
	ErrEnded = errors.New("the run has ended")
	// ErrNoRun: no such run is stored.
	ErrNoRun = errors.New("no such run")
	// ErrNoBlob: no blob with this hash is stored.
	ErrNoBlob = errors.New("no such blob")
	// ErrUnread: a letter waits that has to be read first.
	ErrUnread = errors.New("a letter to the run has not been read")
	// ErrClosed: the writer was closed.
	ErrClosed = errors.New("the writer is closed")
)

// Error is a failure of the database file itself.
type Error struct {
	Op   string // what was being done
	Path string // the file it was done to
	Err  error  // the cause
	Hint string // what a person can do about it
}

// Error says it in one sentence.
func (e *Error) Error() string {
	return fmt.Sprintf("%s %s: %v; %s", e.Op, e.Path, e.Err, e.Hint)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// HeldError says who writes a run right now. PID is 0 when the holder has not
// said yet who it is.
type HeldError struct {
	Run   plan.RunID
	PID   int
	Host  string
	Since time.Time
}

// Error says it in one sentence.
func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("run %s is held by another process; wait for it or stop it", e.Run)
	}
	return fmt.Sprintf("run %s is held by process %d on %s since %s; wait for it or stop it",
		e.Run, e.PID, e.Host, e.Since.Format(time.RFC3339))
}

// AmbiguousError says that a shortened run id fits several runs.
type AmbiguousError struct {
	Prefix     string
	Candidates []plan.RunID // the newest, at most 10
	More       bool         // there are others
}

// Error lists the candidates.
func (e *AmbiguousError) Error() string {
	var list strings.Builder
	for i, id := range e.Candidates {
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString(string(id))
	}
	if e.More {
		list.WriteString(", …")
	}
	return fmt.Sprintf("%q fits several runs, give more letters: %s", e.Prefix, list.String())
}

// ChainError says where a journal is not what was committed.
type ChainError struct {
	Run plan.RunID
	Seq int64 // the first event that is wrong or missing
	Why string
}

// Error says it in one sentence.
func (e *ChainError) Error() string {
	before := ""
	if e.Seq > 1 {
		before = fmt.Sprintf("`plan journal export %s -o FILE` saves what stands before it, ", e.Run)
	}
	return fmt.Sprintf("the journal of run %s is broken at event %d: %s; %s"+
		"`plan journal backup --skip-damaged FILE` saves all other runs, or restore a backup",
		e.Run, e.Seq, e.Why, before)
}

// BlobError says that a content is not what was committed.
type BlobError struct{ Hash string }

// Error says it in one sentence.
func (e *BlobError) Error() string {
	return fmt.Sprintf("the bytes of blob %s have changed; %s", e.Hash, hintDamaged)
}

// PartError says that only what stands before a damage was exported.
type PartError struct {
	Run        plan.RunID
	Events, Of int64
	Err        error // the damage
}

// Error says it in one sentence.
func (e *PartError) Error() string {
	return fmt.Sprintf("only the first %d of %d events of run %s were exported: %v", e.Events, e.Of, e.Run, e.Err)
}

// Unwrap returns the damage.
func (e *PartError) Unwrap() error { return e.Err }

// IsDamage reports whether err says that what was committed cannot be read any more,
// and not that it cannot be read now.
func IsDamage(err error) bool {
	var broken *ChainError
	var changed *BlobError
	var row *RowError
	return errors.As(err, &broken) || errors.As(err, &changed) || errors.As(err, &row) ||
		errors.Is(err, ErrNoBlob) || sqliteDamage(err)
}

// Unreadable reports whether err, of [Open], says that the file is damaged where it says
// what is in it: [Rescue] may find more.
func Unreadable(err error) bool {
	return IsDamage(err) || errors.Is(err, errNotSQLite) || sqliteRefusal(err)
}

// What to do about failures that are not SQLite's own.
const (
	hintWritable = "make it and its directory writable, or set PLAN_HOME to a directory you can write to"
	hintFull     = "free some space on its disk and try again"
	hintDamaged  = "the file is damaged: keep a copy of it; `plan doctor --db` says what is, " +
		"`plan journal backup --skip-damaged FILE` saves the runs that are whole, or restore a backup"
	// Of a file that cannot be opened: no other command gets further.
	hintUnreadable = "the file is damaged in the part that all commands read first: `plan journal backup --skip-damaged " +
		"FILE` saves what in it proves itself; keep a copy of it and of what lies beside it by its name, move them " +
		"away, and put that, or a backup, in its place"
	hintOther = "run plan doctor to look into it"
)

// wrapError gives a failed operation its place and its hint. Errors that already
// say what they are, and the context's, stay recognisable.
func (db *DB) wrapError(op string, err error) error { return wrapError(op, db.path, err) }

func wrapError(op, path string, err error) error {
	var known *Error
	var broken *ChainError
	var changed *BlobError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known), errors.As(err, &broken), errors.As(err, &changed):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s %s: %w", op, path, err)
	}
	return &Error{
		Op:   op,
		Path: path,
		Err:  err,
		Hint: hintFor(err),
	}
}

func hintFor(err error) string {
	if h := sqliteHint(err); h != "" {
		return h
	}
	var stuck *turnstile.StuckError
	switch {
	case errors.As(err, &stuck):
		return "it is stopped or hangs: let it go on, or end it, and try again"
	case errors.Is(err, ErrReplaced):
		return "put it back, or restore a backup, and go on from there; what was recorded last may be missing"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return hintWritable
	case errors.Is(err, syscall.ENOSPC):
		return hintFull
	}
	return hintOther
}
