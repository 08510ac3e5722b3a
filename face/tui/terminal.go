package tui

import (
	"os"
	"time"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// Terminal is a terminal as it was before anything was drawn on it.
type Terminal struct {
	in, out *os.File
	state   *term.State
}

// OpenTerminal remembers how a terminal is set.
func OpenTerminal(in, out *os.File) *Terminal {
	state, err := term.GetState(int(in.Fd()))
	if err != nil {
		state = nil
	}
	return &Terminal{in: in, out: out, state: state}
}

// Restore sets a terminal as it was, for a process that ends at once. One that takes no
// output does not hold it up.
func (t *Terminal) Restore() {
	if t.state == nil {
		return
	}
	_ = term.Restore(int(t.in.Fd()), t.state) // the process ends, whatever comes of it
	written := make(chan struct{})
	go func() {
		_, _ = t.out.WriteString(
			ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseExtSgr + ansi.ResetModeBracketedPaste +
				ansi.ResetModifyOtherKeys + ansi.PopKittyKeyboard(1) + ansi.ResetModeAltScreenSaveCursor +
				ansi.SetModeTextCursorEnable + ansi.ResetStyle + "\r\n",
		)
		close(written)
	}()
	const patience = 50 * time.Millisecond
	select {
	case <-written:
	case <-time.After(patience):
	}
}
