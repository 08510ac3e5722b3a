package tui

import "io"

// tty makes something that runs while the terminal is given back of what needs none of
// its ends.
type tty struct{ suspender }

// SetStdin implements tea.ExecCommand.
func (tty) SetStdin(io.Reader) {}

// SetStdout implements tea.ExecCommand.
func (tty) SetStdout(io.Writer) {}

// SetStderr implements tea.ExecCommand.
func (tty) SetStderr(io.Writer) {}
