package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.uber.org/goleak"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web"
	"github.com/plan-engine/plan/face/web/guard"
	"github.com/plan-engine/plan/face/web/service"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/hosttest"
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

// client is a program that speaks to a server.
type client struct {
	t    *testing.T
	at   web.Served
	http *http.Client
	stop func()
}

// open starts a server.
func (w *world) open(t *testing.T, o web.Options) *client {
	t.Helper()
	h := host.New(w.Config)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	o.Dir = w.Repo
	o.Place = guard.Place{Address: "127.0.0.1:0"}
	began := make(chan web.Served, 1)
	done := make(chan error, 1)
	go func() {
		done <- web.Serve(ctx, h, o, func(s web.Served) error {
			began <- s
			return nil
		})
	}()
	c := &client{
		t:    t,
		http: &http.Client{Transport: &http.Transport{}},
	}
	c.stop = func() {
		if c.stop == nil {
			return
		}
		c.stop = nil
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		c.http.CloseIdleConnections()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	select {
	case c.at = <-began:
	case err := <-done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.stop != nil {
			c.stop()
		}
	})
	return c
}

// send sends a request to the API. Header holds pairs.
func (c *client) send(method, path, body string, header ...string) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.at.URL+"api/v1"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.at.Token)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	got, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	return got
}

// ask sends a request, and reads what is answered into a document. It returns the status.
func (c *client) ask(method, path, body string, into any) int {
	c.t.Helper()
	got := c.send(method, path, body)
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if into != nil && got.StatusCode < 300 {
		if err := json.Unmarshal(data, into); err != nil {
			c.t.Fatalf("%s %s answers %s", method, path, data)
		}
	}
	if got.StatusCode >= 300 {
		c.t.Logf("%s %s: %s", method, path, data)
	}
	return got.StatusCode
}

// refused asks for what is refused, and why: all of these are said.
func (c *client) refused(path, body string, says ...string) {
	c.t.Helper()
	got := c.send(http.MethodPost, path, body)
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	missing := slices.DeleteFunc(says, func(want string) bool { return strings.Contains(string(data), want) })
	if err != nil || got.StatusCode != http.StatusConflict || len(missing) > 0 {
		c.t.Errorf("%s is answered with %d %s, %v: without %q", body, got.StatusCode, data, err, missing)
	}
}

// begin begins a run.
func (c *client) begin(body string) plan.RunID {
	c.t.Helper()
	var got struct {
		ID plan.RunID `json:"id"`
	}
	if status := c.ask(http.MethodPost, "/runs", body, &got); status != http.StatusCreated {
		c.t.Fatalf("a run is answered with %d", status)
	}
	return got.ID
}

// rest waits until no process goes on with a run, and returns how it stands.
func (c *client) rest(id plan.RunID) service.Run {
	c.t.Helper()
	got := c.send(http.MethodGet, "/runs/"+string(id)+"/events", "")
	_, _ = io.Copy(io.Discard, got.Body)
	_ = got.Body.Close()
	var d service.Run
	if status := c.ask(http.MethodGet, "/runs/"+string(id), "", &d); status != http.StatusOK {
		c.t.Fatalf("the run is answered with %d", status)
	}
	return d
}

// stream reads a stream of events until most came, or it ends. It returns their ids, and
// the type of the last one.
func (c *client) stream(id plan.RunID, most int, header ...string) (ids []int64, last plan.EventType) {
	c.t.Helper()
	got := c.send(http.MethodGet, "/runs/"+string(id)+"/events", "", append(header, "Accept", "text/event-stream")...)
	defer got.Body.Close()
	lines := bufio.NewScanner(got.Body)
	lines.Buffer(nil, 1<<20)
	for len(ids) < most && lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				c.t.Fatal(err)
			}
			ids = append(ids, n)
		}
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var ev plan.Event
			if err := json.Unmarshal([]byte(text), &ev); err != nil {
				c.t.Fatal(err)
			}
			last = ev.Type()
		}
	}
	return ids, last
}

// described holds an answer against the schema that openapi.json has for it.
func (c *client) described(path, name string) {
	c.t.Helper()
	var doc struct {
		Components struct {
			Schemas map[string]any
		}
	}
	c.ask(http.MethodGet, "/openapi.json", "", &doc)
	text, err := json.Marshal(map[string]any{
		"$ref":  "#/components/schemas/" + name,
		"$defs": doc.Components.Schemas,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/")), &schema); err != nil {
		c.t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var answer any
	c.ask(http.MethodGet, path, "", &answer)
	if err := resolved.Validate(answer); err != nil {
		c.t.Errorf("%s is not answered with what is described as %s: %v", path, name, err)
	}
}

// TestARun: begun over the API, followed without a gap by one who comes and goes, and
// brought over.
func TestARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(t, web.Options{})
	id := c.begin(`{"request": "Make greet.sh say hello", "worktree": true, "checks": ["sh greet.sh | grep -qx hello"]}`)
	first, _ := c.stream(id, 5)
	second, last := c.stream(id, 1000, "Last-Event-ID", "5")
	for i, seq := range append(first, second...) {
		if seq != int64(i+1) {
			t.Fatalf("event %d of the two streams has the id %d", i+1, seq)
		}
	}
	if last != plan.TypeRunEnd {
		t.Errorf("the stream ends with %s", last)
	}
	d := c.rest(id)
	if d.State != plan.Approved || d.Evidence != "shown" || d.Diff.Files != 1 || d.Events != int64(len(first)+len(second)) {
		t.Errorf("it stands at %+v", d)
	}
	if got := c.send(http.MethodGet, "/runs/"+string(id)+"/events", "", "Accept", "text/event-stream",
		"Last-Event-ID", strconv.FormatInt(d.Events, 10)); got.StatusCode != http.StatusNoContent {
		t.Errorf("at its end a stream is answered with %s", got.Status)
	}
	var change struct{ Diff string }
	c.ask(http.MethodGet, "/runs/"+string(id)+"/diff", "", &change)
	var doc plan.PlanDoc
	c.ask(http.MethodGet, "/runs/"+string(id)+"/plan", "", &doc)
	var cost struct{ Rows []any }
	c.ask(http.MethodGet, "/runs/"+string(id)+"/cost", "", &cost)
	if !strings.Contains(change.Diff, "+echo hello") || doc.Version != 1 || len(cost.Rows) == 0 {
		t.Errorf("its change is %q, its plan %+v, its cost %+v", change.Diff, doc, cost)
	}
	for view, name := range map[string]string{"": "Run", "/plan": "PlanDoc", "/diff": "Change", "/cost": "Document"} {
		c.described("/runs/"+string(id)+view, name)
	}
	if status := c.ask(http.MethodPost, "/runs/"+string(id)+"/apply", `{"check": true}`, nil); status != http.StatusOK {
		t.Errorf("apply with check answers %d", status)
	}
	if data, _ := os.ReadFile(filepath.Join(w.Repo, "greet.sh")); string(data) != "echo hullo\n" {
		t.Errorf("a check changed greet.sh to %q", data)
	}
	var moved host.ApplyResult
	if c.ask(http.MethodPost, "/runs/"+string(id)+"/apply", "", &moved); moved.Result != host.ResultApplied {
		t.Errorf("apply comes to %+v", moved)
	}
	if data, _ := os.ReadFile(filepath.Join(w.Repo, "greet.sh")); string(data) != "echo hello\n" {
		t.Errorf("greet.sh is %q", data)
	}
	if c.ask(http.MethodPost, "/runs/"+string(id)+"/restore", `{"undo": true}`, &moved); moved.Result != host.ResultUndone {
		t.Errorf("restore comes to %+v", moved)
	}
	var list []host.ListedRun
	if c.ask(http.MethodGet, "/runs?q=GREET+hello&state=approved", "", &list); len(list) != 1 || list[0].ID != id {
		t.Errorf("the list has %+v", list)
	}
	if c.ask(http.MethodGet, "/runs?q=goodbye", "", &list); len(list) != 0 {
		t.Errorf("other words find %+v", list)
	}
}

// TestDecisions: they name the call and what was shown, in every case.
func TestDecisions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(t, web.Options{})
	id := c.begin(`{"request": "Make greet.sh say hello. Ask first", "approve_plan": true}`)
	letters := "/runs/" + string(id) + "/letters"
	d := c.rest(id)
	if d.Parked != plan.ParkApproval || len(d.Waiting) != 1 || !d.Waiting[0].Plan ||
		!strings.Contains(d.Waiting[0].Shown, "Say hello") {
		t.Fatalf("it stands at %+v", d)
	}
	call, digest := d.Waiting[0].Call, d.Waiting[0].Digest
	for body, want := range map[string]int{
		`{"kind": "approve"}`:                                                     http.StatusBadRequest,
		fmt.Sprintf(`{"kind": "approve", "call": %q}`, call):                      http.StatusBadRequest,
		fmt.Sprintf(`{"kind": "approve", "call": %q, "digest": "x"}`, call):       http.StatusConflict,
		fmt.Sprintf(`{"kind": "approve", "call": "other", "digest": %q}`, digest): http.StatusConflict,
		fmt.Sprintf(`{"kind": "aprove", "call": %q, "digest": %q}`, call, digest): http.StatusBadRequest,
		`{"kind": "steer"}`:             http.StatusBadRequest,
		`{"kind": "steer", "txt": "x"}`: http.StatusBadRequest,
	} {
		if status := c.ask(http.MethodPost, letters, body, nil); status != want {
			t.Errorf("%s is answered with %d, want %d", body, status, want)
		}
	}
	var told service.Told
	yes := fmt.Sprintf(`{"kind": "approve", "call": %q, "digest": %q}`, call, digest)
	if status := c.ask(http.MethodPost, letters, yes, &told); status != http.StatusOK || told.Reaches != "now" {
		t.Errorf("a yes is answered with %d, %+v", status, told)
	}
	c.refused(letters, yes, call, "approved by person at 20")
	if d = c.rest(id); d.Parked != plan.ParkQuestion || d.Waiting[0].Question != "Which language?" {
		t.Fatalf("approved, it stands at %+v", d)
	}
	c.ask(http.MethodPost, letters, `{"text": "English"}`, &told)
	if d = c.rest(id); d.State != plan.Approved {
		t.Errorf("answered, it stands at %+v", d)
	}
	c.refused(letters, yes, call, "approved by person at 20")
	if status := c.ask(http.MethodPost, letters, `{"kind": "cancel"}`, nil); status != http.StatusConflict {
		t.Errorf("cancelled at its end: %d", status)
	}
}

// TestABound: no more runs are driven than may be, and they park when the server ends.
func TestABound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open(t, web.Options{Concurrency: 1})
	id := c.begin(`{"request": "Make greet.sh say hello"}`)
	if status := c.ask(http.MethodPost, "/runs", `{"request": "Another"}`, nil); status != http.StatusTooManyRequests {
		t.Errorf("a second run is answered with %d", status)
	}
	for body, want := range map[string]int{
		`{"request": ""}`: http.StatusBadRequest,
		`{"request": "x", "repo": "` + os.TempDir() + `"}`:          http.StatusConflict,
		`{"request": "x", "repo": "../repo"}`:                       http.StatusBadRequest,
		`{"request": "x"} {}`:                                       http.StatusBadRequest,
		`{"request": "` + strings.Repeat("x", guard.MaxBody) + `"}`: http.StatusRequestEntityTooLarge,
	} {
		if status := c.ask(http.MethodPost, "/runs", body, nil); status != want {
			t.Errorf("%.40s is answered with %d, want %d", body, status, want)
		}
	}
	for path, want := range map[string]int{
		"/runs/nothing":                           http.StatusNotFound,
		"/runs/nothing/events":                    http.StatusNotFound,
		"/runs/..%2f..%2fetc%2fpasswd":            http.StatusNotFound,
		"/batches/nothing":                        http.StatusNotFound,
		"/frobnicate":                             http.StatusNotFound,
		"/runs?limit=many":                        http.StatusBadRequest,
		"/runs/" + string(id) + "/events?until=x": http.StatusBadRequest,
		"/openapi.json":                           http.StatusOK,
		"/repositories":                           http.StatusOK,
		"/skills/drafts":                          http.StatusOK,
		"/batches":                                http.StatusOK,
	} {
		if status := c.ask(http.MethodGet, path, "", nil); status != want {
			t.Errorf("%s is answered with %d, want %d", path, status, want)
		}
	}
	c.stop()
	h := host.New(w.Config)
	defer h.Close()
	run, err := h.Standing(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if run.State != plan.Approved && (run.Parked == nil || run.Parked.Reason != plan.ParkInterrupted) {
		t.Errorf("when the server has ended, the run stands at %s, %+v", run.State, run.Parked)
	}
}
