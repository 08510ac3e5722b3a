package terminal

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Ask puts a question to the person and reads the line that answers it. What was
// typed before the question stood there answers nothing and is thrown away.
func (t Terminal) Ask(ctx context.Context, question string) (string, bool) {
	t.Discard()
	_, _ = io.WriteString(t.Out, question) // a terminal that is gone answers nothing
	return t.ReadLine(ctx)
}

// ReadLine reads a line from the person, until ctx ends. It reads no further than
// the line, and leaves no reader behind that could take the next one, from an editor
// or a later question.
func (t Terminal) ReadLine(ctx context.Context) (string, bool) {
	var line []byte
	char := make([]byte, 1)
	for {
		if !t.awaitInput(ctx) {
			return "", false
		}
		n, err := t.In.Read(char)
		switch {
		case n > 0 && char[0] == '\n':
			return strings.TrimSpace(string(line)), true
		case n > 0:
			line = append(line, char[0])
		case err != nil && errors.Is(err, io.EOF) && len(line) > 0:
			return strings.TrimSpace(string(line)), true
		case err != nil:
			return "", false
		}
	}
}

// lookInterval is how often a question looks whether it has become pointless.
const lookInterval = 50 * time.Millisecond

// awaitInput waits until there is something to read, and reports whether that comes
// before the end of ctx.
func (t Terminal) awaitInput(ctx context.Context) bool {
	f, ok := t.In.(*os.File)
	for ok && ctx.Err() == nil {
		switch ready, err := readable(int(f.Fd()), lookInterval); {
		case err != nil:
			return false
		case ready:
			return ctx.Err() == nil
		}
	}
	return ctx.Err() == nil
}

// readable waits for input on a file, its end included.
func readable(fd int, most time.Duration) (bool, error) {
	var set unix.FdSet
	set.Set(fd)
	left := unix.NsecToTimeval(most.Nanoseconds())
	n, err := unix.Select(fd+1, &set, nil, nil, &left)
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return n > 0, err //nolint:wrapcheck // the caller only asks whether
}

// Discard throws away what was typed and not read, so that it answers no question
// and reaches no shell. A process in the background leaves the terminal alone: it
// would be stopped.
func (t Terminal) Discard() {
	f, ok := t.In.(*os.File)
	if !ok {
		return
	}
	fd := int(f.Fd())
	if front, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && front == unix.Getpgrp() {
		flush(fd)
	}
}
