package scripted_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	userTurn = `{"role":"user","content":"u"}`
	saidTurn = `{"role":"assistant","content":[{"type":"text","text":"a"}]}`
)

// askMessages makes a request of messages.
func askMessages(stream bool, messages ...string) string {
	options := ""
	if stream {
		options = `"stream":true,`
	}
	return `{"model":"m","max_tokens":2048,` + options + `"messages":[` + strings.Join(messages, ",") + `]}`
}

// turnOf makes a message of blocks.
func turnOf(role string, blocks ...string) string {
	return `{"role":"` + role + `","content":[` + strings.Join(blocks, ",") + `]}`
}

func textBlock(text string) string { return `{"type":"text","text":"` + text + `"}` }

func callBlock(id string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"read","input":{}}`
}

func resultBlock(id string) string {
	return `{"type":"tool_result","tool_use_id":"` + id + `","content":"r"}`
}

// marked makes a block a breakpoint.
func marked(block, ttl string) string {
	return strings.TrimSuffix(block, "}") + `,"cache_control":{"type":"ephemeral","ttl":"` + ttl + `"}}`
}

type messageUsage struct {
	Input   int `json:"input_tokens"`
	Read    int `json:"cache_read_input_tokens"`
	Written int `json:"cache_creation_input_tokens"`
	Output  int `json:"output_tokens"`
	Parts   struct {
		Minutes int `json:"ephemeral_5m_input_tokens"`
		Hour    int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

type messageDoc struct {
	Type    string
	Content []json.RawMessage
	Stop    string                        `json:"stop_reason"`
	Details *struct{ Explanation string } `json:"stop_details"`
	Usage   messageUsage
}

func readMessage(t *testing.T, data string) told {
	t.Helper()
	var d messageDoc
	if err := json.Unmarshal([]byte(data), &d); err != nil || d.Type != "message" {
		t.Fatalf("message %q: %v", data, err)
	}
	out := told{Stop: d.Stop, Input: d.Usage.Input + d.Usage.Read + d.Usage.Written, Cached: d.Usage.Read, Output: d.Usage.Output}
	if d.Details != nil {
		out.Refusal = d.Details.Explanation
	}
	for _, raw := range d.Content {
		var b struct {
			Type, Text, Thinking, ID, Name string
			Input                          json.RawMessage
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			t.Fatal(err)
		}
		out.Text += b.Text
		out.Reasoning += b.Thinking
		if b.Type == "tool_use" {
			out.Calls = append(out.Calls, heardCall{b.ID, b.Name, string(b.Input)})
		}
	}
	return out
}

// hearMessages puts a streamed message together.
func hearMessages(t *testing.T, stream string) told {
	t.Helper()
	var out told
	open := -1
	for i, e := range named(stream) {
		var d struct {
			Type    string
			Index   int
			Message messageDoc
			Block   struct{ Type, ID, Name string } `json:"content_block"`
			Delta   struct {
				Text, Thinking string
				JSON           string                        `json:"partial_json"`
				Stop           string                        `json:"stop_reason"`
				Details        *struct{ Explanation string } `json:"stop_details"`
			}
			Usage messageUsage
			Error struct{ Message string }
		}
		if err := json.Unmarshal([]byte(e.Data), &d); err != nil || d.Type != e.Name {
			t.Fatalf("event %d is %+v: %v", i, e, err)
		}
		switch e.Name {
		case "message_start":
			out.Input, out.Cached = d.Message.Usage.Input+d.Message.Usage.Read+d.Message.Usage.Written, d.Message.Usage.Read
		case "content_block_start":
			if open++; d.Index != open {
				t.Errorf("block %d has index %d", open, d.Index)
			}
			if d.Block.Type == "tool_use" {
				out.Calls = append(out.Calls, heardCall{ID: d.Block.ID, Name: d.Block.Name})
			}
		case "content_block_delta":
			out.Text += d.Delta.Text
			out.Reasoning += d.Delta.Thinking
			if d.Delta.JSON != "" {
				out.Calls[len(out.Calls)-1].Args += d.Delta.JSON
			}
		case "message_delta":
			out.Output = d.Usage.Output
			out.Stop = d.Delta.Stop
			if d.Delta.Details != nil {
				out.Refusal = d.Delta.Details.Explanation
			}
		case "error":
			out.Failed = d.Error.Message
		}
	}
	return out
}

func TestMessagesEvents(t *testing.T) {
	t.Parallel()
	c := start(t, answers)
	_, data, err := c.postAt("/messages", at("explore", 1), askMessages(true, userTurn))
	if err != nil {
		t.Fatal(err)
	}
	block := " content_block_start content_block_delta content_block_stop"
	want := "message_start content_block_start ping content_block_delta content_block_stop" + block + block + block + block + " " +
		"message_delta message_stop"
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(names(named(data)))); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(data, `"type":"signature_delta"`); n != 1 {
		t.Errorf("%d signatures", n)
	}
}

func TestMessagesStrictness(t *testing.T) {
	t.Parallel()
	c := start(t, "[[reply]]\ntext = 'x'\n")
	with := func(params string, messages ...string) string {
		if messages == nil {
			messages = []string{userTurn}
		}
		return strings.Replace(askMessages(false, messages...), "{", "{"+params, 1)
	}
	one := func(block string) string { return with("", turnOf("user", block)) }
	const tool = `{"name":"read","description":"d","input_schema":{"type":"object"}}`
	marks := func(ttls ...string) string {
		var blocks []string
		for _, ttl := range ttls {
			blocks = append(blocks, marked(textBlock("x"), ttl))
		}
		return turnOf("user", blocks...)
	}
	tests := []struct{ name, body, want string }{
		{"unknown parameter", with(`"stream_options":{},`), "stream_options: Extra inputs are not permitted"},
		{"no model", `{"max_tokens":1,"messages":[` + userTurn + `]}`, "model: Field required"},
		{"no limit", `{"model":"m","messages":[` + userTurn + `]}`, "max_tokens: Field required"},
		{"no messages", `{"model":"m","max_tokens":1,"messages":[]}`, "at least one message is required"},
		{"temperature", with(`"temperature":1.5,`), "temperature: range: 0..1"},
		{"two ways", with(`"temperature":0.5,"top_p":0.5,`), "cannot both be specified"},
		{"small budget", with(`"thinking":{"type":"enabled","budget_tokens":100},`), "greater than or equal to 1024"},
		{"large budget", with(`"thinking":{"type":"enabled","budget_tokens":2048},`), "`max_tokens` must be " +
			"greater than `thinking.budget_tokens`."},
		{
			"budget of adaptive",
			with(`"thinking":{"type":"adaptive","budget_tokens":2000},`),
			"thinking.adaptive.budget_tokens: Extra inputs",
		},
		{"thinking and temperature", with(`"temperature":0.5,"thinking":{"type":"enabled","budget_tokens":1024},`), "`temperature` " +
			"may only be set to 1 when thinking is enabled."},
		{"thinking and force", with(`"tools":[` + tool + `],"tool_choice":{"type":"any"},"thinking":{"type":"adaptive"},`), "Thinking " +
			"may not be enabled when tool_choice forces tool use."},
		{"choice", with(`"tools":[` + tool + `],"tool_choice":{"type":"required"},`), "tool_choice: Input tag 'required'"},
		{"choice without tools", with(`"tool_choice":{"type":"auto"},`), "while providing tools"},
		{"chat's tool", with(`"tools":[{"type":"function","function":{"name":"read"}}],`), "tools.0: Input tag 'function'"},
		{"tool without schema", with(`"tools":[{"name":"read"}],`), "tools.0.custom.input_schema: Field required"},
		{"tool field", with(`"tools":[` + strings.Replace(tool, "{", `{"parameters":{},`, 1) + `],`), "tools.0.custom.parameters: " +
			"Extra inputs are not permitted"},
		{"tool twice", with(`"tools":[` + tool + `,` + tool + `],`), "Tool names must be unique."},
		{"empty system", with(`"system":"",`), "system: text content blocks must be non-empty"},

		{"system message", with("", `{"role":"system","content":"x"}`), "Unexpected role \"system\""},
		{"role", with("", `{"role":"tool","content":"x"}`), "messages.0.role: Input should be 'user' or 'assistant'"},
		{"empty text", one(textBlock("")), "text content blocks must be non-empty"},
		{"blank text", one(textBlock(" ")), "must contain non-whitespace text"},
		{"empty cached text", one(marked(textBlock(""), "5m")), "cache_control cannot be set for empty text blocks"},
		{"no blocks", with("", turnOf("user")), "messages.0: all messages must have non-empty content"},
		{"block type", one(`{"type":"input_text","text":"x"}`), "messages.0.content.0: Input tag 'input_text'"},
		{
			"block field",
			one(`{"type":"text","text":"x","id":"y"}`),
			"messages.0.content.0.text.id: Extra inputs are not permitted",
		},
		{"user's call", one(callBlock("a")), "a block of type 'tool_use' cannot stand here"},
		{"assistant first", with("", saidTurn, userTurn), "first message must use the \"user\" role"},
		{"silent error", with("", userTurn, turnOf("assistant", callBlock("a")), turnOf("user", `{"type":"tool_result",`+
			`"tool_use_id":"a","is_error":true,"content":[]}`)), "messages.2.content.0.tool_result: content " +
			"cannot be empty if `is_error` is true"},
		{"prefill", with("", userTurn, saidTurn), "does not support assistant message prefill"},
		{
			"input",
			with(
				"",
				userTurn,
				turnOf("assistant", strings.Replace(callBlock("a"), "{}", `"{}"`, 1)),
				turnOf("user", resultBlock("a")),
			),
			"tool_use.input: Input should be a valid dictionary",
		},
		{"call id", with("", userTurn, turnOf("assistant", callBlock("a.b")), turnOf("user", resultBlock("a"))), "tool_use.id: " +
			"String should match pattern"},
		{"thinking last", with("", userTurn, turnOf("assistant", textBlock("x"), `{"type":"thinking","thinking":"x",`+
			`"signature":"x"}`), userTurn), "Invalid `signature` in `thinking` block"},
		{"cached thinking", with("", userTurn, turnOf("assistant", marked(`{"type":"thinking","thinking":"x",`+
			`"signature":"x"}`, "5m"), textBlock("x")), userTurn), "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted"},

		{
			"unanswered",
			with("", userTurn, turnOf("assistant", callBlock("a"), callBlock("b")), turnOf("user", resultBlock("a"))),
			"messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b.",
		},
		{"answered late", with("", userTurn, turnOf("assistant", callBlock("a")), userTurn), "immediately after: a."},
		{
			"unknown result",
			with("", turnOf("user", resultBlock("z"))),
			"unexpected `tool_use_id` found in `tool_result` blocks: z.",
		},
		{
			"answered twice",
			with("", userTurn, turnOf("assistant", callBlock("a")), turnOf("user", resultBlock("a"), resultBlock("a"))),
			"each tool_use must have a single result.",
		},
		{
			"results in two messages",
			with(
				"",
				userTurn,
				turnOf("assistant", callBlock("a"), callBlock("b")),
				turnOf("user", resultBlock("b")),
				turnOf("user", resultBlock("a"), textBlock("x")),
			),
			"",
		},
		{
			"results after a text",
			with("", userTurn, turnOf("assistant", callBlock("a")), userTurn, turnOf("user", resultBlock("a"))),
			"`tool_result` blocks must come first",
		},
		{
			"results after text",
			with("", userTurn, turnOf("assistant", callBlock("a")), turnOf("user", textBlock("x"), resultBlock("a"))),
			"`tool_result` blocks must come first",
		},
		{
			"call id twice",
			with(
				"",
				userTurn,
				turnOf("assistant", callBlock("a")),
				turnOf("user", resultBlock("a")),
				turnOf("assistant", callBlock("a")),
				turnOf("user", resultBlock("a")),
			),
			"`tool_use` ids must be unique",
		},

		{
			"five breakpoints",
			with("", marks("5m", "5m", "5m", "5m", "5m")),
			"A maximum of 4 blocks with cache_control may be provided. Found 5.",
		},
		{
			"four and the automatic one",
			with(
				`"cache_control":{"type":"ephemeral"},`,
				turnOf(
					"user",
					marked(textBlock("x"), "5m"),
					marked(textBlock("x"), "5m"),
					marked(textBlock("x"), "5m"),
					marked(textBlock("x"), "5m"),
					textBlock("x"),
				),
			),
			"Found 5.",
		},
		{"hour after minutes", with("", marks("5m", "1h")), "messages.0.content.1.cache_control.ttl: a ttl='1h' " +
			"cache_control block must not come after a ttl='5m'"},
		{
			"hour in messages after minutes in tools",
			with(`"tools":[`+marked(tool, "5m")+`],`, marks("1h")),
			"must not come after",
		},
		{"ttl", with("", marks("2h")), "cache_control.ephemeral.ttl: Input should be '5m' or '1h'"},

		{"all that is allowed", with(`"stream":false,"system":[`+marked(textBlock("s"), "1h")+`],"tools":[`+marked(tool, "1h")+`],`+
			`"tool_choice":{"type":"auto","disable_parallel_tool_use":true},`+
			`"thinking":{"type":"enabled","budget_tokens":1024,"display":"omitted"},"temperature":1,"stop_sequences":["x"],`+
			`"metadata":{"user_id":"u"},`+
			`"output_config":{"effort":"low","format":{"type":"json_schema","schema":{}}},"service_tier":"auto",`,
			turnOf("user", textBlock("x"), `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`),
			turnOf("assistant", textBlock("x"), callBlock("a"), callBlock("b")),
			turnOf("user", resultBlock("b"), `{"type":"tool_result","tool_use_id":"a"}`, textBlock("and?")), userTurn,
			saidTurn, marks("1h", "5m")), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, data, err := c.postAt("/messages", nil, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if (resp.StatusCode == http.StatusOK) != (tt.want == "") || !strings.Contains(errorOf(data), tt.want) {
				t.Errorf("got %d %s\nwant %q", resp.StatusCode, data, tt.want)
			}
		})
	}
	for version, want := range map[string]string{"": "anthropic-version: header is required", "2022": "is not a valid version"} {
		resp, data, err := c.postAt("/messages", headers{"Anthropic-Version": version}, with(""))
		if err != nil || resp.StatusCode != 400 || !strings.Contains(errorOf(data), want) {
			t.Errorf("%q: %v %v %s", version, resp, err, data)
		}
	}
}
