// Package hint gives errors a second sentence: what a person can do about them.
// It knows nothing of what went wrong.
package hint

import (
	"errors"
	"fmt"
)

// Error is an error that says what can be done about it.
type Error struct {
	err  error
	hint string
}

// New makes an error of a text and what can be done about it.
func New(text, hint string) *Error {
	return &Error{
		err:  errors.New(text),
		hint: hint,
	}
}

// Wrap adds to an error what can be done about it.
func Wrap(err error, hint string) *Error {
	return &Error{
		err:  err,
		hint: hint,
	}
}

// Error implements error.
func (e *Error) Error() string { return e.err.Error() }

// Hint says what can be done.
func (e *Error) Hint() string { return e.hint }

// Unwrap is the error without the advice.
func (e *Error) Unwrap() error { return e.err }

// Of finds the outermost advice in an error, "" for none.
func Of(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// Misuse is an error in what was asked for, whatever the state of things: a
// command line calls it a usage error.
type Misuse struct{ text string }

// Usage makes a [Misuse] of a format and its values.
func Usage(format string, args ...any) *Misuse {
	return &Misuse{text: fmt.Sprintf(format, args...)}
}

// Error implements error.
func (m *Misuse) Error() string { return m.text }
