package scripted_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestStrictness(t *testing.T) {
	t.Parallel()
	c := start(t, "[[reply]]\ntext = 'x'\n")
	with := func(params string, messages ...string) string {
		if messages == nil {
			messages = []string{user}
		}
		return `{"model":"m",` + params + `"messages":[` + strings.Join(messages, ",") + `]}`
	}
	const tool = `{"type":"function","function":{"name":"read","description":"d","parameters":{"type":"object"}}}`
	tests := []struct{ name, body, want string }{
		{"not JSON", `{"model":`, "unexpected EOF"},
		{"two values", ask(false, user) + "{}", "more than one JSON value"},
		{"unknown parameter", with(`"top_k":1,`), `unknown field "top_k"`},
		{"wrong type", with(`"stream":"yes",`), "stream"},
		{"no model", `{"messages":[` + user + `]}`, "model is missing"},
		{"no messages", `{"model":"m","messages":[]}`, "messages is empty"},
		{"options without stream", with(`"stream_options":{"include_usage":true},`), "stream_options is only allowed"},
		{"two limits", with(`"max_tokens":1,"max_completion_tokens":1,`), "cannot both be set"},
		{"empty tools", with(`"tools":[],`), "tools is an empty list"},
		{"choice without tools", with(`"tool_choice":"auto",`), "only allowed with tools"},
		{"tool type", with(`"tools":[{"type":"x","function":{"name":"read"}}],`), `tools[0]: type is "x"`},
		{"tool name", with(`"tools":[{"type":"function","function":{"name":"re ad"}}],`), `tools[0]: name "re ad"`},
		{"tool twice", with(`"tools":[` + tool + `,` + tool + `],`), `two tools named "read"`},
		{
			"tool schema",
			with(`"tools":[{"type":"function","function":{"name":"read","parameters":[]}}],`),
			"not a JSON schema object",
		},
		{"format type", with(`"response_format":{"type":"yaml"},`), `response_format: type is "yaml"`},
		{
			"format schema",
			with(`"response_format":{"type":"json_schema","json_schema":{"name":"v"}},`),
			"json_schema needs a name",
		},

		{"role", with("", `{"role":"narrator","content":"x"}`), `messages[0]: role "narrator"`},
		{"message field", with("", `{"role":"user","content":"x","mood":1}`), `messages[0]: unknown field "mood"`},
		{"empty user", with("", `{"role":"user","content":""}`), "the user message has no content"},
		{"content type", with("", `{"role":"user","content":3}`), "neither a string nor a list of parts"},
		{
			"part type",
			with("", `{"role":"user","content":[{"type":"sound"}]}`),
			`content[0]: a user message cannot hold this part of type "sound"`,
		},
		{
			"user with calls",
			with("", strings.Replace(calls("a"), "assistant", "user", 1)),
			"a user message cannot hold tool_calls",
		},
		{
			"user with call id",
			with("", `{"role":"user","content":"x","tool_call_id":"a"}`),
			"a user message cannot hold tool_call_id",
		},
		{"late system", with("", user, said, system, user), "messages[2]: a system message comes after the conversation began"},
		{
			"silent assistant",
			with("", user, `{"role":"assistant","content":""}`, user),
			"messages[1]: the assistant message has neither content nor tool calls",
		},
		{"last is assistant", with("", user, said), "leaves nothing to answer"},
		{"last is system", with("", system), "leaves nothing to answer"},

		{
			"empty calls",
			with("", user, `{"role":"assistant","content":"x","tool_calls":[]}`, user),
			"tool_calls is an empty list",
		},
		{"call without id", with("", user, calls(""), user), "tool_calls[0] has no id"},
		{"call id twice", with("", user, calls("a", "a"), result("a"), result("a")), `id "a" is used twice`},
		{"call type", with("", user, strings.Replace(calls("a"), "function", "f", 1), result("a")), "type is"},
		{"call name", with("", user, strings.Replace(calls("a"), `"read"`, `""`, 1), result("a")), `name ""`},
		{
			"arguments missing",
			with("", user, strings.Replace(calls("a"), `,"arguments":"{}"`, "", 1), result("a")),
			`arguments of "read" is missing`,
		},
		{
			"arguments are no string",
			with("", user, strings.Replace(calls("a"), `"arguments":"{}"`, `"arguments":{}`, 1), result("a")),
			"arguments of type string",
		},

		{
			"call unanswered",
			with("", user, calls("a", "b"), result("a")),
			`messages end before the result of tool call "b" (read)`,
		},
		{
			"call unanswered before user",
			with("", user, calls("a"), user),
			`messages[2]: message of role user comes before the result of tool call "a" (read)`,
		},
		{
			"call unanswered before assistant",
			with("", user, calls("a", "b"), result("a"), said, user),
			`messages[3]: message of role assistant comes before the result of tool call "b"`,
		},
		{
			"answered twice",
			with("", user, calls("a"), result("a"), result("a")),
			`messages[3]: tool result "a" answers no call that is waiting`,
		},
		{
			"answered out of order",
			with("", user, calls("a", "b"), result("b"), result("a")),
			`tool result "b" is out of order: the next call waiting is "a"`,
		},
		{"unknown id", with("", user, calls("a"), result("z")), `tool result "z" is out of order`},
		{"result of nothing", with("", user, result("a")), `tool result "a" answers no call`},
		{"result without id", with("", user, calls("a"), `{"role":"tool","content":"r"}`), "no tool_call_id"},
		{
			"result without content",
			with("", user, calls("a"), `{"role":"tool","tool_call_id":"a"}`),
			"the tool message has no content",
		},

		{"all that is allowed", with(`"stream":false,"tools":[`+tool+`],"tool_choice":"auto",`+
			`"parallel_tool_calls":true,"temperature":0.5,"max_completion_tokens":9,`+
			`"reasoning_effort":"low","response_format":{"type":"json_schema","json_schema":{"name":"v",`+
			`"schema":{},"strict":true}},"prompt_cache_key":"k",`,
			system,
			`{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`,
			`{"role":"assistant","content":"x","reasoning_content":"r","tool_calls":`+calls("a", "b")[strings.Index(calls("a", "b"), "["):],
			result("a"), `{"role":"tool","tool_call_id":"b","content":""}`, calls("a"), result("a"), said, user), ""},
		{"JSON object", with(`"response_format":{"type":"json_object"},`), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, data, err := c.post(nil, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			want := http.StatusBadRequest
			if tt.want == "" {
				want = http.StatusOK
			}
			if resp.StatusCode != want || !strings.Contains(errorOf(data), tt.want) {
				t.Errorf("got %d %s\nwant %d with %q", resp.StatusCode, data, want, tt.want)
			}
		})
	}
}
