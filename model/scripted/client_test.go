package scripted_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/plan-engine/plan/model/scripted"
)

// client talks to a server as model clients do.
type client struct {
	t    *testing.T
	srv  *scripted.Server
	http *http.Client
}

func start(t *testing.T, scenario string) *client {
	t.Helper()
	s, err := scripted.Parse([]byte(scenario))
	if err != nil {
		t.Fatal(err)
	}
	srv, err := scripted.Start(context.WithoutCancel(t.Context()), s, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, srv: srv, http: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		c.http.CloseIdleConnections()
	})
	return c
}

// headers makes request headers from "key value" pairs.
type headers map[string]string

func at(phase string, attempt int) headers {
	return headers{"X-Plan-Run": "R1", "X-Plan-Phase": phase, "X-Plan-Attempt": fmt.Sprint(attempt)}
}

// do sends a request. The response's body is the caller's.
func (c *client) do(ctx context.Context, h headers, body string) (*http.Response, error) {
	return c.doAt(ctx, "/chat/completions", h, body)
}

// doAt sends a request to a path, which is the wire.
func (c *client) doAt(ctx context.Context, path string, h headers, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.srv.URL()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.srv.Key())
	if strings.HasPrefix(path, "/messages") {
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	for k, v := range h {
		req.Header.Set(k, v)
	}
	return c.http.Do(req)
}

// post sends a request and reads the whole response; err is what broke it off.
func (c *client) post(h headers, body string) (resp *http.Response, data string, err error) {
	c.t.Helper()
	return c.postAt("/chat/completions", h, body)
}

// postAt is post to a path.
func (c *client) postAt(path string, h headers, body string) (resp *http.Response, data string, err error) {
	c.t.Helper()
	resp, err = c.doAt(c.t.Context(), path, h, body)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

// ask makes a request body of messages.
func ask(stream bool, messages ...string) string {
	options := ""
	if stream {
		options = `"stream":true,"stream_options":{"include_usage":true},`
	}
	return `{"model":"m",` + options + `"messages":[` + strings.Join(messages, ",") + `]}`
}

const (
	system = `{"role":"system","content":"s"}`
	user   = `{"role":"user","content":"u"}`
	said   = `{"role":"assistant","content":"a"}`
)

// calls makes an assistant message with tool calls of these ids.
func calls(ids ...string) string {
	var list []string
	for _, id := range ids {
		list = append(list, `{"id":"`+id+`","type":"function","function":{"name":"read","arguments":"{}"}}`)
	}
	return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(list, ",") + `]}`
}

func result(id string) string {
	return `{"role":"tool","tool_call_id":"` + id + `","content":"r"}`
}

// heard is an answer put together from what came over the wire.
type heard struct {
	Text, Reasoning, Finish string
	Calls                   []heardCall
	Usage                   *heardUsage
	Done                    bool // [DONE] came
}

type heardCall struct{ ID, Name, Args string }

type heardUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

type wireContent struct {
	Role      string
	Content   string
	Reasoning string `json:"reasoning_content"`
	ToolCalls []struct {
		Index    *int
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

type wireAnswer struct {
	Object  string
	Choices []struct {
		Delta, Message *wireContent
		Finish         string `json:"finish_reason"`
	}
	Usage *heardUsage
}

// events cuts a stream into the data of its events.
func events(t *testing.T, stream string) []string {
	t.Helper()
	var out []string
	lines := bufio.NewScanner(strings.NewReader(stream))
	for lines.Scan() {
		if line := lines.Text(); line != "" {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				t.Fatalf("line %q is not data", line)
			}
			out = append(out, data)
		}
	}
	return out
}

// listen puts a streamed answer together.
func listen(t *testing.T, stream string) heard {
	t.Helper()
	var h heard
	for i, data := range events(t, stream) {
		if data == "[DONE]" {
			h.Done = true
			continue
		}
		var a wireAnswer
		if err := json.Unmarshal([]byte(data), &a); err != nil || h.Done || a.Object != "chat.completion.chunk" {
			t.Fatalf("chunk %q after done=%v: %v", data, h.Done, err)
		}
		h.Usage = a.Usage
		if len(a.Choices) == 0 {
			continue
		}
		d := a.Choices[0].Delta
		if (d.Role == "assistant") != (i == 0) {
			t.Errorf("chunk %d has role %q", i, d.Role)
		}
		h.Text += d.Content
		h.Reasoning += d.Reasoning
		h.Finish = a.Choices[0].Finish
		for _, c := range d.ToolCalls {
			if c.ID != "" {
				h.Calls = append(h.Calls, heardCall{ID: c.ID, Name: c.Function.Name})
			}
			h.Calls[*c.Index].Args += c.Function.Arguments
		}
	}
	return h
}

// read takes a plain answer.
func read(t *testing.T, data string) heard {
	t.Helper()
	var a wireAnswer
	if err := json.Unmarshal([]byte(data), &a); err != nil || a.Object != "chat.completion" || len(a.Choices) != 1 {
		t.Fatalf("answer %q: %v", data, err)
	}
	m := a.Choices[0].Message
	h := heard{Text: m.Content, Reasoning: m.Reasoning, Finish: a.Choices[0].Finish, Usage: a.Usage}
	for _, c := range m.ToolCalls {
		h.Calls = append(h.Calls, heardCall{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
	}
	return h
}

// errorOf is the message of an error response, "" if it is none.
func errorOf(data string) string {
	var e struct{ Error struct{ Message string } }
	if json.Unmarshal([]byte(data), &e) != nil {
		return ""
	}
	return e.Error.Message
}
