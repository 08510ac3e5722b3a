package responses_test

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
	"github.com/plan-engine/plan/model/responses"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

var readTool = loop.Spec{
	Name: "read", Description: "Read <one> file & more.",
	Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"maximum":9007199254740993}}}`),
}

var verdict = loop.Format{Name: "verdict", Schema: json.RawMessage(`{"type":"object","z":1,"a":2}`)}

func structured(mode string) func(*responses.Config) {
	return func(c *responses.Config) { c.Structured = mode }
}

func TestBody(t *testing.T) {
	t.Parallel()
	const begin = `{"input":[{"type":"message","role":"user","content":"hi"}]`
	const include, summary = `,"include":["reasoning.encrypted_content"]`, `,"reasoning":{"summary":"auto"}`
	const usual = `,"store":false` + include + `,"model":"m"` + summary
	const schema = `,"text":{"format":{"type":"json_schema","name":"verdict","strict":true,"schema":{"type":"object","z":1,"a":2}}}`
	const end = `,"stream":true}`
	withFormat := func(c *loop.Call) { c.Format = &verdict }
	temperature := 0.0
	tests := []struct {
		name   string
		change func(*loop.Call)
		config func(*responses.Config)
		want   string
	}{
		{name: "nothing asked for", want: begin + usual + end},
		{
			name: "settings",
			change: func(c *loop.Call) {
				c.Settings = loop.Settings{Temperature: &temperature, Effort: "high", MaxOutputTokens: 900}
				c.Metadata = map[string]string{"b": "2", "a": "1"}
			},
			want: begin + `,"max_output_tokens":900,"store":false,"temperature":0` + include + `,"metadata":{"a":"1","b":"2"},"model":"m"` +
				`,"reasoning":{"effort":"high","summary":"auto"}` + end,
		},
		{
			name:   "an output limit below the least",
			change: func(c *loop.Call) { c.Settings.MaxOutputTokens = 1 },
			want:   begin + `,"max_output_tokens":16` + usual + end,
		},
		{
			name:   "a model that does not reason",
			config: func(c *responses.Config) { c.Plain = func(model string) bool { return model == "m" } },
			want:   begin + `,"store":false,"model":"m"` + end,
		},
		{
			name:   "a run",
			change: func(c *loop.Call) { c.Headers = map[string]string{"X-Plan-Run": "01J", "X-Plan-Phase": "review"} },
			want:   begin + `,"prompt_cache_key":"01J-review"` + usual + end,
		},
		{
			name: "system prompt and tools",
			change: func(c *loop.Call) {
				c.System, c.Tools = "be <good>", []loop.Spec{readTool}
			},
			want: begin + `,"instructions":"be <good>","tools":[{"type":"function","name":"read","description":"Read <one> file & more.",` +
				`"parameters":` + string(readTool.Schema) + `,"strict":false}]` + usual + end,
		},
		{name: "a format", change: withFormat, want: begin + usual + schema + end},
		{name: "a format by schema", change: withFormat, config: structured("schema"), want: begin + usual + schema + end},
		{name: "a format by text", change: withFormat, config: structured("text"), want: begin + usual + end},
		{
			name: "a format by a tool", change: withFormat, config: structured("tool"),
			want: begin + `,"tools":[{"type":"function","name":"verdict","description":"Give the final answer.",` +
				`"parameters":{"type":"object","z":1,"a":2},"strict":false}]` + usual + end,
		},
		{
			name:   "the provider's own body",
			change: func(c *loop.Call) { c.System, c.Tools = "be good", []loop.Spec{readTool} },
			config: func(c *responses.Config) {
				c.Body = map[string]json.RawMessage{
					"service_tier": json.RawMessage(`"flex"`), "include": json.RawMessage(`[]`), "stream": json.RawMessage("false"),
					"instructions": json.RawMessage(`"be bad"`), "tools": json.RawMessage(`[]`),
				}
			},
			want: begin + `,"include":[],"instructions":"be bad","model":"m","reasoning":{"summary":"auto"},` +
				`"service_tier":"flex","store":false,` +
				`"stream":false,"tools":[]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := wiretest.ServeText(t, "text/event-stream", sse(completed))
			req := call("hi")
			if tt.change != nil {
				tt.change(&req)
			}
			var config []func(*responses.Config)
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

// TestBodyExtends checks the contract of loop.Call that prompt caches rest on: up
// to the end of the messages, a body begins with the one before.
func TestBodyExtends(t *testing.T) {
	t.Parallel()
	f := wiretest.ServeText(t, "text/event-stream", sse(completed))
	client := clientOf(t, f)
	all := conversation()
	previous := `{"input":[`
	for n := 1; n <= len(all); n++ {
		req := loop.Call{Model: "m", System: "be good", Tools: []loop.Spec{readTool}, Messages: all[:n]}
		if _, err := client.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		body := f.Body(t, f.Count()-1)
		if !strings.HasPrefix(body, previous) {
			t.Errorf("%d messages do not extend %d:\n%s\n%s", n, n-1, previous, body)
		}
		anew := clientOf(t, f)
		if _, err := anew.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		said, rest, ok := strings.Cut(body, `],"instructions":`)
		if !ok {
			t.Fatalf("the input does not end in %s", body)
		}
		if _, first, _ := strings.Cut(f.Body(t, 0), `],"instructions":`); rest != first {
			t.Errorf("the rest changed with message %d: %s", n, rest)
		}
		previous = said
		if again := f.Body(t, f.Count()-1); again != body {
			t.Errorf("a new client writes %d messages in another way:\n%s\n%s", n, again, body)
		}
	}
}

func TestHeaders(t *testing.T) {
	// Not parallel: it sets the environment, which must not matter.
	t.Setenv("OPENAI_API_KEY", "sk-from-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")
	t.Setenv("OPENAI_ORG_ID", "org-from-environment")
	f := wiretest.Serve(t, func(w http.ResponseWriter, r *http.Request, _ int, _ string) {
		if r.URL.Path != "/v1/responses" || r.Method != http.MethodPost || r.URL.RawQuery != "api-version=preview" {
			t.Errorf("request is %s %s", r.Method, r.URL)
		}
		fmt.Fprint(w, sse(completed))
	})
	req := call("hi")
	req.Headers = map[string]string{"X-Plan-Run": "01J", "X-Plan-Phase": "review", "X-Plan-Attempt": "2"}
	for auth, want := range map[string]map[string]string{
		"":        {"Authorization": "Bearer sk-1", "Api-Key": ""},
		"api-key": {"Authorization": "", "Api-Key": "sk-1"},
	} {
		client := clientOf(t, f, func(c *responses.Config) {
			c.Auth = auth
			c.Key = func(context.Context) (string, error) { return "sk-1", nil }
			c.Query = map[string]string{"api-version": "preview"}
		})
		if _, err := client.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		h := f.Request(t, f.Count()-1).Header
		want["X-Plan-Run"], want["X-Plan-Phase"], want["X-Plan-Attempt"], want["Openai-Organization"] = "01J", "review", "2", ""
		for name, value := range want {
			if got := h.Get(name); got != value {
				t.Errorf("auth %q: header %s = %q, want %q", auth, name, got, value)
			}
		}
	}
}

func TestCacheKey(t *testing.T) {
	t.Parallel()
	f := wiretest.ServeText(t, "text/event-stream", sse(completed))
	client := clientOf(t, f)
	key := func(headers map[string]string) string {
		req := call("hi")
		req.Headers = headers
		if _, err := client.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		return strings.Trim(wiretest.Field(t, f.Body(t, f.Count()-1), "prompt_cache_key"), `"`)
	}
	long := strings.Repeat("x", 80)
	of := func(run, phase, attempt string) map[string]string {
		return map[string]string{"X-Plan-Run": run, "X-Plan-Phase": phase, "X-Plan-Attempt": attempt}
	}
	if got := key(of("", "review", "1")); got != "" {
		t.Errorf("a call of no run has the key %q", got)
	}
	first, again, other := key(of(long, "plan", "1")), key(of(long, "plan", "2")), key(of(long, "review", "1"))
	if first == "" || len(first) > 64 || first != again || first == other {
		t.Errorf("keys are %q, %q, and %q for another phase", first, again, other)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, baseURL, structured, body, want string
	}{
		{name: "no scheme", baseURL: "localhost:1234/v1", want: "http://"},
		{name: "the whole address", baseURL: "https://host/v1/responses", want: "/responses"},
		{name: "an unknown mode", baseURL: "http://host/v1", structured: "yaml", want: "auto, schema, tool or text"},
		{name: "the conversation", baseURL: "http://host/v1", body: "input", want: "leave it out"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := responses.Config{Config: wire.Config{BaseURL: tt.baseURL, Structured: tt.structured}}
			if tt.body != "" {
				cfg.Body = map[string]json.RawMessage{tt.body: json.RawMessage("[]")}
			}
			if _, err := responses.New(cfg); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
	client, err := responses.New(responses.Config{})
	if err != nil {
		t.Fatalf("the zero configuration was refused: %v", err)
	}
	if client.BaseURL() != responses.DefaultBaseURL+"/" {
		t.Errorf("the default server is %s", client.BaseURL())
	}
}

// conversation has every kind of message and block in it.
func conversation() []plan.Message {
	return []plan.Message{
		plan.UserText("look <here>"),
		{Role: plan.RoleAssistant, Blocks: []plan.Block{
			{
				Type:   plan.BlockReasoning,
				Text:   "hm",
				Opaque: sealed(`{"id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gA<="}`),
			},
			{Type: plan.BlockText, Text: "reading", Opaque: sealed(`{"id":"msg_1","phase":"commentary"}`)},
			{Type: plan.BlockReasoning, Opaque: sealed(`{"id":"rs_2","encrypted_content":"gB","status":"completed"}`)},
			{
				Type:   plan.BlockToolCall,
				Call:   "a",
				Name:   "read",
				Args:   `{"path" : "x"`,
				Opaque: sealed(`{"id":"fc_1","namespace":"n"}`),
			},
			{Type: plan.BlockToolCall, Call: "b", Name: "read"},
			{Type: plan.BlockExtension, Kind: "mark", Opaque: json.RawMessage(`{}`)},
			{Type: plan.BlockReasoning, Text: "and then nothing", Opaque: sealed(`{"id":"rs_3","summary":[]}`)},
		}},
		{Role: plan.RoleTool, Blocks: []plan.Block{
			{Type: plan.BlockToolResult, Call: "a", Name: "read", Text: "one"},
			{Type: plan.BlockToolResult, Call: "b", Name: "read", Text: "two", Error: true},
		}},
		plan.UserText("go"),
		plan.UserText("on"),
		{Role: plan.RoleExtension, Blocks: []plan.Block{{Type: plan.BlockText, Text: "secret"}}},
		{Role: plan.RoleAssistant, Blocks: []plan.Block{
			{
				Type:   plan.BlockReasoning,
				Text:   "another's",
				Opaque: json.RawMessage(`{"wire":"responses","provider":"other","fields":{"id":"rs_9","encrypted_content":"x"}}`),
			},
			{
				Type:   plan.BlockReasoning,
				Text:   "signed",
				Opaque: json.RawMessage(`{"wire":"anthropic","provider":"default","fields":{"signature":"x"}}`),
			},
			{Type: plan.BlockReasoning, Text: "from before", Opaque: json.RawMessage(`{"reasoning_content":"x"}`)},
			{Type: plan.BlockText, Text: ""},
			{Type: plan.BlockText, Text: "first", Opaque: sealed(`{"id":"msg_9","phase":"final_answer"}`)},
			{Type: plan.BlockText, Text: "second"},
			{
				Type:   plan.BlockToolCall,
				Call:   strings.Repeat("c", 70),
				Name:   "functions.read file",
				Args:   "{}",
				Opaque: json.RawMessage(`{"extra_content":{}}`),
			},
		}},
		{Role: plan.RoleTool, Blocks: []plan.Block{{Type: plan.BlockToolResult, Call: strings.Repeat("c", 70), Text: ""}}},
		{Role: plan.RoleAssistant, Blocks: []plan.Block{
			{
				Type:   plan.BlockReasoning,
				Text:   "nothing to say",
				Opaque: sealed(`{"id":"rs_4","encrypted_content":"gC","summary":[]}`),
			},
		}},
		{Role: plan.RoleUser, Blocks: []plan.Block{
			{Type: plan.BlockText, Text: "this"}, {Type: plan.BlockText}, {Type: plan.BlockImage, MIME: "image/png", Data: "AAAA"},
		}},
		{Role: plan.RoleUser, Blocks: []plan.Block{{Type: plan.BlockText}, {Type: plan.BlockExtension, Kind: "mark"}}},
	}
}

// sealed is what an answer of the server called default came with.
func sealed(fields string) json.RawMessage {
	return json.RawMessage(`{"wire":"responses","provider":"default","fields":` + fields + `}`)
}
