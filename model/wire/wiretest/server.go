// Package wiretest is what the tests of all wires need: a server that keeps what
// it is sent, tables of answers, histories to measure with, and the conformance of
// a wire with what it says about itself.
//
// It must not know how a wire writes its requests: what is particular to one wire
// stays in the tests of that wire.
package wiretest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire"
)

// Request is a request that a [Server] was sent.
type Request struct {
	Path   string
	Header http.Header
	Body   string
}

// Handler answers the n-th request, from 0.
type Handler func(w http.ResponseWriter, r *http.Request, n int, body string)

// Server is a model server that answers as a test says and keeps what it was sent.
type Server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []Request
}

// Serve starts a server, until the test ends.
func Serve(t testing.TB, handle Handler) *Server {
	t.Helper()
	s := &Server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read request: %v", err)
		}
		s.mu.Lock()
		n := len(s.requests)
		s.requests = append(s.requests, Request{
			Path:   r.URL.Path,
			Header: r.Header.Clone(),
			Body:   string(body),
		})
		s.mu.Unlock()
		handle(w, r, n, string(body))
	}))
	t.Cleanup(s.Close)
	return s
}

// ServeText starts a server that answers every request with a text.
func ServeText(t testing.TB, contentType, text string) *Server {
	t.Helper()
	return Serve(t, Text(contentType, text))
}

// Text makes a handler that answers every request with a text.
func Text(contentType, text string) Handler {
	return func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, text)
	}
}

// EventStream is the content type of streams.
const EventStream = "text/event-stream"

// Request returns the n-th request, from 0.
func (s *Server) Request(t testing.TB, n int) Request {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n >= len(s.requests) {
		t.Fatalf("the server got %d requests, want more than %d", len(s.requests), n)
	}
	return s.requests[n]
}

// Body returns the body of the n-th request, from 0.
func (s *Server) Body(t testing.TB, n int) string {
	t.Helper()
	return s.Request(t, n).Body
}

// Count is how many requests have come.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// Config describes the server for a client.
func (s *Server) Config() wire.Config {
	return wire.Config{BaseURL: s.URL + "/v1", HTTP: s.Client()}
}

// Open opens a client of a wire, by settings of the wire's own that a test has changed.
func Open[C any](
	t testing.TB,
	open func(C) (*wire.Client, error),
	cfg C,
	change ...func(*C),
) *wire.Client {
	t.Helper()
	for _, c := range change {
		c(&cfg)
	}
	client, err := open(cfg)
	if err != nil {
		t.Fatalf("open a client: %v", err)
	}
	return client
}

// Key makes the function that tells a client its key.
func Key(key string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return key, nil }
}

// RoundTrip answers requests without a network.
type RoundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f RoundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Always makes a client for HTTP that answers every request with a body, without
// a network. Sent is told of each request; nil: it need not be.
func Always(body string, sent func(r *http.Request, body string)) *http.Client {
	return &http.Client{Transport: RoundTrip(func(r *http.Request) (*http.Response, error) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, fmt.Errorf("read the request: %w", err)
		}
		if sent != nil {
			sent(r, string(data))
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
	})}
}

// Field returns one field at the top of a JSON object, as it stands there.
func Field(t testing.TB, object, name string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &fields); err != nil {
		t.Fatalf("request is not a JSON object: %v\n%s", err, object)
	}
	return string(bytes.TrimSpace(fields[name]))
}

// mostRunes bounds the message of a failure.
const mostRunes = 300

// ModelError asserts that err is a failure of the kind, with a message that a
// terminal can show.
func ModelError(t testing.TB, err error, kind loop.ErrorKind) *loop.ModelError {
	t.Helper()
	failed, ok := loop.AsModelError(err)
	if !ok {
		t.Fatalf("error is %T %v, want a model error", err, err)
	}
	if failed.Kind != kind {
		t.Fatalf("kind = %s (%v), want %s", failed.Kind, err, kind)
	}
	text := failed.Message
	if text == "" || strings.ContainsAny(text, "\n\r\x1b") || len([]rune(text)) > mostRunes {
		t.Errorf("message is not one line of at most %d runes: %q", mostRunes, text)
	}
	return failed
}

// Call is a request of one user message.
func Call(model, text string) loop.Call {
	return loop.Call{Model: model, Messages: []plan.Message{plan.UserText(text)}}
}
