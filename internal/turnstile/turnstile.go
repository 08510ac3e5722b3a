// Package turnstile lets one process at a time in, and the others in the order in
// which they came, for as long as those before them move.
//
// There are two locks of the kernel. Who is inside has the second; who is next has
// the first and waits for the second; all others wait for the first. So a process
// that leaves and comes back at once stands behind those that wait, and no process
// that was killed keeps anything.
package turnstile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Config says where a turnstile is, and how long is long.
type Config struct {
	// Dir has the two files, on a local disk. They stay for ever: if one were
	// removed, two processes could be inside.
	Dir, Name string
	// Tell hears once of a wait that takes long, and for which process; 0 if that
	// is not known. It may be nil.
	Tell func(pid int)
	// Beat is how often a process inside says that it lives, and how often one that
	// waits looks for that; 0 means a second.
	Beat time.Duration
	// Word and Patience are the beats after which a wait takes long, and after
	// which a process inside that has not said so is taken to be stuck; 0 means 2
	// and 30.
	Word, Patience int
}

// Turnstile is the place of one process before it. Its methods may be called from
// several goroutines, which also go in one at a time.
type Turnstile struct {
	cfg       Config
	next, in  *os.File
	signature []byte

	// place holds one while no goroutine of this process is inside or in line.
	place chan struct{}

	mu     sync.Mutex
	inside bool
	beat   *time.Timer // while inside
	told   bool        // of a long wait, since this process was inside last
}

// StuckError says that the process inside is there and does not move.
type StuckError struct {
	PID  int // 0 if it is not known
	Path string
	For  time.Duration
}

// Error says it in one sentence.
func (e *StuckError) Error() string {
	return fmt.Sprintf("%s keeps the lock %s and has given no sign of life for %s", process(e.PID), e.Path, e.For)
}

func process(pid int) string {
	if pid == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}

// New opens the turnstile, and makes its files where they are missing.
func New(cfg Config) (*Turnstile, error) {
	if cfg.Beat == 0 {
		cfg.Beat = time.Second
	}
	if cfg.Word == 0 {
		cfg.Word = 2
	}
	if cfg.Patience == 0 {
		cfg.Patience = 30
	}
	t := &Turnstile{
		cfg:       cfg,
		signature: fmt.Appendf(nil, "{\"pid\":%-20d}\n", os.Getpid()),
		place:     make(chan struct{}, 1),
	}
	t.place <- struct{}{}
	t.beat = time.AfterFunc(cfg.Beat, t.live)
	t.beat.Stop()
	var err error
	if t.next, err = openLock(filepath.Join(cfg.Dir, cfg.Name+".next")); err != nil {
		return nil, err
	}
	if t.in, err = openLock(filepath.Join(cfg.Dir, cfg.Name+".inside")); err != nil {
		return nil, errors.Join(err, t.next.Close())
	}
	return t, nil
}

func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:wrapcheck // it names the file
}

// Enter returns once this goroutine is inside, alone among all processes. It fails
// when ctx ends, and with a [*StuckError].
func (t *Turnstile) Enter(ctx context.Context) error {
	w := wait{t: t}
	defer w.end()
	select {
	case <-t.place:
	default:
		if _, err := await(ctx, &w, t.place); err != nil {
			return err
		}
	}
	came, err := w.passLine(ctx)
	switch {
	case !came:
		return err
	case err != nil:
		t.place <- struct{}{}
		return fmt.Errorf("wait in line at %s: %w", t.in.Name(), err)
	}
	t.enter()
	return nil
}

// enter signs, and goes on to do so for as long as this process is inside.
func (t *Turnstile) enter() {
	t.sign()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inside, t.told = true, false
	t.beat.Reset(t.cfg.Beat)
}

// sign says who is inside, and when it was seen to live: that is when the file was
// written. It is for those who wait, so a disk that is full is not its business.
func (t *Turnstile) sign() { _, _ = t.in.WriteAt(t.signature, 0) }

func (t *Turnstile) live() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inside {
		t.sign()
		t.beat.Reset(t.cfg.Beat)
	}
}

// Leave lets the next one in.
func (t *Turnstile) Leave() {
	t.mu.Lock()
	t.inside = false
	t.beat.Stop()
	t.mu.Unlock()
	_ = unlock(t.in) // of a file that is locked and open, it cannot fail
	t.place <- struct{}{}
}

// Wanted reports whether another process waits to come in; this one is inside.
func (t *Turnstile) Wanted() bool {
	free, err := tryLock(t.next)
	if free {
		_ = unlock(t.next) // as in Leave
	}
	return !free && err == nil
}

// Away calls do while this process is neither inside nor in line, nor can be: it
// may be stopped there and keeps no other process waiting.
func (t *Turnstile) Away(do func()) {
	<-t.place
	defer func() { t.place <- struct{}{} }()
	do()
}

// Close closes the files. Nothing goes in any more.
func (t *Turnstile) Close() error {
	select {
	case <-t.place:
		defer func() { t.place <- struct{}{} }()
		return errors.Join(t.next.Close(), t.in.Close())
	default: // a wait was given up, and the kernel knows only the end of the process
		return nil
	}
}

// holder is what those who wait can see of the process inside.
func (t *Turnstile) holder() (pid int, at time.Time) {
	var owner struct {
		PID int `json:"pid"`
	}
	if info, err := t.in.Stat(); err == nil {
		at = info.ModTime()
	}
	text := make([]byte, len(t.signature))
	if n, err := t.in.ReadAt(text, 0); err == nil && json.Unmarshal(text[:n], &owner) != nil {
		owner.PID = 0 // the first is just signing
	}
	return owner.PID, at
}
