// Package record keeps a log of what a server does, one JSON object a line, with the ids of
// runs. What a request holds, and the token of its address, is not in it.
package record

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sanitize"
)

// file is the log, in the folder for logs of a home.
const file = "serve.jsonl"

// most is the size from which a log is put aside when the next server begins. The one that
// was put aside before goes.
const most = 10 << 20

// Log is an open log.
type Log struct {
	*slog.Logger
	file *os.File
}

// Open opens the log in a folder, which is made.
func Open(dir string) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for logs: %w", err)
	}
	path := filepath.Join(dir, file)
	if info, err := os.Stat(path); err == nil && info.Size() > most {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, fmt.Errorf("put the log aside: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return &Log{
		Logger: slog.New(slog.NewJSONHandler(f, nil)),
		file:   f,
	}, nil
}

// Close closes the log.
func (l *Log) Close() error { return l.file.Close() } //nolint:wrapcheck // it names the file

// Saw notes what moves a run that is driven here.
func (l *Log) Saw(ev plan.Event) {
	run := slog.String("run", string(ev.Run))
	switch b := ev.Body.(type) {
	case plan.RunStart:
		l.Info("run begins", run, slog.String("repo", clean(b.Repo)))
	case plan.StateChange:
		l.Info("run moves", run, slog.String("state", string(b.To)))
	case plan.Parked:
		l.Info("run parks", run, slog.String("reason", string(b.Reason)))
	case plan.RunEnd:
		l.Info("run ends", run, slog.String("outcome", string(b.Outcome)))
	case plan.Failure:
		l.Warn("run says", run, slog.String("error", clean(b.Error)))
	}
}

// Ended notes that this process is done with a run.
func (l *Log) Ended(run plan.RunID, err error) {
	if err != nil {
		l.Error("run cannot be driven", slog.String("run", string(run)), slog.String("error", clean(err.Error())))
	}
}

// Note notes what people should know about a run.
func (l *Log) Note(run plan.RunID, text string) {
	l.Info("note", slog.String("run", string(run)), slog.String("text", clean(text)))
}

func clean(text string) string { return sanitize.Line(text) }

// Wrap notes each request that is answered, and tells also of its status.
func (l *Log) Wrap(next http.Handler, now func() time.Time, also func(status int)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := now()
		response := &answered{ResponseWriter: w}
		defer func() {
			also(response.code())
			if strings.HasPrefix(r.URL.Path, "/static/") || r.URL.Path == "/rows" {
				return
			}
			l.Info("request",
				slog.String("method", clean(r.Method)),
				slog.String("path", clean(r.URL.Path)),
				slog.Int("status", response.code()),
				slog.Duration("took", now().Sub(begin)),
				slog.String("run", runOf(r.URL.Path)),
			)
		}()
		next.ServeHTTP(response, r)
	})
}

// runOf is the run that a path names, "" for none.
func runOf(path string) string {
	_, rest, ok := strings.Cut(path, "/runs/")
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, "/")
	return clean(id)
}

// answered sees the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets a stream set its deadlines.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answered) code() int {
	if a.status == 0 {
		return http.StatusOK
	}
	return a.status
}
