package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plan-engine/plan/tools/mcp"
)

// reached makes a server at an address.
func reached(t *testing.T, url string, change func(*mcp.Config)) *mcp.Server {
	t.Helper()
	return serverIn(t, "", func(c *mcp.Config) {
		c.URL, c.Line, c.Shell = url, "", nil
		if change != nil {
			change(c)
		}
	})
}

// webServer is a server with the SDK behind HTTP, which keeps what it has sent.
func webServer(t *testing.T, around func(http.Handler) http.Handler) string {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "web", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{
		Name:        "get_slowly",
		Description: "Say how far it is, then what it is.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
	}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(),
			Message:       "on its way",
		})
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "it came"}}}, nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(
		func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{EventStore: sdk.NewMemoryEventStore(nil)},
	)
	web := httptest.NewServer(around(handler))
	t.Cleanup(func() {
		web.Close()
		for session := range s.Sessions() { // that were forgotten
			_ = session.Close()
		}
	})
	return web.URL
}

// TestAServerOverHTTP: key and headers are sent to it, in one session that is ended.
func TestAServerOverHTTP(t *testing.T) {
	t.Parallel()
	var wrong, ended atomic.Int64
	url := webServer(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer the key" || r.Header.Get("X-Team") != "a" {
				wrong.Add(1)
			}
			if r.Method == http.MethodDelete {
				ended.Add(1)
			}
			next.ServeHTTP(w, r)
		})
	})
	s := reached(t, url, func(c *mcp.Config) {
		c.Key = func(context.Context) (string, error) { return "the key", nil }
		c.Headers = map[string]string{"X-Team": "a"}
	})
	if got := call(t, s, "get_slowly", "{}"); !strings.Contains(got.Output, "it came") || got.Error {
		t.Errorf("%+v", got)
	}
	_ = s.Close()
	if wrong.Load() != 0 || ended.Load() != 1 {
		t.Errorf("%d requests without key or header, and %d ends of a session", wrong.Load(), ended.Load())
	}
	s = reached(t, url, func(c *mcp.Config) { c.Offline = "explore has no network" })
	if _, err := s.Load(t.Context()); err == nil || err.Error() != "explore has no network" {
		t.Errorf("%v", err)
	}
}

// cutOff lets the first event of an answer through, and ends the connection.
type cutOff struct {
	http.ResponseWriter
	cut func() bool
}

func (c cutOff) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("it came")) && c.cut() {
		return 0, io.ErrClosedPipe
	}
	return c.ResponseWriter.Write(p)
}

func (c cutOff) Flush() { c.ResponseWriter.(http.Flusher).Flush() }

// TestACutStreamGoesOn: an answer whose stream is cut is asked for again from where it was
// cut, and the call is not made twice.
func TestACutStreamGoesOn(t *testing.T) {
	t.Parallel()
	var calls, resumed atomic.Int64
	var cut atomic.Bool
	url := webServer(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Last-Event-ID") != "" {
				resumed.Add(1)
			}
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte(`"tools/call"`)) {
				calls.Add(1)
				ctx, end := context.WithCancel(r.Context())
				defer end()
				w, r = cutOff{w, func() bool {
					defer end()
					return cut.CompareAndSwap(false, true)
				}}, r.WithContext(ctx)
			}
			next.ServeHTTP(w, r)
			if bytes.Contains(body, []byte(`"tools/call"`)) {
				panic(http.ErrAbortHandler) // the connection ends in the middle of the answer
			}
		})
	})
	got := call(t, reached(t, url, nil), "get_slowly", "{}")
	if !strings.Contains(got.Output, "it came") || calls.Load() != 1 || resumed.Load() == 0 || !cut.Load() {
		t.Errorf("%d calls, %d times resumed: %+v", calls.Load(), resumed.Load(), got)
	}
}

// TestKeysStayWhereTheyAreFor: a redirect to another place is not followed, and gets no key.
func TestKeysStayWhereTheyAreFor(t *testing.T) {
	t.Parallel()
	var reachedOther atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reachedOther.Add(1) }))
	t.Cleanup(other.Close)
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(first.Close)
	s := reached(t, first.URL, func(c *mcp.Config) {
		c.Key = func(context.Context) (string, error) { return "the key", nil }
	})
	if _, err := s.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "it leads to another place") {
		t.Errorf("%v", err)
	}
	if reachedOther.Load() != 0 {
		t.Error("the other place was reached")
	}
}

// TestWebServersMisbehave: one that hangs is given up in time, one that forgets the session
// is reached anew, and one that never ends an answer is bounded.
func TestWebServersMisbehave(t *testing.T) {
	t.Parallel()
	var hang, forget atomic.Bool
	url := webServer(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			var m struct{ Method string }
			_ = json.Unmarshal(body, &m)
			switch {
			case hang.Load() && m.Method == "tools/call":
				<-r.Context().Done()
				return
			case forget.Load() && m.Method == "tools/call":
				forget.Store(false)
				http.Error(w, "no such session", http.StatusNotFound)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s := reached(t, url, func(c *mcp.Config) { c.Timeout = 3 * time.Second })
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	hang.Store(true)
	if got := call(t, s, "get_slowly", "{}"); got.Status != "timeout" {
		t.Errorf("%+v", got)
	}
	hang.Store(false)
	if got := call(t, s, "get_slowly", "{}"); got.Error {
		t.Errorf("after one call without an answer: %+v", got)
	}
	forget.Store(true)
	if got := call(t, s, "get_slowly", "{}"); !got.Error {
		t.Errorf("%+v", got)
	}
	if got := call(t, s, "get_slowly", "{}"); got.Error {
		t.Errorf("the session is gone, and was not begun anew: %+v", got)
	}
}
