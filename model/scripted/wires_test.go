package scripted_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan/model/scripted"
)

// told is an answer put together from what came over one of the wires, in the
// words of that wire.
type told struct {
	Text, Reasoning, Refusal string
	Stop                     string // finish_reason, status and reason, stop_reason
	Calls                    []heardCall
	Input, Cached, Output    int
	Failed                   string // the message of an error in the stream
}

// event is a named event of a stream.
type event struct {
	Name string
	Data string
}

// named cuts a stream into its events.
func named(stream string) []event {
	var out []event
	var e event
	lines := bufio.NewScanner(strings.NewReader(stream))
	for lines.Scan() {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			e.Name = name
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			e.Data += data
		}
		if line == "" {
			out = append(out, e)
			e = event{}
		}
	}
	return out
}

// names are the names of events, each once in a row.
func names(list []event) string {
	var out []string
	for _, e := range list {
		if len(out) == 0 || out[len(out)-1] != e.Name {
			out = append(out, e.Name)
		}
	}
	return strings.Join(out, " ")
}

// protocol is how the tests speak a wire.
type protocol struct {
	wire scripted.Wire
	path string
	ask  func(stream bool) string
	hear func(t *testing.T, stream string) told
	read func(t *testing.T, data string) told
	stop map[string]string // a scenario's finish in the wire's words
}

func protocols() []protocol {
	return []protocol{
		{
			wire: scripted.WireChat,
			path: "/chat/completions",
			ask:  func(stream bool) string { return ask(stream, user) },
			hear: hearChat,
			read: func(t *testing.T, data string) told { return fromChat(read(t, data)) },
			stop: map[string]string{
				"stop": "stop", "tool_calls": "tool_calls", "length": "length", "content_filter": "content_filter",
				"pause_turn": "stop", "model_context_window_exceeded": "length",
			},
		},
		{
			wire: scripted.WireResponses,
			path: "/responses",
			ask:  func(stream bool) string { return askResponses(stream, userItem) },
			hear: hearResponses,
			read: readResponse,
			stop: map[string]string{
				"stop": "completed", "tool_calls": "completed",
				"length": "incomplete max_output_tokens", "content_filter": "incomplete content_filter",
				"pause_turn": "completed", "model_context_window_exceeded": "incomplete max_output_tokens",
			},
		},
		{
			wire: scripted.WireAnthropic,
			path: "/messages",
			ask:  func(stream bool) string { return askMessages(stream, userTurn) },
			hear: hearMessages,
			read: readMessage,
			stop: map[string]string{
				"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal",
				"pause_turn": "pause_turn", "model_context_window_exceeded": "model_context_window_exceeded",
			},
		},
	}
}

func fromChat(h heard) told {
	out := told{Text: h.Text, Reasoning: h.Reasoning, Stop: h.Finish, Calls: h.Calls}
	if h.Usage != nil {
		out.Input, out.Cached, out.Output = h.Usage.Prompt, h.Usage.Details.Cached, h.Usage.Completion
	}
	return out
}

func hearChat(t *testing.T, stream string) told {
	t.Helper()
	failed := ""
	var whole []string
	for _, data := range events(t, stream) {
		if message := errorOf(data); message != "" {
			failed = message
			continue
		}
		whole = append(whole, "data: "+data+"\n\n")
	}
	out := fromChat(listen(t, strings.Join(whole, "")))
	out.Failed = failed
	return out
}

// bare is an answer without the ids of its calls, which each wire makes up.
func bare(a told) told {
	calls := a.Calls
	a.Calls = nil
	for _, c := range calls {
		c.ID = ""
		a.Calls = append(a.Calls, c)
	}
	return a
}

// The same scenario says the same by every wire, streamed or not.
func TestWiresSayTheSame(t *testing.T) {
	t.Parallel()
	c := start(t, answers)
	want := told{
		Text:      "Reading: naïve café — ünïcödé text, long enough to be cut into several pieces.",
		Reasoning: "I should look at the file before I say anything about it.",
		Calls: []heardCall{
			{"", "read", `{"limit":10,"path":"café/naïve.go"}`},
			{"", "list_dir", "{}"},
			{"", "bash", `{"command":"a && b <c> d"}`},
		},
		Input:  120,
		Cached: 80,
		Output: 30,
	}
	for _, p := range protocols() {
		t.Run(string(p.wire), func(t *testing.T) {
			t.Parallel()
			want := want
			want.Stop = p.stop["tool_calls"]
			_, data, err := c.postAt(p.path, at("explore", 1), p.ask(true))
			if err != nil {
				t.Fatal(err)
			}
			streamed := p.hear(t, data)
			if diff := cmp.Diff(want, bare(streamed)); diff != "" {
				t.Error("streamed (-want +got):\n" + diff)
			}
			_, data, err = c.postAt(p.path, at("explore", 1), p.ask(false))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(streamed, p.read(t, data)); diff != "" {
				t.Error("-streamed +plain:\n" + diff)
			}
		})
	}
}

func TestWiresFinish(t *testing.T) {
	t.Parallel()
	for _, p := range protocols() {
		for finish, want := range p.stop {
			t.Run(string(p.wire)+" "+finish, func(t *testing.T) {
				t.Parallel()
				c := start(t, "[[reply]]\ntext = 'x'\nfinish = '"+finish+"'\n")
				for _, stream := range []bool{true, false} {
					_, data, err := c.postAt(p.path, nil, p.ask(stream))
					if err != nil {
						t.Fatal(err)
					}
					hear := p.read
					if stream {
						hear = p.hear
					}
					if got := hear(t, data); got.Stop != want || got.Text != "x" {
						t.Errorf("stream %v: %+v, want %q", stream, got, want)
					}
				}
			})
		}
	}
}

// Every fault does the same to every wire.
func TestWiresFail(t *testing.T) {
	t.Parallel()
	whole := told{
		Text:  "The answer, in more words than one chunk can hold.",
		Calls: []heardCall{{"", "read", `{"limit":20,"path":"some/long/path/of/a/file.go"}`}},
	}
	isWhole := func(p protocol, got told) bool {
		want := whole
		want.Stop = p.stop["tool_calls"]
		got.Input, got.Cached, got.Output = 0, 0, 0
		return cmp.Equal(want, bare(got))
	}
	tests := []struct {
		fault string
		check func(p protocol, status int, got told, raw string, err error) bool
	}{
		{"kind = 'status'\nstatus = 529\n", func(p protocol, status int, _ told, raw string, _ error) bool {
			return status == 529 && strings.Contains(raw, "overloaded_error") == (p.wire == scripted.WireAnthropic)
		}},
		{"kind = 'truncate'\nafter_chunks = 5\n", func(_ protocol, status int, got told, _ string, err error) bool {
			return status == 200 && err == nil && got.Stop == "" && got.Failed == "" && got.Text != ""
		}},
		{"kind = 'half_call'\n", func(_ protocol, _ int, got told, _ string, err error) bool {
			return err == nil && got.Stop == "" && len(got.Calls) == 1 && got.Calls[0].Args != "" && !json.Valid([]byte(got.Calls[0].Args))
		}},
		{"kind = 'malformed_args'\n", func(p protocol, _ int, got told, _ string, err error) bool {
			return err == nil && got.Stop == p.stop["tool_calls"] && len(got.Calls) == 1 && !json.Valid([]byte(got.Calls[0].Args))
		}},
		{"kind = 'error_frame'\n", func(_ protocol, status int, got told, _ string, err error) bool {
			return status == 200 && err == nil && got.Stop == "" && got.Failed == "scripted fault: the model failed"
		}},
		{"kind = 'empty'\n", func(p protocol, _ int, got told, _ string, err error) bool {
			return err == nil && got.Stop == p.stop["stop"] && got.Text == "" && got.Calls == nil
		}},
		{"kind = 'slow'\ndelay = '1ms'\n", func(p protocol, _ int, got told, _ string, err error) bool {
			return err == nil && isWhole(p, got)
		}},
		{"kind = 'filter'\n", func(p protocol, _ int, got told, _ string, err error) bool {
			return err == nil && got.Stop == p.stop["content_filter"] && len(got.Calls) == 1
		}},
		{"kind = 'refuse'\nbody = 'I will not.'\n", func(p protocol, _ int, got told, raw string, err error) bool {
			stop := map[scripted.Wire]string{"chat": "stop", "responses": "completed", "anthropic": "refusal"}[p.wire]
			return err == nil && got.Stop == stop && got.Text == "" && strings.Contains(raw, "I will not.")
		}},
		{"kind = 'reset'\nafter_chunks = 3\n", func(_ protocol, _ int, _ told, _ string, err error) bool {
			return errors.Is(err, syscall.ECONNRESET)
		}},
	}
	for _, p := range protocols() {
		for _, tt := range tests {
			t.Run(string(p.wire)+" "+strings.Fields(tt.fault)[2], func(t *testing.T) {
				t.Parallel()
				c := start(t, faulty(tt.fault))
				resp, data, err := c.postAt(p.path, at("plan", 1), p.ask(true))
				got, status := told{}, 0
				if resp != nil {
					status = resp.StatusCode
				}
				if err == nil && status == http.StatusOK {
					got = p.hear(t, data)
				}
				if !tt.check(p, status, got, data, err) {
					t.Errorf("%d %+v %v\n%s", status, got, err, data)
				}
				_, data, err = c.postAt(p.path, at("plan", 1), p.ask(true))
				if err != nil || !isWhole(p, p.hear(t, data)) {
					t.Errorf("then not the whole answer: %v\n%s", err, data)
				}
			})
		}
	}
}

func TestWiresGarbage(t *testing.T) {
	t.Parallel()
	for _, p := range protocols() {
		c := start(t, faulty("kind = 'garbage'\nafter_chunks = 3\ntimes = 0\n"))
		_, data, err := c.postAt(p.path, nil, p.ask(true))
		list := named(data)
		if err != nil || len(list) != 4 || json.Valid([]byte(list[3].Data)) ||
			(list[3].Name == "") != (p.wire == scripted.WireChat) {
			t.Errorf("%s: %v %q", p.wire, err, data)
		}
		for _, fault := range []string{"error_frame", "garbage"} {
			c := start(t, faulty("kind = '"+fault+"'\ntimes = 0\n"))
			resp, data, err := c.postAt(p.path, nil, p.ask(false))
			if err != nil || (resp.StatusCode == 500) != (fault == "error_frame") ||
				json.Valid([]byte(data)) != (fault == "error_frame") {
				t.Errorf("%s: plain %s: %v %v %q", p.wire, fault, resp, err, data)
			}
		}
	}
}

func TestKeysOfAllWires(t *testing.T) {
	t.Parallel()
	c := start(t, "[[reply]]\ntext = 'x'\n")
	for _, p := range protocols() {
		for _, name := range []string{"X-Api-Key", "Api-Key", "Authorization"} {
			key := c.srv.Key()
			if name == "Authorization" {
				key = "Bearer " + key
			}
			for _, value := range []string{key, key + "x", "x", ""} {
				h := headers{"Authorization": ""}
				h[name] = value
				resp, data, err := c.postAt(p.path+"?api-version=2025-04-01", h, p.ask(false))
				if want := map[bool]int{true: 200, false: 401}[value == key]; err != nil || resp.StatusCode != want {
					t.Errorf("%s: %s %q: %v %v %s", p.wire, name, value, resp, err, data)
				}
			}
		}
	}
	seen := c.srv.Requests()
	if last := seen[len(seen)-4]; last.Wire != scripted.WireAnthropic || last.KeyHeader != "Authorization" ||
		last.Query != "api-version=2025-04-01" {
		t.Errorf("seen: %+v", last)
	}
}

func TestModelsOfAnthropic(t *testing.T) {
	t.Parallel()
	c := start(t, "[[reply]]\ntext = 'x'\n")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.srv.URL()+"/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", c.srv.Key())
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var list struct {
		Data    []struct{ Type, ID string }
		HasMore *bool `json:"has_more"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || len(list.Data) != 1 || list.Data[0].Type != "model" ||
		list.Data[0].ID != scripted.Model || list.HasMore == nil {
		t.Errorf("%v %+v", err, list)
	}
}
