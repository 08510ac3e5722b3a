// Package render shows runs: to a person in lines or on a screen, with a
// summary at the end, and to a program as one event a line. It reads events and
// nothing else, and makes every text safe for a terminal.
package render

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
	"github.com/plan-engine/plan/internal/sanitize"
)

// Viewer shows a run while it happens. It is called from one goroutine, in the
// order of events. Durable events carry a Seq; live ones do not.
type Viewer interface {
	Event(e plan.Event)
	// Close takes away what is not meant to stay and returns the first write
	// error. It may be called twice.
	Close() error
}

// Options say how to show a run to a person. The zero value is usable.
type Options struct {
	Now     func() time.Time // default time.Now
	Width   func() int       // columns, asked for each line; 0 or nil: not known
	Color   bool
	ASCII   bool   // only ASCII, for a locale that is not UTF-8
	Verbose bool   // whole texts, more output of failed commands, prefix hashes
	Resume  string // command that resumes the run; default plan resume RUN
	// Before is what the run had come to before the first event that the
	// Viewer sees. It is copied; nil for a new run.
	Before *Tally
}

// Columns of a place whose width is not known, and the most that a line uses
// so that its right edge stays near the text.
const (
	columnsUnknown = 100
	MaxColumns     = 110
)

// OptionsFor looks at where people's text goes. tty says whether out is a
// terminal whose cursor can be moved, so that a screen viewer can be used.
func OptionsFor(out *os.File, getenv func(string) string) (opts Options, tty bool) {
	fd := int(out.Fd())
	tty = term.IsTerminal(fd) && getenv("TERM") != "dumb"
	return Options{
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

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// Columns is the width of the place that is written to.
func (o Options) Columns() int {
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

// NewJSON returns a viewer that writes every event, live ones too, as
// the line of JSON that the journal stores, with what does not print as escapes. After a write error it writes
// nothing more; a reader that went away is not an error.
func NewJSON(w io.Writer) Viewer { return &jsonViewer{w: w} }

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
	if _, err := v.w.Write(sanitize.JSON(v.buf)); err != nil {
		v.err = fmt.Errorf("write events: %w", err)
	}
}

func (v *jsonViewer) Close() error { return UnlessReaderLeft(v.err) }

// plainViewer writes lines that stay, for logs and pipes.
type plainViewer struct {
	w    io.Writer
	narr *narrator
	err  error
}

// NewPlain returns a viewer without colours and cursor movement. It
// shows an assistant's text when the message ends. Unless opts.Verbose it
// shortens a long one and leaves the output of running checks out.
func NewPlain(w io.Writer, opts Options) Viewer {
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
	if p, ok := e.Body.(plan.Progress); ok && p.Of != "" {
		lines = v.narr.output("      ", []string{v.narr.firstLine(p.Text)})
	} else if ok && v.narr.opts.Verbose {
		lines = v.narr.output("      ", lastLines(p.Text, 20))
	}
	v.err = WriteLines(v.w, lines)
}

func (v *plainViewer) Close() error { return UnlessReaderLeft(v.err) }

// WriteLines writes lines in one call.
func WriteLines(w io.Writer, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("write to the terminal or log: %w", err)
	}
	return nil
}

// UnlessReaderLeft forgives writing to a pipe whose reader has gone.
func UnlessReaderLeft(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}
