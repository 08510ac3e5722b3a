package responses_test

import (
	"bytes"
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
	"github.com/plan-engine/plan/model/responses"
	"github.com/plan-engine/plan/model/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a model server that answers with a handler of the test and keeps what
// it was sent.
type fake struct {
	*httptest.Server
	mu      sync.Mutex
	bodies  []string
	headers []http.Header
}

// serve starts a server. The handler is given the number of the request, from 0,
// and its body.
func serve(t testing.TB, handle func(w http.ResponseWriter, r *http.Request, n int, body string)) *fake {
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
func serveText(t testing.TB, contentType, text string) *fake {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, text)
	})
}

// body returns the n-th request body.
func (f *fake) body(t testing.TB, n int) string {
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
func (f *fake) client(t testing.TB, change ...func(*responses.Config)) *wire.Client {
	t.Helper()
	cfg := responses.Config{Config: wire.Config{BaseURL: f.URL + "/v1", HTTP: f.Client()}}
	for _, c := range change {
		c(&cfg)
	}
	client, err := responses.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return client
}

// sse writes events, each with its type as its name.
func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		var of struct{ Type string }
		if json.Unmarshal([]byte(e), &of) == nil && of.Type != "" {
			b.WriteString("event: " + of.Type + "\n")
		}
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

// ended is the last event of a stream: a response with a status and its output.
func ended(status string, output ...string) string {
	return event(status, `"id":"resp_1","object":"response","model":"m-1","status":"`+status+`","error":null,"output":[`+
		strings.Join(output, ",")+`]`)
}

// event is an event about the response, with the fields given.
func event(name, fields string) string {
	return `{"type":"response.` + name + `","sequence_number":9,"response":{` + fields + `}}`
}

var completed = ended("completed")

// call is a request of one user message.
func call(text string) loop.Call {
	return loop.Call{Model: "m", Messages: []plan.Message{plan.UserText(text)}}
}

// field returns one top-level field of a JSON object, as it stands there.
func field(t testing.TB, object, name string) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &fields); err != nil {
		t.Fatalf("request is not a JSON object: %v\n%s", err, object)
	}
	return string(bytes.TrimSpace(fields[name]))
}

// inputOf returns the items of a request.
func inputOf(t testing.TB, body string) []string {
	t.Helper()
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(field(t, body, "input")), &items); err != nil {
		t.Fatalf("the input is no list: %v\n%s", err, body)
	}
	out := make([]string, len(items))
	for i := range items {
		out[i] = string(items[i])
	}
	return out
}

// modelError asserts that err is a model error of the kind.
func modelError(t testing.TB, err error, kind loop.ErrorKind) *loop.ModelError {
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
