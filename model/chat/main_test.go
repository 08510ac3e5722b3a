package chat_test

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

	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a model server that answers with a handler of the test and keeps
// what it was sent.
type fake struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
}

// serve starts a server. The handler is given the number of the request,
// from 0, and its body.
func serve(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, n int, body string)) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read request: %v", err)
		}
		f.mu.Lock()
		n := len(f.bodies)
		f.bodies = append(f.bodies, string(body))
		f.headers = append(f.headers, r.Header.Clone())
		f.mu.Unlock()
		handle(w, r, n, string(body))
	}))
	t.Cleanup(f.Close)
	return f
}

// serveText starts a server that answers every request with text.
func serveText(t *testing.T, contentType, text string) *fake {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, text)
	})
}

// body returns the n-th request body.
func (f *fake) body(t *testing.T, n int) string {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if n >= len(f.bodies) {
		t.Fatalf("the server got %d requests, want more than %d", len(f.bodies), n)
	}
	return f.bodies[n]
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.bodies)
}

// client makes a client for the server.
func (f *fake) client(t *testing.T, change ...func(*chat.Config)) *wire.Client {
	t.Helper()
	cfg := chat.Config{Config: wire.Config{BaseURL: f.URL + "/v1", HTTP: f.Client()}}
	for _, c := range change {
		c(&cfg)
	}
	client, err := chat.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return client
}

func withKey(key string) func(*chat.Config) {
	return func(c *chat.Config) {
		c.Key = func(context.Context) (string, error) { return key, nil }
	}
}

// sse writes events, each in a data line, with [DONE] at the end.
func sse(events ...string) string {
	var b strings.Builder
	for _, e := range append(events, "[DONE]") {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

// deltaOf makes a chunk with a delta and a finish reason ("" for none).
func deltaOf(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = `"` + finish + `"`
	}
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m-1","choices":[{"index":0,"delta":%s,`+
		`"finish_reason":%s}]}`, delta, reason)
}

const stopped = `{"id":"c1","model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

// call is a request of one user message.
func call(text string) loop.Call {
	return loop.Call{Model: "m", Messages: []plan.Message{plan.UserText(text)}}
}

// field returns one top-level field of a JSON object, as it stands there.
func field(t *testing.T, object, name string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &fields); err != nil {
		t.Fatalf("request is not a JSON object: %v\n%s", err, object)
	}
	return string(bytes.TrimSpace(fields[name]))
}

// modelError asserts that err is a model error of the kind.
func modelError(t *testing.T, err error, kind loop.ErrorKind) *loop.ModelError {
	t.Helper()
	me, ok := loop.AsModelError(err)
	if !ok {
		t.Fatalf("error is %T %v, want a model error", err, err)
	}
	if me.Kind != kind {
		t.Fatalf("kind = %s (%v), want %s", me.Kind, err, kind)
	}
	if strings.ContainsAny(me.Message, "\n\r\x1b") || len([]rune(me.Message)) > 300 || me.Message == "" {
		t.Errorf("message is not one line of at most 300 runes: %q", me.Message)
	}
	return me
}
