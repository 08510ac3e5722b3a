package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/plan-engine/plan"
)

// viewer shows a run while it happens. It is called from one goroutine, in the
// order of events. Durable events carry a Seq; live ones do not.
type viewer interface {
	Event(e plan.Event)
	// Close takes away what is not meant to stay and returns the first write
	// error. It may be called twice.
	Close() error
}

// viewOptions say how to show a run to a person. The zero value is usable.
type viewOptions struct {
	Now     func() time.Time // default time.Now
	Width   func() int       // columns, asked for each line; 0 or nil: not known
	Color   bool
	ASCII   bool   // only ASCII, for a locale that is not UTF-8
	Verbose bool   // whole texts, more output of failed commands, prefix hashes
	Resume  string // command that resumes the run; default plan resume RUN
	// Before is what the run had come to before the first event that the
	// viewer sees. It is copied; nil for a new run.
	Before *tally
}

// Columns of a place whose width is not known, and the most that a line uses
// so that its right edge stays near the text.
const (
	columnsUnknown = 100
	columnsMost    = 110
)

// viewOptionsFor looks at where people's text goes. tty says whether out is a
// terminal whose cursor can be moved, so that a screen viewer can be used.
func viewOptionsFor(out *os.File, getenv func(string) string) (opts viewOptions, tty bool) {
	fd := int(out.Fd())
	tty = term.IsTerminal(fd) && getenv("TERM") != "dumb"
	return viewOptions{
		Now:   time.Now,
		Color: tty && getenv("NO_COLOR") == "",
		ASCII: !isUTF8Locale(getenv),
		Width: func() int {
			width, _, err := term.GetSize(fd)
			if err != nil {
				return 0
			}
			return width
		},
	}, tty
}

// isUTF8Locale follows the order of precedence of POSIX: the first variable
// that is set decides.
func isUTF8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

func (o viewOptions) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// columns is the width of the place that is written to.
func (o viewOptions) columns() int {
	if o.Width != nil {
		if width := o.Width(); width > 0 {
			return width
		}
	}
	return columnsUnknown
}

// jsonViewer writes one event a line.
type jsonViewer struct {
	w   io.Writer
	buf []byte
	err error
}

// newJSONViewer returns a viewer that writes every event, live ones too, as
// the line of JSON that the journal stores. After a write error it writes
// nothing more; a reader that went away is not an error.
func newJSONViewer(w io.Writer) viewer { return &jsonViewer{w: w} }

func (v *jsonViewer) Event(e plan.Event) {
	if v.err != nil {
		return
	}
	line, err := e.AppendJSON(v.buf[:0])
	if err != nil {
		v.err = fmt.Errorf("show event %d: %w", e.Seq, err)
		return
	}
	v.buf = append(line, '\n')
	if _, err := v.w.Write(v.buf); err != nil {
		v.err = fmt.Errorf("write events: %w", err)
	}
}

func (v *jsonViewer) Close() error { return unlessReaderLeft(v.err) }

// plainViewer writes lines that stay, for logs and pipes.
type plainViewer struct {
	w    io.Writer
	narr *narrator
	err  error
}

// newPlainViewer returns a viewer without colours and cursor movement. It
// shows an assistant's text when the message ends. Unless opts.Verbose it
// shortens a long one and leaves the output of running checks out.
func newPlainViewer(w io.Writer, opts viewOptions) viewer {
	opts.Color = false
	n := newNarrator(opts)
	if !opts.Verbose {
		n.textRows = 12
	}
	return &plainViewer{w: w, narr: n}
}

func (v *plainViewer) Event(e plan.Event) {
	if v.err != nil {
		return
	}
	lines := v.narr.lines(e)
	if p, ok := e.Body.(plan.Progress); ok && v.narr.opts.Verbose {
		lines = v.narr.output("      ", lastLines(p.Text, 20))
	}
	v.err = writeLines(v.w, lines)
}

func (v *plainViewer) Close() error { return unlessReaderLeft(v.err) }

// writeLines writes lines in one call.
func writeLines(w io.Writer, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("write to the terminal or log: %w", err)
	}
	return nil
}

// unlessReaderLeft forgives writing to a pipe that nobody reads any more.
func unlessReaderLeft(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
