package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/plan-engine/plan/face/mcp"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
	"github.com/plan-engine/plan/internal/gittest"
	"github.com/plan-engine/plan/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Enter()
	goleak.VerifyTestMain(m)
}

// world is a repository whose greet.sh says hullo, a home, and a model that has it say
// hello.
type world struct{ *hosttest.World }

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{hosttest.New(t)}
}

// client is an agent that speaks to a server.
type client struct {
	*sdk.ClientSession
	t     *testing.T
	leave func()

	mu       sync.Mutex
	progress []string
	asked    []*sdk.ElicitParams
}

// open starts a server on pipes. Answer fills in forms; nil: the client has none.
func (w *world) open(t *testing.T, o mcp.Options, answer map[string]any) *client {
	t.Helper()
	return w.openAt(t, o, answer, "")
}

// openAt is open for a client that speaks a version of the protocol.
func (w *world) openAt(t *testing.T, o mcp.Options, answer map[string]any, version string) *client {
	t.Helper()
	o.Dir = w.Repo
	h := host.New(w.Config)
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- mcp.ServeStdio(context.WithoutCancel(t.Context()), h, toServer, fromServer, o)
		_ = fromServer.Close()
	}()
	c := &client{t: t}
	var err error
	c.ClientSession, err = c.sdkClient(answer).Connect(t.Context(), &sdk.IOTransport{
		Reader: toClient,
		Writer: fromClient,
	}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	c.leave = sync.OnceFunc(func() {
		_ = c.Close()
		if err := <-served; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { c.leave() })
	return c
}

func (c *client) sdkClient(answer map[string]any) *sdk.Client {
	o := &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.progress = append(c.progress, r.Params.Message)
		},
	}
	if answer != nil {
		o.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.asked = append(c.asked, r.Params)
			return &sdk.ElicitResult{
				Action:  "accept",
				Content: answer,
			}, nil
		}
	}
	return sdk.NewClient(&sdk.Implementation{Name: "test"}, o)
}

// call calls a tool, and reads its document.
func (c *client) call(name string, args map[string]any) mcp.Document {
	c.t.Helper()
	var d mcp.Document
	text, failed := c.text(name, args)
	if failed {
		c.t.Fatalf("%s: %s", name, text)
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		c.t.Fatalf("%s answers %q: %v", name, text, err)
	}
	return d
}

// text calls a tool, and returns what it says.
func (c *client) text(name string, args map[string]any) (text string, failed bool) {
	c.t.Helper()
	params := &sdk.CallToolParams{
		Name:      name,
		Arguments: args,
	}
	params.SetProgressToken(name)
	got, err := c.CallTool(c.t.Context(), params)
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	said, ok := got.Content[0].(*sdk.TextContent)
	if !ok {
		c.t.Fatalf("%s answers %T", name, got.Content[0])
	}
	return said.Text, got.IsError
}

// TestARun: from the request to the change in the user's tree, with progress on the way.
func TestARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(t, mcp.Options{}, nil)
	d := c.call("plan_run", map[string]any{
		"request":  "Make greet.sh say hello",
		"checks":   []string{"sh greet.sh | grep -qx hello"},
		"worktree": true,
		"wait_s":   600,
	})
	if d.State != "approved" || d.Evidence != "shown" || d.Diff.Files != 1 || d.Worktree == "" {
		t.Errorf("it stands at %+v", d)
	}
	if len(d.Checks) == 0 || d.Checks[0].ExitCode != 0 || d.Checks[0].Before == nil || *d.Checks[0].Before == 0 {
		t.Errorf("the checks are %+v", d.Checks)
	}
	patch, failed := c.text("plan_diff", map[string]any{"run": string(d.Run)})
	if failed || !strings.Contains(patch, "+echo hello") {
		t.Errorf("the change is %s", patch)
	}
	if text, failed := c.text("plan_apply", map[string]any{"run": string(d.Run)}); failed {
		t.Errorf("apply: %s", text)
	}
	if data, _ := os.ReadFile(filepath.Join(w.Repo, "greet.sh")); string(data) != "echo hello\n" {
		t.Errorf("greet.sh is %q", data)
	}
	whole, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "plan://runs/" + string(d.Run)})
	if err != nil || !strings.Contains(whole.Contents[0].Text, "# Plan: Say hello") {
		t.Errorf("the resource is %+v, %v", whole, err)
	}
	c.leave()
	if all := strings.Join(c.progress, "\n"); !strings.Contains(all, "implementing") || !strings.Contains(all, "check: ") {
		t.Errorf("progress:\n%s", all)
	}
}

// TestALongRunHandsBackItsID: what waits for an answer is told it, by whichever process.
func TestALongRunHandsBackItsID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(t, mcp.Options{}, nil)
	d := c.call("plan_run", map[string]any{
		"request": "Make greet.sh say hello. Ask first",
		"wait_s":  0,
	})
	if d.Run == "" {
		t.Fatalf("it answers %+v", d)
	}
	d = c.call("plan_wait", map[string]any{
		"run":    string(d.Run),
		"wait_s": 600,
	})
	if d.State != "parked" || d.Waiting[0].Question != "Which language?" || !strings.Contains(d.Next, "plan_tell") {
		t.Errorf("it stands at %+v", d)
	}
	c.leave()

	c = w.open(t, mcp.Options{}, nil)
	d = c.call("plan_tell", map[string]any{
		"run":    string(d.Run),
		"text":   "English",
		"wait_s": 600,
	})
	if d.State != "approved" {
		t.Errorf("it stands at %+v", d)
	}
}

// TestAPersonDecides: by a form that holds the plan where the client has one; else
// nothing but the call and its digest decides, and only where that was allowed.
func TestAPersonDecides(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wait := true
	var o mcp.Options
	o.Run.Settings.ApprovePlan = &wait
	run := map[string]any{
		"request": "Make greet.sh say hello",
		"wait_s":  600,
	}
	for _, version := range []string{"", "2025-06-18"} {
		asks := w.openAt(t, o, map[string]any{"decision": "carry it out"}, version)
		if d := asks.call("plan_run", run); d.State != "approved" || len(asks.asked) != 1 ||
			!strings.Contains(asks.asked[0].Message, "# Plan: Say hello") {
			t.Errorf("with a form it stands at %+v", d)
		}
		asks.leave()
		gittest.Git(t, w.Repo, "checkout", "-q", ".")
	}

	c := w.open(t, o, nil)
	d := c.call("plan_run", run)
	if d.Parked != "approval" || len(d.Waiting) != 1 || d.Waiting[0].Digest == "" {
		t.Fatalf("without a form it stands at %+v", d)
	}
	if tools, err := c.ListTools(t.Context(), nil); err != nil || len(tools.Tools) != 7 {
		t.Errorf("there are %d tools, %v", len(tools.Tools), err)
	}
	c.leave()

	o.AllowDecisions = true
	c = w.open(t, o, nil)
	decide := map[string]any{
		"run":     string(d.Run),
		"call":    d.Waiting[0].Call,
		"digest":  "of another plan",
		"approve": true,
		"wait_s":  600,
	}
	if text, failed := c.text("plan_decide", decide); !failed {
		t.Errorf("another digest decides: %s", text)
	}
	decide["digest"] = d.Waiting[0].Digest
	if d = c.call("plan_decide", decide); d.State != "approved" {
		t.Errorf("decided, it stands at %+v", d)
	}
	decide["approve"] = false
	if text, failed := c.text("plan_decide", decide); !failed || !strings.Contains(text, "approved by person at 20") {
		t.Errorf("a second decision is answered with %s", text)
	}
}

// TestOverHTTP: who has the token may call, and no page of a browser.
func TestOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	h := host.New(w.Config)
	began := make(chan mcp.Served, 1)
	done := make(chan error, 1)
	go func() {
		done <- mcp.ServeHTTP(ctx, h, "127.0.0.1:0", mcp.Options{Dir: w.Repo}, func(s mcp.Served) error {
			began <- s
			return nil
		})
	}()
	at := <-began
	for header, want := range map[string]int{"": http.StatusUnauthorized, "Bearer x": http.StatusUnauthorized} {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, at.URL, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", header)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		if got.StatusCode != want {
			t.Errorf("with %q: %s", header, got.Status)
		}
	}
	c := &client{t: t}
	transport := &http.Transport{}
	var err error
	c.ClientSession, err = c.sdkClient(nil).Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: at.URL,
		HTTPClient: &http.Client{Transport: bearer{
			token: at.Token,
			next:  transport,
		}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := c.call("plan_run", map[string]any{
		"request": "Make greet.sh say hello",
		"wait_s":  600,
	})
	if d.State != "approved" {
		t.Errorf("it stands at %+v", d)
	}
	_ = c.Close()
	stop()
	if err := <-done; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	transport.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := mcp.ServeHTTP(t.Context(), h, "0.0.0.0:0", mcp.Options{}, nil); err == nil {
		t.Error("it listens beyond this machine")
	}
}

// bearer adds the token to each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// TestASignedState: what was asked comes back as it went out, or answers nothing.
func TestASignedState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(t, mcp.Options{}, nil)
	got, err := c.CallTool(t.Context(), &sdk.CallToolParams{
		Name:         "plan_wait",
		Arguments:    map[string]any{"run": "x"},
		RequestState: "e30.e30",
	})
	if err != nil || !got.IsError {
		t.Errorf("a state that was not signed is taken: %+v, %v", got, err)
	}
}

// TestRepositoriesThatCallsMayName: others, and their runs, are not there for a client.
func TestRepositoriesThatCallsMayName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.open(t, mcp.Options{}, nil)
	d := first.call("plan_run", map[string]any{
		"request":   "Make greet.sh say hello",
		"plan_only": true,
		"wait_s":    600,
	})
	first.leave()

	other := t.TempDir()
	gittest.Git(t, other, "init", "-q")
	mine := w.Repo
	w.Repo = other // where the server is started
	c := w.open(t, mcp.Options{Repos: []string{t.TempDir()}}, nil)
	for name, args := range map[string]map[string]any{
		"plan_run":    {"request": "Make greet.sh say hello", "repo": mine},
		"plan_status": {"run": string(d.Run)},
		"plan_tell":   {"run": string(d.Run), "text": "Go on"},
		"plan_diff":   {"run": string(d.Run)},
	} {
		if text, failed := c.text(name, args); !failed || !strings.Contains(text, "not allowed here") {
			t.Errorf("%s: %s", name, text)
		}
	}
	c.leave()
	c = w.open(t, mcp.Options{Repos: []string{mine}}, nil)
	if text, failed := c.text("plan_status", map[string]any{"run": string(d.Run)}); failed {
		t.Errorf("allowed: %s", text)
	}
}
