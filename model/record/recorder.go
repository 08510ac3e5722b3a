package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/durable"
	"github.com/plan-engine/plan/loop"
)

// Recorder is a [loop.Model] that passes every call on to another one and
// writes down what came of it. It is safe for concurrent use if that model is.
type Recorder struct {
	inner loop.Model
	clean cleaner
	path  string
	lock  *flock.Flock

	mu     sync.Mutex
	file   *os.File
	failed error // why nothing is recorded any more
}

var _ loop.Model = (*Recorder)(nil)

// New makes a recorder that appends to file, which is made, readable by its
// owner alone, if it is not there, and which no other recorder can write to
// until Close. A recording that is there already goes on, so that a resumed run can
// add to it; a file that is something else is refused. Redact replaces secrets
// in a text, the same text always in the same way; nil replaces nothing beyond
// what the package knows by itself.
func New(inner loop.Model, file string, redact func(string) string) (*Recorder, error) {
	fail := func(err error) (*Recorder, error) {
		return nil, fmt.Errorf("record to %s: %w", file, err)
	}
	if err := checkRegular(file); err != nil {
		return fail(err)
	}
	lock := flock.New(file, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	switch held, err := lock.TryLock(); {
	case err != nil:
		return fail(err)
	case !held:
		return fail(errors.New("another run records to it: wait for its end, or give another file"))
	}
	f, err := openRecording(file)
	if err != nil {
		_ = lock.Close()
		return fail(err)
	}
	return &Recorder{
		inner: inner,
		clean: newCleaner(redact),
		path:  file,
		lock:  lock,
		file:  f,
	}, nil
}

// checkRegular refuses what cannot be appended to; opening a pipe would wait.
func checkRegular(file string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err //nolint:wrapcheck // New says what was tried
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file: give the name of one, or of a file to be made")
	}
	return nil
}

// openRecording opens a file to be appended to, and brings it to a state in
// which it can be.
func openRecording(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, err //nolint:wrapcheck // New says what was tried
	}
	if err := prepare(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// prepare makes sure that f is a recording that ends with a whole line. What a
// crash left of a call without an answer is cut off.
func prepare(f *os.File) error {
	data, err := io.ReadAll(f)
	if err != nil {
		return err //nolint:wrapcheck // New says what was tried
	}
	c, err := parse(data)
	if err != nil {
		return fmt.Errorf("%w: give another file", err)
	}
	missing := ""
	switch {
	case c.torn == 1: // empty, or nearly
		missing = headerLine
	case c.torn == 0 && data[len(data)-1] != '\n':
		missing = "\n"
	}
	if c.torn > 0 {
		if err := f.Truncate(int64(c.whole)); err != nil {
			return err //nolint:wrapcheck // New says what was tried
		}
	}
	if _, err := f.WriteString(missing); err != nil {
		return err //nolint:wrapcheck // New says what was tried
	}
	if err := f.Chmod(0o600); err != nil {
		return err //nolint:wrapcheck // New says what was tried
	}
	if err := f.Sync(); err != nil {
		return err //nolint:wrapcheck // New says what was tried
	}
	return durable.SyncDir(filepath.Dir(f.Name()))
}

// Generate implements [loop.Model]. The call is on disk before Generate
// returns; where that fails, so does the call, and so do all later ones.
func (r *Recorder) Generate(ctx context.Context, req loop.Call, live func(loop.Delta)) (loop.Answer, error) {
	if err := r.broken(); err != nil {
		return loop.Answer{}, err
	}
	clean := r.clean.with(req.Headers)
	encoded, err := encodeRequest(req, clean)
	if err != nil {
		return loop.Answer{}, r.failure(err)
	}
	e := entry{Request: encoded, Wire: req.Wire}
	ans, failed := r.inner.Generate(ctx, req, func(d loop.Delta) {
		e.Pieces = append(e.Pieces, piece(d))
		if live != nil {
			live(d)
		}
	})
	var answered *loop.Answer
	if failed == nil {
		answered = &ans
	} else {
		e.ended(ctx, failed)
	}
	line, err := encodeEntry(e, answered, clean)
	if err != nil {
		return loop.Answer{}, r.failure(err)
	}
	if err := r.append(line); err != nil {
		return loop.Answer{}, err
	}
	return ans, failed
}

// ended notes why a call has no answer.
func (e *entry) ended(ctx context.Context, err error) {
	if me, ok := loop.AsModelError(err); ok {
		e.Error = &failure{
			Kind:       me.Kind,
			Status:     me.Status,
			RetryAfter: me.RetryAfter,
			Message:    me.Message,
			Window:     me.Window,
			Bound:      me.Bound,
			Adjusted:   me.Adjusted,
		}
		if me.Usage != (plan.Usage{}) {
			e.Error.Usage = &me.Usage
		}
		return
	}
	text := err.Error()
	if text == "" {
		text = "an error without words"
	}
	if ctx.Err() != nil {
		e.Cancelled = text
	} else {
		e.Failed = text
	}
}

// append writes a line and waits until it is on disk.
func (r *Recorder) append(line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return r.failed
	}
	_, err := r.file.Write(line)
	if err == nil {
		err = r.file.Sync()
	}
	if err != nil {
		r.failed = r.failure(fmt.Errorf("%w: nothing is recorded any more; make room, and resume", err))
	}
	return r.failed
}

func (r *Recorder) broken() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *Recorder) failure(err error) error { return fmt.Errorf("record to %s: %w", r.path, err) }

// Close ends the recording and lets others record to the file. Calls after it
// fail. It can be called again.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	err := errors.Join(r.file.Close(), r.lock.Close())
	r.file = nil
	if r.failed == nil {
		r.failed = r.failure(errors.New("the recording is closed"))
	}
	if err != nil {
		return r.failure(err)
	}
	return nil
}
