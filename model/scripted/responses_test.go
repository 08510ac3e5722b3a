package scripted_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	userItem = `{"role":"user","content":"u"}`
	fullItem = `{"type":"message","role":"user","content":[{"type":"input_text","text":"u"},{"type":"input_image",` +
		`"image_url":"data:image/png;base64,AA=="}]}`
	saidItem = `{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"a",` +
		`"annotations":[]}]}`
)

// askResponses makes a request of items.
func askResponses(stream bool, items ...string) string {
	options := ""
	if stream {
		options = `"stream":true,`
	}
	return `{"model":"m","store":false,"include":["reasoning.encrypted_content"],` + options + `"input":[` + strings.Join(
		items,
		",",
	) + `]}`
}

func callItem(id string) string {
	return `{"type":"function_call","call_id":"` + id + `","name":"read","arguments":"{}"}`
}

func resultItem(id string) string {
	return `{"type":"function_call_output","call_id":"` + id + `","output":"r"}`
}

// responseDoc is a response object.
type responseDoc struct {
	Object, Status string
	Output         []json.RawMessage
	Details        *struct{ Reason string } `json:"incomplete_details"`
	Error          *struct{ Message string }
	Usage          *struct {
		Input   int `json:"input_tokens"`
		Output  int `json:"output_tokens"`
		Total   int `json:"total_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"input_tokens_details"`
	}
}

type responseItem struct {
	Type, ID, Name, Arguments string
	CallID                    string `json:"call_id"`
	Encrypted                 string `json:"encrypted_content"`
	Summary, Content          []struct{ Type, Text, Refusal string }
}

// told puts a whole response together.
func (d *responseDoc) told(t *testing.T) told {
	t.Helper()
	out := told{Stop: d.Status}
	if d.Details != nil {
		out.Stop += " " + d.Details.Reason
	}
	if d.Error != nil {
		out.Failed = d.Error.Message
	}
	if d.Usage != nil {
		out.Input, out.Cached, out.Output = d.Usage.Input, d.Usage.Details.Cached, d.Usage.Output
	}
	for _, raw := range d.Output {
		var it responseItem
		if err := json.Unmarshal(raw, &it); err != nil {
			t.Fatal(err)
		}
		for _, p := range it.Summary {
			out.Reasoning += p.Text
		}
		for _, p := range it.Content {
			out.Text += p.Text
			out.Refusal += p.Refusal
		}
		if it.Type == "function_call" {
			out.Calls = append(out.Calls, heardCall{it.CallID, it.Name, it.Arguments})
		}
	}
	return out
}

func readResponse(t *testing.T, data string) told {
	t.Helper()
	var d responseDoc
	if err := json.Unmarshal([]byte(data), &d); err != nil || d.Object != "response" {
		t.Fatalf("response %q: %v", data, err)
	}
	return d.told(t)
}

// hearResponses puts a streamed response together from its pieces, and makes
// sure that the whole at its end is the same.
func hearResponses(t *testing.T, stream string) told {
	t.Helper()
	var out told
	for i, e := range named(stream) {
		var d struct {
			Type, Delta, Message string
			Sequence             int `json:"sequence_number"`
			Item                 responseItem
			Response             *responseDoc
		}
		if err := json.Unmarshal([]byte(e.Data), &d); err != nil || d.Type != e.Name || d.Sequence != i {
			t.Fatalf("event %d is %+v: %v", i, e, err)
		}
		switch e.Name {
		case "response.output_item.added":
			if d.Item.Type == "function_call" {
				out.Calls = append(out.Calls, heardCall{ID: d.Item.CallID, Name: d.Item.Name})
			}
		case "response.output_text.delta":
			out.Text += d.Delta
		case "response.refusal.delta":
			out.Refusal += d.Delta
		case "response.reasoning_summary_text.delta":
			out.Reasoning += d.Delta
		case "response.function_call_arguments.delta":
			out.Calls[len(out.Calls)-1].Args += d.Delta
		case "error":
			out.Failed = d.Message
		case "response.completed", "response.incomplete", "response.failed":
			whole := d.Response.told(t)
			pieces := out
			out = whole
			pieces.Stop, pieces.Failed = whole.Stop, whole.Failed
			pieces.Input, pieces.Cached, pieces.Output = whole.Input, whole.Cached, whole.Output
			if diff := cmp.Diff(whole, pieces); diff != "" {
				t.Error("-whole +pieces:\n" + diff)
			}
		}
	}
	return out
}

func TestResponsesEvents(t *testing.T) {
	t.Parallel()
	c := start(t, answers)
	resp, data, err := c.postAt("/responses", at("explore", 1), askResponses(true, userItem))
	if err != nil || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v %v", resp, err)
	}
	call := " response.output_item.added response.function_call_arguments.delta response.function_call_arguments.done " +
		"response.output_item.done"
	want := "response.created response.in_progress" +
		" response.output_item.added response.reasoning_summary_part.added response.reasoning_summary_text.delta" +
		" response.reasoning_summary_text.done response.reasoning_summary_part.done response.output_item.done" +
		" response.output_item.added response.content_part.added response.output_text.delta" +
		" response.output_text.done response.content_part.done response.output_item.done" +
		call + call + call + " response.completed"
	if diff := cmp.Diff(strings.Fields(want), strings.Fields(names(named(data)))); diff != "" {
		t.Error(diff)
	}
}

// What an answer held is sent back as it came, and only so.
func TestResponsesReasoningComesBack(t *testing.T) {
	t.Parallel()
	c := start(t, `
[[reply]]
turn = 0
reasoning = "Where?"
text = "I look."
  [[reply.call]]
  name = "read"
  [[reply.call]]
  name = "read"
[[reply]]
turn = 1
text = "Done."
`)
	_, data, err := c.postAt("/responses", at("plan", 1), askResponses(false, userItem))
	var d responseDoc
	if err != nil || json.Unmarshal([]byte(data), &d) != nil || len(d.Output) != 4 {
		t.Fatalf("%v %s", err, data)
	}
	thought, text, first, second := string(d.Output[0]), string(d.Output[1]), string(d.Output[2]), string(d.Output[3])
	results := resultItem("call_plan_1_1_0_0_r") + "," + resultItem("call_plan_1_1_0_1_r")
	list := func(items ...string) string { return strings.Join(append([]string{userItem}, items...), ",") }
	tests := []struct{ name, items, want string }{
		{"as it was", list(thought, text, first, second, results), ""},
		{"without the text", list(thought, first, second, results), ""},
		{"without the reasoning", list(text, first, second, results), "Item 'fc_plan_1_1_0_0_r' of type 'function_call' " +
			"was provided without its required 'reasoning' item: 'rs_plan_1_1_0'."},
		{"reasoning after a call", list(first, thought, second, results), "'fc_plan_1_1_0_0_r' of type 'function_call' " +
			"was provided without its required"},
		{
			"reasoning alone",
			list(thought),
			"'rs_plan_1_1_0' of type 'reasoning' was provided without its required following item",
		},
		{"reasoning before the user", list(thought, userItem, first, second, results), "without its required following item"},
		{
			"not its secret",
			list(strings.Replace(thought, `"encrypted_content":"`, `"encrypted_content":"x`, 1), first, second, results),
			"The encrypted content for item rs_plan_1_1_0 could not be verified.",
		},
		{"without its secret", list(`{"type":"reasoning","id":"rs_plan_1_1_0","summary":[]}`, first, second, results), "Item " +
			"with id 'rs_plan_1_1_0' not found. Items are not persisted"},
		{"twice", list(thought, first, first, results), "Duplicate item found with id fc_plan_1_1_0_0_r"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, data, err := c.postAt("/responses", at("plan", 1), askResponses(false, tt.items))
			if err != nil || (resp.StatusCode == http.StatusOK) != (tt.want == "") || !strings.Contains(errorOf(data), tt.want) {
				t.Errorf("%v %v %s\nwant %q", resp, err, data, tt.want)
			}
			if tt.want == "" && readResponse(t, data).Text != "Done." {
				t.Errorf("another place: %s", data)
			}
		})
	}
}

func TestResponsesStrictness(t *testing.T) {
	t.Parallel()
	c := start(t, "[[reply]]\ntext = 'x'\n")
	with := func(params string, items ...string) string {
		if items == nil {
			items = []string{userItem}
		}
		return `{"model":"m",` + params + `"input":[` + strings.Join(items, ",") + `]}`
	}
	const schema = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	const tool = `{"type":"function","name":"read","description":"d","parameters":` + schema + `,"strict":true}`
	tests := []struct{ name, body, want string }{
		{"not JSON", `{"model":`, "unexpected EOF"},
		{"unknown parameter", with(`"messages":[],`), `unknown field "messages"`},
		{"no model", `{"input":"x"}`, "Missing required parameter: 'model'."},
		{"no input", `{"model":"m"}`, "Missing required parameter: 'input'."},
		{"chat's options", with(`"stream":true,"stream_options":{"include_usage":true},`), `unknown field "include_usage"`},
		{"earlier response", with(`"previous_response_id":"resp_1",`), "Previous response with id 'resp_1' not found."},
		{"small limit", with(`"max_output_tokens":15,`), "Expected a value >= 16, but got 15 instead."},
		{"include", with(`"include":["everything"],`), "Invalid value: 'everything'"},
		{"chat's tool", with(`"tools":[{"type":"function","function":{"name":"read"}}],`), `unknown field "function"`},
		{"tool name", with(`"tools":[{"type":"function","name":"a b"}],`), "Invalid 'tools[0].name'"},
		{"open schema", with(`"tools":[` + strings.Replace(tool, `,"additionalProperties":false`, "", 1) + `],`), "Invalid " +
			"schema for function 'read': In context=(), 'additionalProperties' is required"},
		{
			"optional property",
			with(`"tools":[` + strings.Replace(tool, `"required":["a"]`, `"required":[]`, 1) + `],`),
			"Missing 'a'",
		},
		{"format", with(`"text":{"format":{"type":"yaml"}},`), "Invalid value: 'yaml'"},

		{"role", with("", `{"role":"narrator","content":"x"}`), "input[0]: Invalid value: 'narrator'"},
		{"type", with("", `{"type":"sound"}`), "Invalid value: 'sound'"},
		{"reference", with("", `{"type":"item_reference","id":"rs_1"}`), "Item with id 'rs_1' not found."},
		{"field", with("", `{"role":"user","content":"x","tool_calls":[]}`), `unknown field "tool_calls"`},
		{"empty user", with("", `{"role":"user","content":""}`), "the user message has no content"},
		{"user's output", with("", strings.Replace(fullItem, "input_text", "output_text", 1)), "Invalid value: " +
			"'output_text'. Supported values are: 'input_text' and 'input_image'."},
		{"assistant's input", with("", userItem, strings.Replace(saidItem, "output_text", "input_text", 1), userItem), "Invalid " +
			"value: 'input_text'. Supported values are: 'output_text' and 'refusal'."},
		{
			"message id",
			with("", userItem, strings.Replace(saidItem, "msg_1", "m1", 1), userItem),
			"Expected an ID that begins with 'msg'.",
		},
		{"call id", with("", userItem, strings.Replace(callItem("a"), "{", `{"id":"call_a",`, 1), resultItem("a")), "Expected " +
			"an ID that begins with 'fc'."},
		{"call without arguments", with("", userItem, strings.Replace(callItem("a"), `,`+
			`"arguments":"{}"`, "", 1), resultItem("a")), "Missing required parameter: 'arguments'."},
		{
			"call unanswered",
			with("", userItem, callItem("a"), callItem("b"), resultItem("a")),
			"No tool output found for function call b.",
		},
		{"call unanswered before user", with("", userItem, callItem("a"), userItem), "No tool output found for function call a."},
		{"result of nothing", with("", userItem, resultItem("a")), "No tool call found for function call output with call_id a."},
		{"answered twice", with("", userItem, callItem("a"), resultItem("a"), resultItem("a")), "No tool call " +
			"found for function call output with call_id a."},
		{"last is assistant", with("", userItem, saidItem), "leaves nothing to answer"},
		{
			"late system",
			with("", userItem, `{"role":"developer","content":"x"}`),
			"a developer message comes after the conversation began",
		},

		{"text", `{"model":"m","input":"x"}`, ""},
		{"all that is allowed", with(`"instructions":"i","stream":false,"store":false,"include":["reasoning.encrypted_content"],`+
			`"tools":[`+tool+`],"tool_choice":"auto",`+
			`"parallel_tool_calls":true,"temperature":0.5,"max_output_tokens":99,"reasoning":{"effort":"low","summary":"auto"},`+
			`"truncation":"disabled",`+
			`"text":{"verbosity":"low","format":{"type":"json_schema","name":"v","schema":`+schema+`,"strict":true}},`+
			`"prompt_cache_key":"k","service_tier":"flex","metadata":{"a":"b"},`,
			`{"role":"developer","content":"s"}`, fullItem, saidItem, callItem("a"), callItem("b"), resultItem("b"),
			`{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"r"}]}`, `{"role":"assistant",`+
				`"content":"easy"}`, userItem), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, data, err := c.postAt("/responses", nil, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if (resp.StatusCode == http.StatusOK) != (tt.want == "") || !strings.Contains(errorOf(data), tt.want) {
				t.Errorf("got %d %s\nwant %q", resp.StatusCode, data, tt.want)
			}
		})
	}
}
