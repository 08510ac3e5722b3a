// Package api is what programs find under /api/v1: runs, batches and drafts as JSON
// documents, and the events of runs as lines or as a stream. It must not know who may ask.
package api

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web/service"
	"github.com/plan-engine/plan/face/web/watch"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/internal/sanitize"
)

// Prefix is what the paths of the API begin with.
const Prefix = "/api/v1"

// Description is the path of what the API says of itself.
const Description = Prefix + "/openapi.json"

//go:embed openapi.json
var description []byte

// API answers programs.
type API struct {
	service *service.Service
	hub     *watch.Hub
	mux     *http.ServeMux
}

// New makes the API of what can be done.
func New(w *service.Service, hub *watch.Hub) *API {
	a := &API{
		service: w,
		hub:     hub,
		mux:     http.NewServeMux(),
	}
	for pattern, answer := range a.routes() {
		method, path := cutMethod(pattern)
		a.mux.HandleFunc(method+" "+Prefix+path, func(w http.ResponseWriter, r *http.Request) {
			if err := answer(w, r); err != nil {
				fail(w, err)
			}
		})
	}
	a.mux.HandleFunc(Prefix+"/", func(w http.ResponseWriter, r *http.Request) {
		document(w, http.StatusNotFound, problem{
			Error: "there is no " + r.Method + " " + r.URL.Path,
			Hint:  "See " + Description + ".",
		})
	})
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// answer answers a request, or says why not.
type answer func(http.ResponseWriter, *http.Request) error

// routes are what can be asked, as "METHOD /path".
func (a *API) routes() map[string]answer {
	return map[string]answer{
		"GET /openapi.json":     a.describe,
		"GET /runs":             a.runs,
		"POST /runs":            a.begin,
		"GET /runs/{id}":        a.run,
		"GET /runs/{id}/plan":   a.plan,
		"GET /runs/{id}/diff":   a.diff,
		"GET /runs/{id}/cost":   a.cost,
		"GET /runs/{id}/events": a.events,
		"POST /runs/{id}/letters": func(w http.ResponseWriter, r *http.Request) error {
			return take(w, r, func(l service.Letter) (any, error) {
				return a.service.Tell(r.Context(), r.PathValue("id"), l)
			})
		},
		"POST /runs/{id}/resume": func(w http.ResponseWriter, r *http.Request) error {
			return take(w, r, func(how service.Resume) (any, error) {
				id, err := a.service.Resume(r.Context(), r.PathValue("id"), how)
				return begun{ID: id}, err
			})
		},
		"POST /runs/{id}/apply": func(w http.ResponseWriter, r *http.Request) error {
			return take(w, r, func(how service.Apply) (any, error) {
				return a.service.Apply(r.Context(), r.PathValue("id"), how)
			})
		},
		"POST /runs/{id}/restore": func(w http.ResponseWriter, r *http.Request) error {
			return take(w, r, func(how service.Restore) (any, error) {
				return a.service.Restore(r.Context(), r.PathValue("id"), how)
			})
		},
		"GET /repositories":                   a.repositories,
		"GET /batches":                        a.batches,
		"POST /batches":                       a.beginBatch,
		"GET /batches/{id}":                   a.batch,
		"POST /batches/{id}/resume":           a.resumeBatch,
		"POST /batches/{id}/retry":            a.retryBatch,
		"POST /batches/{id}/cancel":           a.cancelBatch,
		"GET /batches/{id}/jobs/{job}":        a.job,
		"GET /batches/{id}/jobs/{job}/diff":   a.jobDiff,
		"GET /batches/{id}/jobs/{job}/events": a.jobEvents,
		"POST /batches/{id}/jobs/{job}/letters": func(w http.ResponseWriter, r *http.Request) error {
			return take(w, r, func(l service.Letter) (any, error) {
				return a.service.TellJob(r.Context(), r.PathValue("id"), r.PathValue("job"), l)
			})
		},
		"GET /skills/drafts":                 a.drafts,
		"POST /skills/drafts/{name}/approve": a.decideDraft(true),
		"POST /skills/drafts/{name}/reject":  a.decideDraft(false),
	}
}

// begun names what was begun, or goes on.
type begun struct {
	ID plan.RunID `json:"id"`
}

// problem is what an error says.
type problem struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"` // what can be done about it
}

// fail answers with an error, where nothing was answered yet.
func fail(w http.ResponseWriter, err error) {
	status := service.Status(err)
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "30")
	}
	document(w, status, problem{
		Error: sanitize.Text(err.Error()),
		Hint:  sanitize.Text(hint.Of(err)),
	})
}

// document answers with one JSON document, without characters that act on a terminal.
func document(w http.ResponseWriter, status int, v any) {
	data, err := plan.MarshalCompact(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error": "the answer cannot be encoded"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(sanitize.JSON(data), '\n')) //nolint:gosec // JSON, which no browser takes for a page
}

// ok answers with one document.
func ok(w http.ResponseWriter, v any, err error) error {
	if err == nil {
		document(w, http.StatusOK, v)
	}
	return err
}

// read reads the document of a request, if it has one. What it does not know it refuses: a
// misspelt limit would be none.
func read(r *http.Request, into any) error {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if errors.Is(err, io.EOF) { // an empty one asks for nothing special
		return nil
	}
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return fmt.Errorf("read the request: %w", err)
	case err != nil:
		return hint.Usage("the request is no JSON that fits: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return hint.Usage("the request has more than one JSON document")
	}
	return nil
}

// take reads the document of a request, and answers with what comes of it.
func take[T any](w http.ResponseWriter, r *http.Request, do func(T) (any, error)) error {
	var got T
	if err := read(r, &got); err != nil {
		return err
	}
	out, err := do(got)
	return ok(w, out, err)
}

// number reads a number of the query, 0 where there is none.
func number(r *http.Request, name string) (int64, error) {
	text := r.FormValue(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, hint.Usage("%s is %q: write a number", name, text)
	}
	return n, nil
}

// yes reads a word of the query.
func yes(r *http.Request, name string, otherwise bool) (bool, error) {
	text := r.FormValue(name)
	if text == "" {
		return otherwise, nil
	}
	is, err := strconv.ParseBool(text)
	if err != nil {
		return false, hint.Usage("%s is %q: write true or false", name, text)
	}
	return is, nil
}

func (a *API) describe(w http.ResponseWriter, _ *http.Request) error {
	text, err := described()
	if err == nil {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // the client may have left
	}
	return err
}

// cutMethod splits the pattern of a route.
func cutMethod(pattern string) (method, path string) {
	for i := range len(pattern) {
		if pattern[i] == ' ' {
			return pattern[:i], pattern[i+1:]
		}
	}
	return "", pattern
}
