package provider_test

import (
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
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/catalog"
	"github.com/plan-engine/plan/model/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// said is an answer of each wire, by the path that it is asked for at.
var said = map[string]string{
	"/v1/chat/completions": `{"model":"m","choices":[{"index":0,"message":{"content":"hello"},"finish_reason":"stop"}]}`,
	"/v1/responses": `{"id":"r","object":"response","status":"completed","model":"m",` +
		`"output":[{"type":"message","id":"i","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hello"}]}]}`,
	"/v1/messages": `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hello"}],` +
		`"stop_reason":"end_turn",` +
		`"usage":{"input_tokens":1,"output_tokens":1}}`,
}

// request is what a server was sent.
type request struct {
	path, query, body string
	header            http.Header
}

// model is the model that was asked for.
func (r request) model() string {
	var in struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal([]byte(r.body), &in)
	return in.Model
}

// fake is a server that answers on all wires, unless handle does.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	requests []request
	calls    int // of the requests, those for answers
}

// serve starts a server. Handle may be nil; it reports whether it answered. It is
// given the number of the request from 0, or -1 for lists of models, which are
// asked for behind calls.
func serve(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, n int) bool) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		f.mu.Lock()
		n := -1
		if !strings.HasSuffix(r.URL.Path, "/models") {
			n = f.calls
			f.calls++
		}
		f.requests = append(
			f.requests,
			request{path: r.URL.Path, query: r.URL.RawQuery, body: string(body), header: r.Header.Clone()},
		)
		f.mu.Unlock()
		if handle != nil && handle(w, r, n) {
			return
		}
		answer, ok := said[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) at() string { return f.URL + "/v1" }

// seen are the requests so far, without those for lists of models.
func (f *fake) seen() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []request
	for _, r := range f.requests {
		if !strings.HasSuffix(r.path, "/models") {
			out = append(out, r)
		}
	}
	return out
}

// open makes a set of settings and an environment of NAME=value.
func open(t *testing.T, settings config.Config, environ []string, change ...func(*provider.Config)) *provider.Set {
	t.Helper()
	cfg := provider.Config{
		Settings: settings,
		Catalog:  catalog.New(nil),
		Getenv: func(name string) string {
			for _, e := range environ {
				if value, ok := strings.CutPrefix(e, name+"="); ok {
					return value
				}
			}
			return ""
		},
	}
	for _, c := range change {
		c(&cfg)
	}
	set := provider.New(cfg)
	t.Cleanup(set.Close)
	return set
}

// ask asks a model, and fails the test where it does not answer.
func ask(t *testing.T, set *provider.Set, model string) loop.Answer {
	t.Helper()
	answer, err := set.Generate(t.Context(), call(model), nil)
	if err != nil || answer.Message.Text() != "hello" {
		t.Fatalf("%s: %+v, %v", model, answer, err)
	}
	return answer
}

func call(model string) loop.Call {
	return loop.Call{Model: model, Messages: []plan.Message{plan.UserText("hi")}}
}

// failure asserts that err is a model error of the kind.
func failure(t *testing.T, err error, kind loop.ErrorKind) *loop.ModelError {
	t.Helper()
	me, ok := loop.AsModelError(err)
	if !ok || me.Kind != kind {
		t.Fatalf("error is %v, want one of the kind %s", err, kind)
	}
	return me
}

// command makes a key command of a function.
func command(run func(line string) (string, error)) func(*provider.Config) {
	return func(c *provider.Config) {
		c.Command = func(_ context.Context, line string) (string, error) { return run(line) }
	}
}
