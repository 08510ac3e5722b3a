package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

var readTool = loop.Spec{
	Name: "read", Description: "Read <one> file & more.",
	Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"maximum":9007199254740993}}}`),
}

// conversation has every kind of message and block in it.
func conversation() []plan.Message {
	return []plan.Message{
		plan.UserText("look <here>"),
		{Role: plan.RoleAssistant, Blocks: []plan.Block{
			{Type: plan.BlockReasoning, Text: "hm"},
			{Type: plan.BlockText, Text: "reading"},
			{Type: plan.BlockToolCall, Call: "a", Name: "read", Args: `{"path" : ` +
				`"x"`, Opaque: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"s/+="}}}`)},
			{Type: plan.BlockToolCall, Call: "b", Name: "read"},
			{Type: plan.BlockExtension, Kind: "mark", Opaque: json.RawMessage(`{}`)},
		}},
		{Role: plan.RoleTool, Blocks: []plan.Block{
			{Type: plan.BlockToolResult, Call: "a", Name: "read", Text: "one"},
			{Type: plan.BlockToolResult, Call: "b", Name: "read", Text: "two", Error: true},
		}},
		{Role: plan.RoleExtension, Blocks: []plan.Block{{Type: plan.BlockText, Text: "secret"}}},
		{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockToolCall, Call: "c", Name: "read", Args: "{}"}}},
		{Role: plan.RoleTool, Blocks: []plan.Block{{Type: plan.BlockToolResult, Call: "c", Text: ""}}},
		{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockReasoning, Text: "nothing to say"}}},
		{Role: plan.RoleUser, Blocks: []plan.Block{
			{Type: plan.BlockText, Text: "this"}, {Type: plan.BlockImage, MIME: "image/png", Data: "AAAA"},
		}},
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	temperature := 0.0
	format := &loop.Format{Name: "verdict", Schema: json.RawMessage(`{"type":"object","z":1,"a":2}`)}
	const user = `"messages":[{"content":"hi","role":"user"}],"model":"m"`
	const end = `"stream_options":{"include_usage":true}`
	const schema = `,"response_format":{"json_schema":{"name":"verdict","strict":true,"schema":{"type":"object","z":1,"a":2}},` +
		`"type":"json_schema"}`
	tests := []struct {
		name   string
		change func(*loop.Call)
		config func(*chat.Config)
		want   string
	}{
		{name: "nothing asked for", want: `{` + user + `,` + end + `,"stream":true}`},
		{
			name: "settings",
			change: func(c *loop.Call) {
				c.Settings = loop.Settings{Temperature: &temperature, Effort: "high", MaxOutputTokens: 9}
			},
			want: `{` + user + `,"max_tokens":9,"temperature":0,"reasoning_effort":"high",` + end + `,"stream":true}`,
		},
		{
			name:   "tools",
			change: func(c *loop.Call) { c.Tools = []loop.Spec{readTool} },
			want: `{` + user + `,` + end + `,"tools":[{"function":{"name":"read","description":"Read <one> file & more.",` +
				`"parameters":` + string(readTool.Schema) + `},"type":"function"}],"stream":true}`,
		},
		{
			name: "auto without the ability", change: func(c *loop.Call) { c.Format = format },
			want: `{` + user + `,` + end + `,"stream":true}`,
		},
		{
			name: "auto with the ability", change: func(c *loop.Call) { c.Format = format },
			config: func(c *chat.Config) {
				c.Caps = func(model string) chat.Caps { return chat.Caps{StructuredOutput: model == "m"} }
			},
			want: `{` + user + `,` + end + schema + `,"stream":true}`,
		},
		{
			name: "schema", change: func(c *loop.Call) { c.Format = format },
			config: func(c *chat.Config) { c.Structured = wire.StructuredSchema },
			want:   `{` + user + `,` + end + schema + `,"stream":true}`,
		},
		{
			name: "text with the ability", change: func(c *loop.Call) { c.Format = format },
			config: func(c *chat.Config) {
				c.Structured = wire.StructuredText
				c.Caps = func(string) chat.Caps { return chat.Caps{StructuredOutput: true} }
			},
			want: `{` + user + `,` + end + `,"stream":true}`,
		},
		{
			name: "tool", change: func(c *loop.Call) { c.Format = format },
			config: func(c *chat.Config) { c.Structured = wire.StructuredTool },
			want: `{` + user + `,` + end + `,"tools":[{"function":{"name":"verdict","description":"Give the final answer.",` +
				`"parameters":{"type":"object","z":1,"a":2}},"type":"function"}],"stream":true}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := wiretest.ServeText(t, "text/event-stream", sse(stopped))
			req := call("hi")
			if tt.change != nil {
				tt.change(&req)
			}
			var config []func(*chat.Config)
			if tt.config != nil {
				config = append(config, tt.config)
			}
			client := clientOf(t, f, config...)
			for n := range 2 {
				if _, err := client.Generate(t.Context(), req, nil); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, f.Body(t, n)); diff != "" {
					t.Errorf("body %d (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	want := []string{
		`{"content":"be good","role":"system"}`,
		`{"content":"look <here>","role":"user"}`,
		`{"content":"reading","tool_calls":[{"id":"a","function":{"arguments":"{\"path\" : \"x\"","name":"read"},"type":"function",` +
			`"extra_content":{"google":{"thought_signature":"s/+="}}},{"id":"b","function":{"arguments":"","name":"read"},` +
			`"type":"function"}],"role":"assistant"}`,
		`{"content":"one","tool_call_id":"a","role":"tool"}`,
		`{"content":"two","tool_call_id":"b","role":"tool"}`,
		`{"content":null,"tool_calls":[{"id":"c","function":{"arguments":"{}","name":"read"},"type":"function"}],"role":"assistant"}`,
		`{"content":"","tool_call_id":"c","role":"tool"}`,
		`{"content":[{"text":"this","type":"text"},{"image_url":{"url":"data:image/png;base64,AAAA"},"type":"image_url"}],"role":"user"}`,
	}
	f := wiretest.ServeText(t, "text/event-stream", sse(stopped))
	send := func(config ...func(*chat.Config)) []string {
		req := loop.Call{Model: "m", System: "be good", Messages: conversation()}
		if _, err := clientOf(t, f, config...).Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		var got []json.RawMessage
		if err := json.Unmarshal([]byte(wiretest.Field(t, f.Body(t, f.Count()-1), "messages")), &got); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(got))
		for i := range got {
			texts[i] = string(got[i])
		}
		return texts
	}
	if diff := cmp.Diff(want, send()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	want[2] = strings.TrimSuffix(want[2], "}") + `,"reasoning_content":"hm"}`
	got := send(func(c *chat.Config) {
		c.Caps = func(string) chat.Caps { return chat.Caps{SendReasoning: true} }
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages with reasoning (-want +got):\n%s", diff)
	}
}

// TestBodyExtends checks the contract of loop.Call that prompt caches rest on.
func TestBodyExtends(t *testing.T) {
	t.Parallel()
	f := wiretest.ServeText(t, "text/event-stream", sse(stopped))
	client := clientOf(t, f)
	all := conversation()
	previous := ""
	for n := 1; n <= len(all); n++ {
		req := loop.Call{Model: "m", System: "be good", Tools: []loop.Spec{readTool}, Messages: all[:n]}
		if _, err := client.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		body := f.Body(t, n-1)
		messages := strings.TrimSuffix(wiretest.Field(t, body, "messages"), "]")
		if !strings.HasPrefix(messages, previous) {
			t.Errorf("%d messages do not extend %d:\n%s\n%s", n, n-1, previous, messages)
		}
		if got := wiretest.Field(t, body, "tools"); got != wiretest.Field(t, f.Body(t, 0), "tools") {
			t.Errorf("tools changed with message %d: %s", n, got)
		}
		previous = messages
	}
}

func TestHeaders(t *testing.T) {
	// Not parallel: it sets the environment, which must not matter.
	t.Setenv("OPENAI_API_KEY", "sk-from-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")
	t.Setenv("OPENAI_ORG_ID", "org-from-environment")
	t.Setenv("OPENAI_PROJECT_ID", "project-from-environment")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: from-environment")
	f := wiretest.Serve(t, func(w http.ResponseWriter, r *http.Request, _ int, _ string) {
		if r.URL.Path != "/v1/chat/completions" || r.Method != http.MethodPost {
			t.Errorf("request is %s %s", r.Method, r.URL.Path)
		}
		fmt.Fprint(w, sse(stopped))
	})
	req := call("hi")
	req.Headers = map[string]string{"X-Plan-Run": "01J", "X-Plan-Phase": "review", "X-Plan-Attempt": "2"}
	asked := 0
	client := clientOf(t, f, func(c *chat.Config) {
		c.Key = func(context.Context) (string, error) {
			asked++
			return []string{"", " sk-later\n"}[asked-1], nil
		}
	})
	for n, authorization := range []string{"", "Bearer sk-later"} {
		if _, err := client.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		h := f.Request(t, n).Header
		for name, want := range map[string]string{
			"X-Plan-Run": "01J", "X-Plan-Phase": "review", "X-Plan-Attempt": "2", "Authorization": authorization,
			"OpenAI-Organization": "", "OpenAI-Project": "", "X-Custom": "", "Content-Type": "application/json",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("request %d: header %s = %q, want %q", n, name, got, want)
			}
		}
	}
}

func TestResendWithoutWhatIsRefused(t *testing.T) {
	t.Parallel()
	temperature := 0.5
	req := loop.Call{
		Model: "m", Messages: conversation(),
		Settings: loop.Settings{Temperature: &temperature, Effort: "low", MaxOutputTokens: 9},
		Format:   &loop.Format{Name: "v", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	tests := []struct{ name, param, status, text, becomes string }{
		{
			"usage",
			"stream_options",
			"422",
			`{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`,
			"",
		},
		{"format", "response_format", "400", `{"error":{"message":"This model does not support json_schema"}}`, ""},
		{"effort", "reasoning_effort", "400", `{"error":"Unrecognized request argument supplied: reasoning_effort"}`, ""},
		{"temperature", "temperature", "400", `{"error":{"message":"Unsupported value: 'temperature' does not support 0.5",` +
			`"param":"temperature"}}`, ""},
		{"output limit", "max_tokens", "400", `{"error":{"message":"Unsupported parameter: 'max_tokens' is ` +
			`not supported with this model. Use 'max_completion_tokens' instead."}}`, "max_completion_tokens"},
		{
			"output limit, by the other name",
			"max_tokens",
			"400",
			`{"error":"use max_completion_tokens"}`,
			"max_completion_tokens",
		},
		{"reasoning", "reasoning_content", "422", `property 'reasoning_content' is unsupported`, ""},
		{"what a provider added", "extra_content", "400", `unknown field extra_content`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, body string) {
				if strings.Contains(body, `"`+tt.param+`"`) {
					w.WriteHeader(map[string]int{"400": 400, "422": 422}[tt.status])
					fmt.Fprint(w, tt.text)
					return
				}
				fmt.Fprint(w, sse(stopped))
			})
			client := clientOf(t, f, func(c *chat.Config) {
				c.Structured = wire.StructuredSchema
				c.Caps = func(string) chat.Caps { return chat.Caps{SendReasoning: true} }
			})
			for range 2 {
				if _, err := client.Generate(t.Context(), req, nil); err != nil {
					t.Fatal(err)
				}
			}
			if f.Count() != 3 {
				t.Errorf("%d requests, want 3: the second call must know what the first learned", f.Count())
			}
			last := f.Body(t, f.Count()-1)
			if tt.becomes != "" && wiretest.Field(t, last, tt.becomes) == "" {
				t.Errorf("no %s in %s", tt.becomes, last)
			}
			for _, kept := range []string{"stream_options", "response_format", "reasoning_effort", "temperature"} {
				if kept != tt.param && wiretest.Field(t, last, kept) == "" {
					t.Errorf("%s went too: %s", kept, last)
				}
			}
		})
	}
}

func TestResendHasAnEnd(t *testing.T) {
	t.Parallel()
	f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, "max_tokens and max_completion_tokens and stream_options are all wrong")
	})
	client := clientOf(t, f)
	req := call("hi")
	req.Settings.MaxOutputTokens = 9
	_, err := client.Generate(t.Context(), req, nil)
	me := wiretest.ModelError(t, err, loop.ErrRefused)
	if me.Status != 400 || me.Transient() {
		t.Errorf("error = %+v", me)
	}
	if f.Count() != 2 {
		t.Errorf("%d requests, want 2", f.Count())
	}
	// What did not help is not remembered.
	if _, err := client.Generate(t.Context(), req, nil); err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(f.Body(t, 0), f.Body(t, 2)); diff != "" {
		t.Errorf("body after a failed resend (-want +got):\n%s", diff)
	}
}

func TestRefusalIsPerModel(t *testing.T) {
	t.Parallel()
	f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, body string) {
		if strings.Contains(body, `"model":"strict"`) && strings.Contains(body, "temperature") {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, "temperature is not supported")
			return
		}
		fmt.Fprint(w, sse(stopped))
	})
	client := clientOf(t, f)
	temperature := 0.5
	for _, model := range []string{"strict", "lenient"} {
		req := call("hi")
		req.Model, req.Settings.Temperature = model, &temperature
		if _, err := client.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := wiretest.Field(t, f.Body(t, 2), "temperature"); got != "0.5" {
		t.Errorf("temperature of the other model = %q, want 0.5", got)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, baseURL, structured, want string }{
		{"no scheme", "localhost:1234/v1", "", "http://"},
		{"another scheme", "ftp://host/v1", "", "http://"},
		{"no host", "http:///v1", "", "host"},
		{"a password", "https://u:hunter2@host/v1", "", "API key"},
		{"a query", "https://host/v1?a=b", "", "after ?"},
		{"the whole address", "https://host/v1/chat/completions", "", "/chat/completions"},
		{"no URL at all", "http://[::1", "", "not a URL"},
		{"an unknown mode", "http://host/v1", "yaml", "auto, schema, tool or text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := chat.New(chat.Config{Config: wire.Config{BaseURL: tt.baseURL, Structured: tt.structured}})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := chat.New(chat.Config{Config: wire.Config{Idle: -1}}); err == nil {
		t.Error("a negative idle timeout was taken")
	}
	if _, err := chat.New(chat.Config{}); err != nil {
		t.Errorf("the zero configuration was refused: %v", err)
	}
}
