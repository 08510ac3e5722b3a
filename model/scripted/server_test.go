package scripted_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/plan-engine/plan/model/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const answers = `
[[reply]]
phase = "explore"
reasoning = "I should look at the file before I say anything about it."
text = "Reading: naïve café — ünïcödé text, long enough to be cut into several pieces."
usage = { input = 120, cached = 80, output = 30 }
  [[reply.call]]
  name = "read"
  args = { path = "café/naïve.go", limit = 10 }
  [[reply.call]]
  name = "list_dir"
  [[reply.call]]
  name = "bash"
  args.command = "a && b <c> d"
[[reply]]
phase = "plan"
text = "plan"
finish = "length"
`

func TestAnswer(t *testing.T) {
	t.Parallel()
	c := start(t, answers)
	want := heard{
		Text:      "Reading: naïve café — ünïcödé text, long enough to be cut into several pieces.",
		Reasoning: "I should look at the file before I say anything about it.",
		Finish:    "tool_calls",
		Usage:     &heardUsage{Prompt: 120, Completion: 30, Total: 150},
		Calls: []heardCall{
			{"call_explore_1_1_0_0", "read", `{"limit":10,"path":"café/naïve.go"}`},
			{"call_explore_1_1_0_1", "list_dir", "{}"},
			{"call_explore_1_1_0_2", "bash", `{"command":"a && b <c> d"}`},
		},
	}
	want.Usage.Details.Cached = 80

	resp, data, err := c.post(at("explore", 1), ask(false, system, user))
	if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%v %v %s", resp, err, data)
	}
	if diff := cmp.Diff(want, read(t, data)); diff != "" {
		t.Error("plain (-want +got):\n" + diff)
	}

	resp, data, err = c.post(at("explore", 1), ask(true, system, user))
	if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v %v %s", resp, err, data)
	}
	want.Done = true
	if diff := cmp.Diff(want, listen(t, data)); diff != "" {
		t.Error("streamed (-want +got):\n" + diff)
	}
	list := events(t, data)
	if before := list[len(list)-3]; !strings.Contains(before, `"finish_reason":"tool_calls"`) ||
		!strings.Contains(before, `"usage":null`) {
		t.Errorf("the chunk before the usage is %s", before)
	}
	if len(list) < 15 {
		t.Errorf("only %d chunks", len(list))
	}
}

func TestAnswerStreamsTheSameAsPlain(t *testing.T) {
	t.Parallel()
	c := start(t, answers)
	for _, phase := range []string{"explore", "plan"} {
		_, plainData, err := c.post(at(phase, 1), ask(false, user))
		if err != nil {
			t.Fatal(err)
		}
		_, data, err := c.post(at(phase, 1), strings.Replace(ask(true, user), `"stream_options":{"include_usage":true},`, "", 1))
		if err != nil {
			t.Fatal(err)
		}
		want, got := read(t, plainData), listen(t, data)
		if got.Usage != nil || !got.Done {
			t.Errorf("%s: usage nobody asked for, or no [DONE]: %+v", phase, got)
		}
		want.Usage, got.Done = nil, false
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-plain +streamed):\n%s", phase, diff)
		}
	}
}

func TestUsageIsDerived(t *testing.T) {
	t.Parallel()
	c := start(t, "[[reply]]\ntext = '12345678'\n")
	_, first, err := c.post(nil, ask(false, system, user))
	if err != nil {
		t.Fatal(err)
	}
	_, second, err := c.post(nil, ask(false, system, user, said, user))
	if err != nil {
		t.Fatal(err)
	}
	a, b := read(t, first).Usage, read(t, second).Usage
	if a.Completion != 2 || a.Prompt < 10 || a.Details.Cached != 0 {
		t.Errorf("first: %+v", a)
	}
	if b.Prompt <= a.Prompt || b.Details.Cached == 0 || b.Details.Cached > a.Prompt+2 {
		t.Errorf("second: %+v after %+v", b, a)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	c := start(t, `
name = "places"
[[reply]]
phase = "review"
attempt = 2
text = "second review"
[[reply]]
phase = "review"
user = 2
text = "asked again"
[[reply]]
phase = "review"
turn = 0
text = "first turn"
[[reply]]
phase = "review"
turn = 2
text = "third turn"
`)
	_, plain, err := c.post(at("review", 1), ask(false, user, calls("c1"), result("c1"), said, user, calls("c1"), result("c1")))
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, plain).Text; got != "asked again" {
		t.Errorf("second user message: %q", got)
	}
	tests := []struct {
		name     string
		h        headers
		messages []string
		want     string
	}{
		{"first", at("review", 1), []string{system, user}, "first turn"},
		{"first again", at("review", 1), []string{system, user}, "first turn"},
		{
			"turns count from the user message",
			at("review", 1),
			[]string{user, calls("a", "b"), result("a"), result("b"), calls("a"), result("a")},
			"third turn",
		},
		{"attempt", at("review", 2), []string{user}, "second review"},
		{
			"no reply for the turn",
			at("review", 1),
			[]string{user, calls("a"), result("a")},
			`the scenario "places" has no reply for phase "review", attempt 1, user 1, turn 1`,
		},
		{
			"no reply for the phase",
			nil,
			[]string{user, said, user, said, user},
			`has no reply for phase "", attempt 0, user 3, turn 0`,
		},
		{"bad attempt", headers{"X-Plan-Phase": "review", "X-Plan-Attempt": "0"}, []string{user}, `header X-Plan-Attempt is "0"`},
	}
	//nolint:paralleltest // one server, asked in order
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, data, err := c.post(tt.h, ask(false, tt.messages...))
			if err != nil {
				t.Fatal(err)
			}
			got := errorOf(data)
			if resp.StatusCode == http.StatusOK {
				got = read(t, data).Text
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("%d %s, want %q", resp.StatusCode, data, tt.want)
			}
		})
	}
}

func TestKeyIsRequired(t *testing.T) {
	t.Parallel()
	c := start(t, "[[reply]]\ntext = 'x'\n")
	for _, auth := range []string{"", "Bearer wrong", c.srv.Key(), "Bearer " + c.srv.Key() + "x"} {
		resp, data, err := c.post(headers{"Authorization": auth}, ask(false, user))
		if err != nil || resp.StatusCode != http.StatusUnauthorized || !strings.Contains(data, "invalid_api_key") {
			t.Errorf("%q: %v %v %s", auth, resp, err, data)
		}
	}
	s, err := scripted.Parse([]byte("[[reply]]\ntext = 'x'\n"))
	if err != nil {
		t.Fatal(err)
	}
	srv, err := scripted.Start(t.Context(), s, scripted.Config{Token: "given"})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	if srv.Key() != "given" || c.srv.Key() == "" || !strings.HasPrefix(srv.URL(), "http://127.0.0.1:") ||
		!strings.HasSuffix(srv.URL(), "/v1") {
		t.Errorf("key %q, random key %q, url %q", srv.Key(), c.srv.Key(), srv.URL())
	}
}

func TestModelsAndUnknownPaths(t *testing.T) {
	t.Parallel()
	c := start(t, "[[reply]]\ntext = 'x'\n")
	for path, want := range map[string]string{"/models": `"id":"scripted"`, "/embeddings": "there is nothing at GET /v1/embeddings"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.srv.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+c.srv.Key())
		resp, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !bytes.Contains(data, []byte(want)) {
			t.Errorf("%s: %v %s", path, err, data)
		}
	}
}

func TestRequestsAreSeen(t *testing.T) {
	t.Parallel()
	c := start(t, "[[reply]]\ntext = 'x'\n")
	body := ask(false, user)
	for _, h := range []headers{at("review", 2), {"Authorization": "Bearer wrong"}} {
		if _, _, err := c.post(h, body); err != nil {
			t.Fatal(err)
		}
	}
	want := []scripted.Seen{
		{Method: "POST", Path: "/v1/chat/completions", Wire: "chat", KeyHeader: "Authorization", Body: []byte(body), Header: http.Header{
			"X-Plan-Run": {"R1"}, "X-Plan-Phase": {"review"}, "X-Plan-Attempt": {"2"},
		}},
		{Method: "POST", Path: "/v1/chat/completions", Wire: "chat", Body: []byte(body), Header: http.Header{}},
	}
	if diff := cmp.Diff(want, c.srv.Requests()); diff != "" {
		t.Error("-want +got:\n" + diff)
	}
}

func TestSeenRequestsAreBounded(t *testing.T) {
	t.Parallel()
	c := start(t, "[[reply]]\ntext = 'x'\n")
	big := strings.Repeat("x", 20<<20)
	for range 4 {
		// Refused requests are kept as well, and are not parsed.
		if _, _, err := c.post(headers{"Authorization": ""}, big); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(c.srv.Requests()); n != 3 {
		t.Errorf("%d requests of 20 MiB kept, want 3", n)
	}
}

func TestContextEndsTheServer(t *testing.T) {
	t.Parallel()
	s, err := scripted.Parse([]byte("[[reply]]\n[reply.fault]\nkind = 'hang'\nafter_chunks = 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	srv, err := scripted.Start(ctx, s, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, srv: srv, http: &http.Client{Transport: &http.Transport{}}}
	defer c.http.CloseIdleConnections()
	resp, err := c.do(context.WithoutCancel(ctx), nil, ask(true, user))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	cancel()
	if data, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("a hanging request ended as if it were whole: %s", data)
	}
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if err := srv.Close(); err != nil {
		t.Error("closed twice:", err)
	}
}

func TestStartRefusesABadScenario(t *testing.T) {
	t.Parallel()
	_, err := scripted.Start(t.Context(), &scripted.Scenario{}, scripted.Config{})
	if err == nil || !strings.Contains(err.Error(), "no reply") {
		t.Errorf("got %v", err)
	}
}
