package web_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/web"
)

// collector is one that takes spans, and rebuilds what they tell.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []sentSpan
}

type sentSpan struct {
	TraceID, SpanID, ParentSpanID, Name string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var got struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []sentSpan }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.spans = append(c.spans, got.ResourceSpans[0].ScopeSpans[0].Spans...)
	}))
	t.Cleanup(c.Close)
	return c
}

// TestNumbers: a run that parks and goes on is sent as one trace, each span once; what is
// counted and logged knows of it.
func TestNumbers(t *testing.T) {
	t.Parallel()
	to := newCollector(t)
	w := newWorld(t)
	home := filepath.Join(w.Dir, "home")
	w.Config.Environ = append(w.Config.Environ, "OTEL_EXPORTER_OTLP_ENDPOINT="+to.URL)
	c := w.open(t, web.Options{})
	id := c.begin(`{"request": "Make greet.sh say hello. Ask first"}`)
	if d := c.rest(id); d.Parked != plan.ParkQuestion {
		t.Fatalf("it stands at %+v", d)
	}
	c.ask(http.MethodPost, "/runs/"+string(id)+"/letters", `{"text": "English"}`, nil)
	if d := c.rest(id); d.State != plan.Approved {
		t.Fatalf("it stands at %+v", d)
	}
	get := func(path, token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.at.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		got, err := c.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		data, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		return got.StatusCode, string(data)
	}
	if status, _ := get("metrics", "x"); status != http.StatusUnauthorized {
		t.Errorf("without the token metrics are answered with %d", status)
	}
	_, text := get("metrics", c.at.Token)
	for _, line := range []string{
		`plan_runs{state="approved"} 1`, `plan_events_total{type="run_start"} 1`, `plan_http_answers_total{code="401"} 1`,
		`# TYPE plan_tokens gauge`, `plan_driven_runs_max 4`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the metrics lack %q:\n%s", line, text)
		}
	}
	get("enter?token=guessed", "")
	token := c.at.Token
	c.stop()

	to.mu.Lock()
	defer to.mu.Unlock()
	known, names := map[string]bool{"": true}, map[string]int{}
	for _, s := range to.spans {
		if known[s.SpanID] {
			t.Errorf("the span %s comes twice", s.Name)
		}
		known[s.SpanID] = true
		names[s.Name]++
	}
	for _, s := range to.spans {
		if !known[s.ParentSpanID] {
			t.Errorf("what %s stands below was not sent", s.Name)
		}
		if s.TraceID != to.spans[0].TraceID {
			t.Errorf("%s is of another trace", s.Name)
		}
	}
	for _, name := range []string{"plan run", "phase explore", "phase review", "turn", "chat scripted", "execute_tool bash", "check"} {
		if names[name] == 0 {
			t.Errorf("no span is called %s: %v", name, names)
		}
	}
	if names["plan run"] != 1 {
		t.Errorf("the run has %d spans of its own", names["plan run"])
	}
	log, err := os.ReadFile(filepath.Join(home, "logs", "serve.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"run":"` + string(id) + `"`, `"reason":"question"`, `"status":401`} {
		if !strings.Contains(string(log), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	if strings.Contains(string(log), token) || strings.Contains(string(log), "guessed") || strings.Contains(string(log), "hello") {
		t.Error("the log has a token, or what a request holds")
	}
}
