// Package checks runs the commands that decide whether work is good, and finds
// out which commands a repository has for that.
//
// A check's status is the command's own: never that of the last stage of a
// pipe, never what a report says it was.
//
// The package must not know models, phases, git or the journal: which checks
// are required, and what follows from their results, is decided above it.
package checks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/sandbox"
)

const (
	defaultOutputLimit = 8 << 10
	// maxLine is how long a line may get before it is shown unfinished.
	maxLine = 64 << 10
)

// Config says how checks run.
type Config struct {
	// Shell runs the commands.
	Shell *sandbox.Shell
	// Timeout bounds one check. Default 60 minutes before the change, and then 15
	// minutes or three times what it took before, whichever is longer.
	Timeout time.Duration
	// Quiet is how long a check may neither print anything nor use the processor;
	// then it hangs. Default 15 minutes before the change, and then 5 minutes or
	// twice what it took before, whichever is longer; where that is no shorter than
	// Timeout, it is not looked at.
	Quiet time.Duration
	// Grace is how long a check that is stopped may say where it stands, as Go and
	// the JVM do when they are sent SIGQUIT. Default 5 seconds.
	Grace time.Duration
	// OutputLimit is how many bytes of the output stay in the result, from its
	// head and its tail. Default 8 KiB.
	OutputLimit int
	// Redact takes known secrets out of a text. Default: nothing to take out.
	Redact func(string) string
}

// Runner runs checks. It is safe for concurrent use.
type Runner struct{ cfg Config }

// New makes a runner; it panics without a shell.
func New(cfg Config) *Runner {
	if cfg.Shell == nil {
		panic("checks: Config.Shell is not set")
	}
	if cfg.Grace <= 0 {
		cfg.Grace = defaultGrace
	}
	if cfg.OutputLimit <= 0 {
		cfg.OutputLimit = defaultOutputLimit
	}
	if cfg.Redact == nil {
		cfg.Redact = func(text string) string { return text }
	}
	return &Runner{cfg: cfg}
}

// Run runs one check in dir and says what came of it; whether it is a baseline
// is for the caller to fill in. When the output does not fit the result, the
// whole of it comes as a blob: what the command itself would say, without the
// names of the tests of go that it was made to tell. Nothing leaves here that
// was not redacted: update, which may be nil, is called with whole lines as they
// come.
//
// A check that runs too long or hangs is stopped, and its output ends with a
// line in brackets that says so.
//
// A check that fails is a result. An error means that ctx ended, and then the
// result holds what there was until then, or that the shell cannot start.
func (r *Runner) Run(
	ctx context.Context,
	dir string,
	t plan.Trial,
	update func(text string),
) (plan.CheckResult, []plan.Blob, error) {
	lines := &lineWriter{
		redact: r.cfg.Redact,
		show:   update,
		all:    asksForAll(t.Command),
	}
	command := sandbox.Command{
		Line:    t.Command,
		Dir:     dir,
		Timeout: r.limit(t),
		Quiet:   r.quiet(t),
		Grace:   r.cfg.Grace,
	}
	if update != nil {
		command.Output = lines.write
	}
	shell := r.cfg.Shell.With(Env(r.cfg.Shell.Env(), r.cfg.Shell.Temp()))
	res, err := shell.Run(ctx, command)
	if update != nil {
		lines.flush()
	}
	if err != nil {
		err = fmt.Errorf("check: %w", r.hide(err))
	}
	out := plan.CheckResult{
		Check:      t.Check,
		ExitCode:   res.ExitCode,
		DurationMS: res.Duration.Milliseconds(),
		TimedOut:   res.TimedOut,
		Hung:       res.Hung,
		Running:    r.stillRunning(res.Running),
	}
	note := stopNote(t, out, command)
	if note != "" && update != nil {
		update(note)
	}
	whole, _ := sandbox.Cut(res.Output, len(res.Output)*len("\uFFFD"))
	out.Tests = Report(whole)
	if !lines.all {
		whole = withoutVerbose(whole)
	}
	whole = r.cfg.Redact(whole)
	out.Output = whole
	out.NotStarted = NotStarted(out)
	text, cut := sandbox.Cut([]byte(whole), r.cfg.OutputLimit)
	out.Output = withLine(text, note)
	if !cut {
		return out, nil, err
	}
	blob := blobOf(withLine(whole, note))
	out.Blob = blob.Hash
	return out, []plan.Blob{blob}, err
}

// hide keeps secrets that stand in the command line out of the error's text.
func (r *Runner) hide(err error) error {
	if text := r.cfg.Redact(err.Error()); text != err.Error() {
		return redacted{text: text, err: err}
	}
	return err
}

// redacted is an error under a cleaner text.
type redacted struct {
	text string
	err  error
}

func (e redacted) Error() string { return e.text }
func (e redacted) Unwrap() error { return e.err }

func blobOf(text string) plan.Blob {
	sum := sha256.Sum256([]byte(text))
	return plan.Blob{Hash: hex.EncodeToString(sum[:]), Data: []byte(text)}
}

// lineWriter shows output line by line, so that a secret or a character that
// comes in two pieces is seen whole before it is shown.
type lineWriter struct {
	redact func(string) string
	show   func(string)
	rest   []byte
	all    bool // the command is to name every test that it runs
	quiet  quiet
}

func (w *lineWriter) write(chunk []byte) {
	w.rest = append(w.rest, chunk...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	if end == 0 && len(w.rest) > maxLine {
		end = len(w.rest)
	}
	if end == 0 {
		return
	}
	w.emit(w.rest[:end])
	w.rest = append(w.rest[:0], w.rest[end:]...)
}

func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		w.emit(w.rest)
		w.rest = nil
	}
	if rest := w.quiet.unfinished(); rest != "" {
		w.show(w.redact(rest))
	}
}

func (w *lineWriter) emit(text []byte) {
	clean, _ := sandbox.Cut(text, len(text)*len("\uFFFD"))
	if !w.all {
		clean = w.quiet.lines(clean)
	}
	if clean != "" {
		w.show(w.redact(clean))
	}
}
