package git

import (
	"context"
	"time"
)

// PipeError says that git waited for a program that writes into a pipe, where it looks
// for a file. No program does: such a pipe is made to stop the one that looks.
type PipeError struct{ Path string }

// Error implements error.
func (e *PipeError) Error() string {
	return e.Path + " is a pipe, and git waits there for what it says"
}

// Hint says what to do about it.
func (e *PipeError) Hint() string { return "Remove it: git looks for a file there." }

// patience is how long git may take before it is looked at what it does, and from one look
// to the next. Hardly any command takes as long.
const patience = time.Second

// stopWaiting stops a command of git's as soon as it, or a program that it started, waits
// for a pipe to be opened by another program. It ends with ctx.
func stopWaiting(ctx context.Context, pid int, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(patience)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if path := pipeOf(pid); path != "" {
			stop(&PipeError{Path: path})
			return
		}
	}
}
