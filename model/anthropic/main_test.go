package anthropic_test

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
	"github.com/plan-engine/plan/model/anthropic"
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
	paths   []string
}

// serve starts a server. The handler is given the number of the request, from 0,
// and its body.
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
		f.paths = append(f.paths, r.URL.Path)
		f.mu.Unlock()
		handle(w, r, n, string(body))
	}))
	t.Cleanup(f.Close)
	return f
}

// serveText starts a server that answers every request with text.
func serveText(t *testing.T, text string) *fake {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
		w.Header().Set("Content-Type", "text/event-stream")
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
func (f *fake) client(t *testing.T, change ...func(*anthropic.Config)) *wire.Client {
	t.Helper()
	cfg := anthropic.Config{Config: wire.Config{BaseURL: f.URL + "/v1", HTTP: f.Client(), Provider: "house"}}
	for _, c := range change {
		c(&cfg)
	}
	client, err := anthropic.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return client
}

func withKey(key string) func(*anthropic.Config) {
	return func(c *anthropic.Config) {
		c.Key = func(context.Context) (string, error) { return key, nil }
	}
}

// event writes one event.
func event(kind, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, fields)
}

// begun begins a message.
const begun = "event: message_start\n" +
	`data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-1","content":[],` +
	`"usage":{"input_tokens":3,"output_tokens":1}}}` +
	"\n\n"

// said is a whole block that comes in pieces.
func said(index int, block string, deltas ...string) string {
	out := event("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, index, block))
	for _, d := range deltas {
		out += event("content_block_delta", fmt.Sprintf(`"index":%d,"delta":%s`, index, d))
	}
	return out + event("content_block_stop", fmt.Sprintf(`"index":%d`, index))
}

// words is a block of text.
func words(index int, text string) string {
	return said(index, `{"type":"text","text":""}`, delta("text_delta", "text", text))
}

// delta is a piece of a block.
func delta(kind, field, text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"type":%q,%q:%s}`, kind, field, raw)
}

// ended ends a message.
func ended(why string) string {
	return event("message_delta", fmt.Sprintf(`"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":5}`, why)) +
		event("message_stop", "")
}

// answered is a short answer.
var answered = begun + words(0, "ok") + ended("end_turn")

// call is a request of one user message.
func call(text string) loop.Call {
	return loop.Call{Model: "claude-opus-4-6", Messages: []plan.Message{plan.UserText(text)}}
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
