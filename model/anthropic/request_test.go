package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/anthropic"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

var readTool = loop.Spec{
	Name:        "read",
	Description: "Read <one> file & more.",
	Schema:      json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"maximum":9007199254740993}}}`),
}

// sealed marks a field as this wire and the provider of the tests do.
func sealed(provider, field, text string) json.RawMessage {
	raw, _ := json.Marshal(text)
	return wire.Seal(anthropic.Name, provider, map[string]json.RawMessage{field: raw})
}

// conversation has every kind of message and block in it.
func conversation() []plan.Message {
	return []plan.Message{
		plan.UserText("look <here>"),
		{Role: plan.RoleAssistant, Blocks: []plan.Block{
			{Type: plan.BlockReasoning, Text: "hm", Opaque: sealed("house", "signature", "s/+=")},
			{Type: plan.BlockReasoning, Opaque: sealed("house", "data", "hidden")},
			{Type: plan.BlockReasoning, Text: "another house's", Opaque: sealed("other", "signature", "x")},
			{Type: plan.BlockReasoning, Text: "not marked", Opaque: json.RawMessage(`{"signature":"x"}`)},
			{
				Type:   plan.BlockReasoning,
				Text:   "another wire's",
				Opaque: wire.Seal("chat", "house", map[string]json.RawMessage{"signature": json.RawMessage(`"x"`)}),
			},
			{Type: plan.BlockReasoning, Text: "bare"},
			{Type: plan.BlockText, Text: "\n\n"},
			{Type: plan.BlockText, Text: "reading "},
			{Type: plan.BlockToolCall, Call: "toolu_a", Name: "read", Args: `{"path" : "x"`},
			{Type: plan.BlockReasoning, Text: "between", Opaque: sealed("house", "signature", "t")},
			{
				Type: plan.BlockToolCall, Call: "call|b.1", Name: "fs.read", Args: "{ \"n\": 1.0 }",
				Opaque: wire.Seal(
					anthropic.Name,
					"house",
					map[string]json.RawMessage{"caller": json.RawMessage(`{"type":"direct"}`)},
				),
			},
			{Type: plan.BlockReasoning, Text: "last", Opaque: sealed("house", "signature", "u")},
			{Type: plan.BlockExtension, Kind: "mark", Opaque: json.RawMessage(`{}`)},
		}},
		{Role: plan.RoleTool, Blocks: []plan.Block{
			{Type: plan.BlockToolResult, Call: "toolu_a", Name: "read", Text: "one"},
			{Type: plan.BlockToolResult, Call: "call|b.1", Name: "read", Text: "two", Error: true},
		}},
		plan.UserText("and a letter"),
		{Role: plan.RoleExtension, Blocks: []plan.Block{{Type: plan.BlockText, Text: "secret"}}},
		{
			Role:   plan.RoleAssistant,
			Blocks: []plan.Block{{Type: plan.BlockToolCall, Call: "c", Name: "read"}, {Type: plan.BlockToolCall, Call: "d"}},
		},
		{
			Role:   plan.RoleTool,
			Blocks: []plan.Block{{Type: plan.BlockToolResult, Call: "c"}, {Type: plan.BlockToolResult, Call: "d", Error: true}},
		},
		{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockReasoning, Text: "nothing to " +
			"say", Opaque: sealed("house", "signature", "v")}}},
		{Role: plan.RoleUser, Blocks: []plan.Block{{Type: plan.BlockText, Text: " "}}},
		{Role: plan.RoleUser, Blocks: []plan.Block{
			{Type: plan.BlockText, Text: "this"},
			{Type: plan.BlockImage, MIME: "image/png", Data: "AAAA"},
			{Type: plan.BlockImage, MIME: "image/bmp", Data: "BBBB"},
		}},
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	want := []string{
		`{"content":[{"text":"look <here>","type":"text"}],"role":"user"}`,
		`{"content":[{"signature":"s/+=","thinking":"hm","type":"thinking"},{"data":"hidden","type":"redacted_thinking"},` +
			`{"text":"reading ","type":"text"},{"id":"toolu_a","input":{"_invalid_arguments":"{\"path\" : \"x\""},"name":"read",` +
			`"type":"tool_use"},` +
			`{"signature":"t","thinking":"between","type":"thinking"},` +
			`{"id":"call_b_1_32d692a94ce5","input":{"n":1.0},"name":"fs_read","caller":{"type":"direct"},` +
			`"type":"tool_use"}],"role":"assistant"}`,
		`{"content":[{"tool_use_id":"toolu_a","content":[{"text":"one","type":"text"}],"type":"tool_result"},` +
			`{"tool_use_id":"call_b_1_32d692a94ce5","is_error":true,"content":[{"text":"two","type":"text"}],` +
			`"type":"tool_result"}],"role":"user"}`,
		`{"content":[{"text":"and a letter","type":"text"}],"role":"user"}`,
		`{"content":[{"id":"c","input":{},"name":"read","type":"tool_use"},{"id":"d","input":{},"name":"unnamed","type":"tool_use"}],` +
			`"role":"assistant"}`,
		`{"content":[{"tool_use_id":"c","type":"tool_result"},` +
			`{"tool_use_id":"d","is_error":true,"content":[{"text":"(it failed, and said nothing)","type":"text"}],` +
			`"type":"tool_result"}],"role":"user"}`,
		`{"content":[{"text":"(no text)","type":"text"}],"role":"user"}`,
		`{"content":[{"text":"this","type":"text"},{"source":{"data":"AAAA","media_type":"image/png","type":"base64"},"type":"image"},` +
			`{"text":"(an image of the type image/bmp, which cannot be sent)","type":"text"}],"role":"user"}`,
	}
	f := wiretest.ServeText(t, wiretest.EventStream, answered)
	req := loop.Call{Model: "m", System: "be good", Messages: conversation()}
	if _, err := clientOf(t, f).Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(wiretest.Field(t, f.Body(t, 0), "messages")), &raw); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range raw {
		got = append(got, string(m))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// The user speaks first and last, whatever a conversation begins and ends with.
func TestWhoSpeaks(t *testing.T) {
	t.Parallel()
	assistant := plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockText, Text: "a"}}}
	silent := plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockReasoning, Text: "b"}}}
	const before = `{"content":[{"text":"(The conversation goes on.)","type":"text"}],"role":"user"}`
	const after = `{"content":[{"text":"Go on.","type":"text"}],"role":"user"}`
	const a = `{"content":[{"text":"a","type":"text"}],"role":"assistant"}`
	const u = `{"content":[{"text":"u","type":"text"}],"role":"user"}`
	tests := []struct {
		name     string
		messages []plan.Message
		want     string
	}{
		{"nothing", nil, after},
		{"nothing to send", []plan.Message{silent}, after},
		{"user", []plan.Message{plan.UserText("u")}, u},
		{"user, and nothing to send", []plan.Message{silent, plan.UserText("u"), silent}, u},
		{"assistant", []plan.Message{assistant}, before + "," + a + "," + after},
		{"assistant first", []plan.Message{silent, assistant, plan.UserText("u")}, before + "," + a + "," + u},
		{"assistant last", []plan.Message{plan.UserText("u"), assistant, silent}, u + "," + a + "," + after},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := wiretest.ServeText(t, wiretest.EventStream, answered)
			if _, err := clientOf(t, f).Generate(t.Context(), loop.Call{Model: "m", Messages: tt.messages}, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("["+tt.want+"]", wiretest.Field(t, f.Body(t, 0), "messages")); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBodyExtends checks the contract of loop.Call that prompt caches rest on.
func TestBodyExtends(t *testing.T) {
	t.Parallel()
	f := wiretest.ServeText(t, wiretest.EventStream, answered)
	client := clientOf(t, f)
	all := conversation()
	previous := ""
	for n := 1; n <= len(all); n++ {
		req := loop.Call{Model: "m", System: "be good", Tools: []loop.Spec{readTool}, Messages: all[:n]}
		if _, err := client.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		body := f.Body(t, n-1)
		messages, rest, found := strings.Cut(body, `],"max_tokens"`)
		messages = strings.TrimSuffix(messages, `,{"content":[{"text":"Go on.","type":"text"}],"role":"user"}`)
		if !found || !strings.HasPrefix(messages, previous) || !strings.HasPrefix(body, `{"messages":[{`) {
			t.Errorf("%d messages do not extend %d:\n%s\n%s", n, n-1, previous, body)
		}
		if _, first, _ := strings.Cut(f.Body(t, 0), `],"max_tokens"`); rest != first {
			t.Errorf("what follows the messages changed with message %d: %s", n, rest)
		}
		previous = messages
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	temperature := 0.0
	format := &loop.Format{Name: "verdict", Schema: json.RawMessage(`{"type":"object","z":1,"a":2}`)}
	const user = `{"messages":[{"content":[{"text":"hi","type":"text"}],"role":"user"}],"max_tokens":%d,"model":"claude-opus-4-6"`
	const cache = `,"cache_control":{"type":"ephemeral"}`
	const end = `,"stream":true}`
	const schema = `,"output_config":{"format":{"schema":{"type":"object","z":1,"a":2},"type":"json_schema"}}`
	head := func(tokens int) string { return fmt.Sprintf(user, tokens) }
	tests := []struct {
		name   string
		change func(*loop.Call)
		config func(*anthropic.Config)
		want   string
	}{
		{name: "nothing asked for", want: head(16384) + cache + end},
		{
			name:   "no cache",
			change: func(c *loop.Call) { c.System, c.Settings.LongCache = "be <good>", true },
			config: func(c *anthropic.Config) { c.NoCache = true },
			want:   head(16384) + `,"system":[{"text":"be <good>","type":"text"}]` + end,
		},
		{
			name:   "settings",
			change: func(c *loop.Call) { c.Settings = loop.Settings{Temperature: &temperature, MaxOutputTokens: 9} },
			want:   head(9) + `,"temperature":0` + cache + end,
		},
		{
			name:   "longest answer of the model",
			config: func(c *anthropic.Config) { c.MaxOutput = func(string) int64 { return 4000 } },
			want:   head(4000) + cache + end,
		},
		{
			name:   "metadata",
			change: func(c *loop.Call) { c.Metadata = map[string]string{"user_id": "u", "phase": "review"} },
			want:   head(16384) + cache + `,"metadata":{"user_id":"u"}` + end,
		},
		{
			name: "system and tools, for an hour",
			change: func(c *loop.Call) {
				c.System, c.Tools, c.Settings.LongCache = "be <good>", []loop.Spec{readTool, {Name: "bare"}}, true
			},
			want: head(16384) + cache + `,"system":[{"text":"be <good>","type":"text","cache_control":{"ttl":"1h","type":"ephemeral"}}]` +
				`,"tools":[{"input_schema":` + string(readTool.Schema) + `,"name":"read","description":"Read <one> file & more."},` +
				`{"input_schema":{"type":"object"},"name":"bare"}]` + end,
		},
		{
			name: "what other conversations begin with",
			change: func(c *loop.Call) {
				c.System, c.Tools = "be <good>", []loop.Spec{{Name: "a"}, {Name: "b"}}
				c.Shared = loop.Shared{Tools: 1, Blocks: 1}
				c.Messages[0].Blocks = append(c.Messages[0].Blocks, plan.UserText("mine").Blocks...)
			},
			want: `{"messages":[{"content":[{"text":"hi","type":"text"` + cache + `},{"text":"mine","type":"text"}],"role":"user"}],` +
				`"max_tokens":16384,"model":"claude-opus-4-6"` + cache + `,"system":[{"text":"be <good>","type":"text"` + cache + `}]` +
				`,"tools":[{"input_schema":{"type":"object"},"name":"a"` + cache + `},{"input_schema":{"type":"object"},"name":"b"}]` + end,
		},
		{
			name:   "nothing follows what others begin with",
			change: func(c *loop.Call) { c.Shared = loop.Shared{Tools: 1, Blocks: 1} },
			want:   head(16384) + cache + end,
		},
		{
			name: "schemas that are not taken",
			change: func(c *loop.Call) {
				c.Tools = []loop.Spec{{Name: "x", Schema: json.RawMessage(`{"oneOf":[],"z":1,"a":2}`)}}
			},
			want: head(16384) + cache + `,"tools":[{"input_schema":{"a":2,"type":"object","z":1},"name":"x"}]` + end,
		},
		{name: "auto without the ability", change: func(c *loop.Call) { c.Format = format }, want: head(16384) + cache + end},
		{
			name: "auto with the ability", change: func(c *loop.Call) { c.Format = format },
			config: func(c *anthropic.Config) {
				c.Caps = func(model string) anthropic.Caps { return anthropic.Caps{StructuredOutput: model == "claude-opus-4-6"} }
			},
			want: head(16384) + cache + schema + end,
		},
		{
			name: "schema", change: func(c *loop.Call) { c.Format = format },
			config: func(c *anthropic.Config) { c.Structured = wire.StructuredSchema },
			want:   head(16384) + cache + schema + end,
		},
		{
			name: "tool", change: func(c *loop.Call) { c.Format = format },
			config: func(c *anthropic.Config) { c.Structured = wire.StructuredTool },
			want: head(16384) + cache + `,"tools":[{"input_schema":{"type":"object","z":1,"a":2},"name":"verdict",` +
				`"description":"Give the final answer."}]` + end,
		},
		{
			name: "a body of one's own",
			config: func(c *anthropic.Config) {
				c.Body = map[string]json.RawMessage{
					"service_tier": json.RawMessage(`"auto"`),
					"max_tokens":   json.RawMessage(`5`),
					"stream":       json.RawMessage(`false`),
					"system":       json.RawMessage(`"own"`),
				}
			},
			change: func(c *loop.Call) { c.System = "be good" },
			want: `{"messages":[{"content":[{"text":"hi","type":"text"}],"role":"user"}],` +
				`"cache_control":{"type":"ephemeral"},"max_tokens":5,` +
				`"model":"claude-opus-4-6","service_tier":"auto","system":"own"` + end,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := wiretest.ServeText(t, wiretest.EventStream, answered)
			req := call("hi")
			if tt.change != nil {
				tt.change(&req)
			}
			var config []func(*anthropic.Config)
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

func TestHeadersAndPath(t *testing.T) {
	// Not parallel: it sets the environment, which must not matter.
	t.Setenv("ANTHROPIC_API_KEY", "sk-from-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "from-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: from-environment")
	for base, want := range map[string]string{
		"":             "/v1/messages",
		"/":            "/v1/messages",
		"/v1":          "/v1/messages",
		"/v1/":         "/v1/messages",
		"/anthropic":   "/anthropic/v1/messages",
		"/api/x/v1":    "/api/x/v1/messages",
		"/anthropicv1": "/anthropicv1/v1/messages",
	} {
		f := wiretest.ServeText(t, wiretest.EventStream, answered)
		req := call("hi")
		req.Headers = map[string]string{"X-Plan-Run": "01J"}
		client := clientOf(t, f, withKey("sk-1"), func(c *anthropic.Config) {
			c.BaseURL = f.URL + base
			c.Headers = map[string]string{"Anthropic-Beta": "one,two"}
		})
		if _, err := client.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if f.Request(t, 0).Path != want {
			t.Errorf("the path below %q is %s, want %s", base, f.Request(t, 0).Path, want)
		}
		for name, want := range map[string]string{
			"X-Api-Key": "sk-1", "Authorization": "", "Anthropic-Version": "2023-06-01", "Anthropic-Beta": "one,two",
			"X-Plan-Run": "01J", "X-Custom": "", "Content-Type": "application/json",
		} {
			if got := f.Request(t, 0).Header.Get(name); got != want {
				t.Errorf("header %s = %q, want %q", name, got, want)
			}
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
		fmt.Fprint(w, `{"data":[{"type":"model","id":"claude-opus-5","max_input_tokens":1000000,"max_tokens":128000,`+
			`"capabilities":{"thinking":{"supported":true}}}],"has_more":false}`)
	})
	client := clientOf(t, f, func(c *anthropic.Config) { c.BaseURL = f.URL + "/anthropic" })
	offers, err := client.Models(t.Context())
	if err != nil || len(offers) != 1 || offers[0].Name != "claude-opus-5" || offers[0].Window != 1000000 {
		t.Errorf("models = %+v, %v", offers, err)
	}
	if f.Request(t, 0).Path != "/anthropic/v1/models" || f.Request(t, 0).Header.Get("Anthropic-Version") == "" {
		t.Errorf("asked for %s with %v", f.Request(t, 0).Path, f.Request(t, 0).Header)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, baseURL, structured, want string }{
		{"no scheme", "localhost:1234/v1", "", "http://"},
		{"no host", "http:///v1", "", "host"},
		{"a password", "https://u:hunter2@host/v1", "", "API key"},
		{"a query", "https://host/v1?a=b", "", "after ?"},
		{"the whole address", "https://host/v1/messages", "", "/messages"},
		{"no URL at all", "http://[::1", "", "not a URL"},
		{"an unknown mode", "http://host/v1", "yaml", "auto, schema, tool or text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := anthropic.New(anthropic.Config{Config: wire.Config{BaseURL: tt.baseURL, Structured: tt.structured}})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
	client, err := anthropic.New(anthropic.Config{})
	if err != nil || client.BaseURL() != "https://api.anthropic.com/v1/" {
		t.Errorf("the zero configuration: %v, %v", client, err)
	}
}
