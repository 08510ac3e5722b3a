package git

import (
	"context"
	"time"
)

// NoFileError says that git waited for a program that writes into a pipe, or read a device
// that never ends, where it looks for a file. Such a pipe, or a link to such a device, is
// made to stop the one that looks.
type NoFileError struct {
	Path   string
	Device bool // else it is a pipe
}

// Error implements error.
func (e *NoFileError) Error() string {
	if e.Device {
		return "a file of git's leads to " + e.Path + ", which is a device, and git reads it without end"
	}
	return e.Path + " is a pipe, and git waits there for what it says"
}

// Hint says what to do about it.
func (e *NoFileError) Hint() string {
	if e.Device {
		return "Look for a link to it in the repository and in its .git (find . -type l), and remove it: git looks " +
			"for a file there."
	}
	return "Remove it: git looks for a file there."
}

// patience is how long git may take before it is looked at what it does, and from one look
// to the next. Hardly any command takes as long.
const patience = time.Second

// stopWaiting stops a command of git's as soon as it, or a program that it started, waits
// for a pipe to be opened by another program, or reads a device. It ends with ctx.
func stopWaiting(ctx context.Context, pid int, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(patience)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if at := noFileOf(pid); at != nil {
			stop(at)
			return
		}
	}
}
