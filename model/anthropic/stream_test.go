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

// answerOf plays a stream to a client.
func answerOf(t *testing.T, stream string, change ...func(*loop.Call)) (loop.Answer, []loop.Delta, error) {
	t.Helper()
	f := wiretest.ServeText(t, wiretest.EventStream, stream)
	req := call("hi")
	for _, c := range change {
		c(&req)
	}
	var deltas []loop.Delta
	client := clientOf(t, f, func(c *anthropic.Config) { c.Structured = wire.StructuredTool })
	answer, err := client.Generate(t.Context(), req, func(d loop.Delta) { deltas = append(deltas, d) })
	return answer, deltas, err
}

const (
	use  = `{"type":"tool_use","id":"toolu_1","name":"read","input":{}}`
	hmm  = `{"type":"thinking","thinking":"","signature":""}`
	text = `{"type":"text","text":""}`
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	format := func(c *loop.Call) {
		c.Format = &loop.Format{Name: "verdict", Schema: json.RawMessage(`{"type":"object"}`)}
	}
	tests := []struct {
		name   string
		stream string
		change func(*loop.Call)
		want   []plan.Block
		stop   loop.StopReason
		finish string
	}{
		{
			name: "in the server's order",
			stream: begun + said(0, hmm, delta("thinking_delta", "thinking", "so "), delta("thinking_delta", "thinking", "it "+
				"is"), delta("signature_delta", "signature", "sig")) +
				said(1, `{"type":"redacted_thinking","data":"hidden"}`) + words(2, "one") +
				said(3, use, delta("input_json_delta", "partial_json", ""), delta("input_json_delta", "partial_json", `{ `+
					`"a"`), delta("input_json_delta", "partial_json", ` : 1}`)) +
				said(4, hmm, delta("signature_delta", "signature", "only")) + words(5, "two") + ended("tool_use"),
			want: []plan.Block{
				{Type: plan.BlockReasoning, Text: "so it is", Opaque: sealed("house", "signature", "sig")},
				{Type: plan.BlockReasoning, Opaque: sealed("house", "data", "hidden")},
				{Type: plan.BlockText, Text: "one"},
				{Type: plan.BlockToolCall, Call: "toolu_1", Name: "read", Args: `{ "a" : 1}`},
				{Type: plan.BlockReasoning, Opaque: sealed("house", "signature", "only")},
				{Type: plan.BlockText, Text: "two"},
			},
			stop: loop.StopTools,
		},
		{
			name: "blocks and events that are not known",
			stream: begun + said(0, `{"type":"server_tool_use","id":"s","name":"web_search",`+
				`"input":{}}`, delta("input_json_delta", "partial_json", `{"q":1}`)) +
				event("made_up", `"x":1`) + event("ping", "") +
				said(1, text, `{"type":"citations_delta","citation":{"type":"char_location",`+
					`"cited_text":"x"}}`, delta("text_delta", "text", "ok"), delta("new_delta", "x", "y")) +
				said(2, `{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`) + ended("end_turn"),
			want: []plan.Block{{Type: plan.BlockText, Text: "ok"}},
			stop: loop.StopEnd,
		},
		{
			name:   "a call without arguments",
			stream: begun + said(0, use, delta("input_json_delta", "partial_json", "")) + ended("tool_use"),
			want:   []plan.Block{{Type: plan.BlockToolCall, Call: "toolu_1", Name: "read", Args: "{}"}},
			stop:   loop.StopTools,
		},
		{
			name: "a call with its arguments at once",
			stream: begun + said(0, `{"type":"tool_use","id":"toolu_1","name":"read","input":{"a": 1.0},`+
				`"caller":{"type":"direct"}}`) + ended("tool_use"),
			want: []plan.Block{{
				Type: plan.BlockToolCall, Call: "toolu_1", Name: "read", Args: `{"a": 1.0}`,
				Opaque: json.RawMessage(`{"wire":"anthropic","provider":"house","fields":{"caller":{"type":"direct"}}}`),
			}},
			stop: loop.StopTools,
		},
		{
			name: "ids that are none",
			stream: begun + said(0, `{"type":"tool_use","id":"","name":"read","input":{}}`) + said(1, use) + said(2, use) +
				event("content_block_start", `"index":3,"content_block":{"type":"tool_use","name":"read"}`) + ended("tool_use"),
			want: []plan.Block{
				{Type: plan.BlockToolCall, Call: "call_0", Name: "read", Args: "{}"},
				{Type: plan.BlockToolCall, Call: "toolu_1", Name: "read", Args: "{}"},
				{Type: plan.BlockToolCall, Call: "call_2", Name: "read", Args: "{}"},
				{Type: plan.BlockToolCall, Call: "call_3", Name: "read", Args: "{}"},
			},
			stop: loop.StopTools,
		},
		{
			name: "blocks without a beginning",
			stream: begun + event("content_block_delta", `"index":0,"delta":`+delta("thinking_delta", "thinking", "hm")) +
				event("content_block_delta", `"index":0,"delta":`+delta("text_delta", "text", "ok")) + ended("end_turn"),
			want: []plan.Block{
				{Type: plan.BlockReasoning, Text: "hm", Opaque: sealed("house", "signature", "")},
				{Type: plan.BlockText, Text: "ok"},
			},
			stop: loop.StopEnd,
		},
		{
			name: "types in the names of events only",
			stream: strings.ReplaceAll(
				begun+said(0, `{"text":"o"}`, delta("text_delta", "text", "k"))+ended("end_turn"),
				`"type":"content_block`,
				`"x":"`,
			),
			want: []plan.Block{{Type: plan.BlockText, Text: "ok"}},
			stop: loop.StopEnd,
		},
		{
			name: "words at the beginning of a block", stream: begun + said(0, `{"type":"text",`+
				`"text":"o"}`, delta("text_delta", "text", "k")) + ended("end_turn"),
			want: []plan.Block{{Type: plan.BlockText, Text: "ok"}}, stop: loop.StopEnd,
		},
		{
			name: "the answer as a call", change: format,
			stream: begun + said(0, `{"type":"tool_use","id":"t","name":"verdict",`+
				`"input":{}}`, delta("input_json_delta", "partial_json", `{"ok":true}`)) + ended("tool_use"),
			want: []plan.Block{{Type: plan.BlockText, Text: `{"ok":true}`}}, stop: loop.StopEnd,
		},
		{name: "nothing", stream: begun + ended("end_turn"), stop: loop.StopEnd},
		{name: "nothing in a block", stream: begun + said(0, text) + said(1, hmm) + ended("end_turn"), stop: loop.StopEnd},
		{
			name: "a stop that is not explained", stream: begun + words(0, "ok") + event("message_stop", ""),
			want: []plan.Block{{Type: plan.BlockText, Text: "ok"}}, stop: loop.StopEnd,
		},
		{
			name: "no stop after the reason for it", stream: begun + words(0, "ok") + event(
				"message_delta",
				`"delta":{"stop_reason":"end_turn"}`,
			),
			want: []plan.Block{{Type: plan.BlockText, Text: "ok"}}, stop: loop.StopEnd,
		},
		{
			name: "a stop sequence", stream: begun + words(0, "ok") + ended("stop_sequence"),
			want: []plan.Block{{Type: plan.BlockText, Text: "ok"}}, stop: loop.StopEnd, finish: "stop_sequence",
		},
		{
			name: "too long", stream: begun + words(0, "ok") + ended("max_tokens"),
			want: []plan.Block{{Type: plan.BlockText, Text: "ok"}}, stop: loop.StopLength,
		},
		{
			name: "the window is full", stream: begun + words(0, "ok") + ended("model_context_window_exceeded"),
			want: []plan.Block{
				{Type: plan.BlockText, Text: "ok"},
			}, stop: loop.StopLength, finish: "model_context_window_exceeded",
		},
		{
			name: "paused", stream: begun + words(0, "ok") + ended("pause_turn"),
			want: []plan.Block{{Type: plan.BlockText, Text: "ok"}}, stop: loop.StopLength, finish: "pause_turn",
		},
		{
			name: "paused with a call", stream: begun + said(0, use) + ended("pause_turn"),
			want: []plan.Block{
				{Type: plan.BlockToolCall, Call: "toolu_1", Name: "read", Args: "{}"},
			}, stop: loop.StopTools, finish: "pause_turn",
		},
		{
			name: "refused beside a call", stream: begun + words(0, "no") + said(1, use) + ended("refusal"),
			want: []plan.Block{
				{Type: plan.BlockText, Text: "no"},
				{Type: plan.BlockToolCall, Call: "toolu_1", Name: "read", Args: "{}"},
			}, stop: loop.StopRefused,
		},
		{
			name: "refused without a word",
			stream: begun + event("message_delta", `"delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber",`+
				`"explanation":"It could do harm."}}`) +
				event("message_stop", ""),
			want: []plan.Block{{Type: plan.BlockText, Text: "It could do harm."}}, stop: loop.StopRefused,
		},
		{
			name: "in one piece",
			stream: `{"id":"m","type":"message","role":"assistant","model":"claude-1","content":[{"type":"thinking","thinking":"hm",` +
				`"signature":"sig"},{"type":"text","text":"ok"},{"type":"tool_use","id":"t","name":"read","input":{"a": 1}}],` +
				`"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":5}}`,
			want: []plan.Block{
				{Type: plan.BlockReasoning, Text: "hm", Opaque: sealed("house", "signature", "sig")},
				{Type: plan.BlockText, Text: "ok"},
				{Type: plan.BlockToolCall, Call: "t", Name: "read", Args: `{"a": 1}`},
			},
			stop: loop.StopTools,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var change []func(*loop.Call)
			if tt.change != nil {
				change = append(change, tt.change)
			}
			answer, deltas, err := answerOf(t, tt.stream, change...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, answer.Message.Blocks); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
			if answer.Stop != tt.stop || answer.Finish != tt.finish || answer.Model != "claude-1" || answer.Usage.Input != 3 {
				t.Errorf("stopped for %s (%s) with %+v", answer.Stop, answer.Finish, answer.Usage)
			}
			shown, meant := map[plan.BlockType]string{}, map[plan.BlockType]string{}
			for _, d := range deltas {
				shown[d.Kind] += d.Text
			}
			for _, b := range answer.Message.Blocks {
				meant[b.Type] += b.Text + b.Args
			}
			for kind, text := range meant {
				if shown[kind] != text {
					t.Errorf("shown of %s is %q, want %q", kind, shown[kind], text)
				}
			}
		})
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	usage := func(start, end string) string {
		return "event: message_start\ndata: " + `{"type":"message_start","message":{"model":"m","content":[],` +
			`"usage":` + start + `}}` + "\n\n" +
			words(0, "ok") + event("message_delta", `"delta":{"stop_reason":"end_turn"},"usage":`+end)
	}
	tests := []struct {
		name, start, end string
		want             plan.Usage
	}{
		{"plain", `{"input_tokens":10,"output_tokens":1}`, `{"output_tokens":7}`, plan.Usage{Input: 10, Output: 7}},
		{
			"cache, not split", `{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":20,` +
				`"output_tokens":1}`, `{"output_tokens":7}`,
			plan.Usage{Input: 130, Cached: 100, Written: 20, Output: 7},
		},
		{
			"cache, split",
			`{"input_tokens":10,"cache_creation_input_tokens":50,"cache_creation":{"ephemeral_5m_input_tokens":20,` +
				`"ephemeral_1h_input_tokens":30},"output_tokens":1}`,
			`{"output_tokens":7,"output_tokens_details":{"thinking_tokens":4}}`,
			plan.Usage{Input: 60, Written: 20, WrittenHour: 30, Output: 7, Reasoning: 4},
		},
		{
			"cache, only split", `{"cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":30}}`, `{}`,
			plan.Usage{Input: 50, Written: 20, WrittenHour: 30},
		},
		{
			"said again at the end", `{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}`, `{"input_tokens":10,` +
				`"cache_read_input_tokens":5,"output_tokens":9}`,
			plan.Usage{Input: 15, Cached: 5, Output: 9},
		},
		{"said at the end only", `{"input_tokens":0,"output_tokens":0}`, `{"input_tokens":10,"cache_read_input_tokens":5,` +
			`"output_tokens":9}`, plan.Usage{Input: 15, Cached: 5, Output: 9}},
		{
			"zero at the end",
			`{"input_tokens":10,"output_tokens":0}`,
			`{"input_tokens":0,"output_tokens":9}`,
			plan.Usage{Input: 10, Output: 9},
		},
		{"absurd", `{"input_tokens":9223372036854775807,"cache_read_input_tokens":9223372036854775807,` +
			`"output_tokens":-5}`, `{}`, plan.Usage{Input: 1e12, Cached: 1e12}},
		{"none", `null`, `null`, plan.Usage{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer, _, err := answerOf(t, usage(tt.start, tt.end))
			tt.want.Requests = 1
			if err != nil || answer.Usage != tt.want {
				t.Errorf("usage = %+v, %v, want %+v", answer.Usage, err, tt.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, stream string
		kind         loop.ErrorKind
		says         string
	}{
		{
			"overloaded",
			begun + event("error", `"error":{"type":"overloaded_error","message":"Overloaded"}`),
			loop.ErrServed,
			"Overloaded",
		},
		{
			"rate limit",
			begun + event("error", `"error":{"type":"rate_limit_error","message":"Slow down"}`),
			loop.ErrRateLimit,
			"Slow down",
		},
		{"too long", event("error", `"error":{"type":"invalid_request_error","message":"prompt is too long: `+
			`208310 tokens > 200000 maximum"}`), loop.ErrTooLong, "208310"},
		{"an error that only its name says", begun + "event: error\ndata: {\"message\":\"gone\"}\n\n", loop.ErrServed, "gone"},
		{"an error without a type", begun + "data: {\"error\":{\"message\":\"gone\"}}\n\n", loop.ErrServed, "gone"},
		{"an error as a document", `{"type":"error","error":{"type":"api_error","message":"gone"}}`, loop.ErrServed, "gone"},
		{"a document of something else", `{"hello":1}`, loop.ErrServed, "broke off"},
		{"a page", "<html><title>Login</title>", loop.ErrNotFound, "Login"},
		{"nothing", "", loop.ErrServed, "broke off"},
		{"only an end", event("message_stop", ""), loop.ErrServed, "broke off"},
		{"only an end mark", "data: [DONE]\n\n", loop.ErrServed, "broke off"},
		{"no end", begun + words(0, "ok"), loop.ErrServed, "broke off"},
		{
			"no reason",
			begun + words(0, "ok") + event("message_delta", `"delta":{"stop_reason":null}`),
			loop.ErrServed,
			"broke off",
		},
		{"arguments of no call", begun + event("content_block_delta", `"index":0,`+
			`"delta":`+delta("input_json_delta", "partial_json", "{")) + ended("tool_use"), loop.ErrServed, "did not begin"},
		{"garbage", begun + "data: {\"type\n\n", loop.ErrServed, "not an event"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := answerOf(t, tt.stream)
			if me := wiretest.ModelError(t, err, tt.kind); !strings.Contains(me.Message, tt.says) {
				t.Errorf("message = %q, want %q in it", me.Message, tt.says)
			}
		})
	}
}

// What an answer costs that breaks off is billed.
func TestUsageOfAFailure(t *testing.T) {
	t.Parallel()
	_, _, err := answerOf(t, begun+words(0, "ok"))
	if me := wiretest.ModelError(t, err, loop.ErrServed); me.Usage != (plan.Usage{Requests: 1, Input: 3, Output: 1}) {
		t.Errorf("usage = %+v", me.Usage)
	}
}

// Errors as Anthropic's server and others of its wire word them.
func TestStatuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status  int
		kind    string
		message string
		want    loop.ErrorKind
		window  int64
	}{
		{400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum", loop.ErrTooLong, 200000},
		{400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000," +
			" decrease input length or `max_tokens` and try again", loop.ErrTooLong, 200000},
		{413, "request_too_large", "Request exceeds the maximum size", loop.ErrTooLong, 0},
		{400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.", loop.ErrQuota, 0},
		{402, "billing_error", "Payment required", loop.ErrQuota, 0},
		{401, "authentication_error", "invalid x-api-key", loop.ErrAuth, 0},
		{403, "permission_error", "Your account does not have access", loop.ErrAuth, 0},
		{404, "not_found_error", "model: claude-nothing", loop.ErrNotFound, 0},
		{429, "rate_limit_error", "This request would exceed your rate limit", loop.ErrRateLimit, 0},
		{500, "api_error", "Internal server error", loop.ErrServed, 0},
		{504, "timeout_error", "Timed out", loop.ErrUnserved, 0},
		{529, "overloaded_error", "Overloaded", loop.ErrUnserved, 0},
		{
			400,
			"invalid_request_error",
			"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum",
			loop.ErrRefused,
			0,
		},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.status, " ", tt.message), func(t *testing.T) {
			t.Parallel()
			f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, _ string) {
				w.WriteHeader(tt.status)
				fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, tt.kind, tt.message)
			})
			req := call("hi")
			req.Settings = loop.Settings{Effort: "high", LongCache: true}
			_, err := clientOf(t, f).Generate(t.Context(), req, nil)
			if me := wiretest.ModelError(t, err, tt.want); me.Window != tt.window || me.Status != tt.status {
				t.Errorf("window = %d, status = %d", me.Window, me.Status)
			}
			if f.Count() != 1 {
				t.Errorf("%d requests, want 1", f.Count())
			}
		})
	}
}

// What came goes back as it came, and to no other server.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	stream := begun + said(
		0,
		hmm,
		delta("thinking_delta", "thinking", "a <b> \u2028 é\n"),
		delta("signature_delta", "signature", "EqQB+/="),
	) +
		said(1, `{"type":"redacted_thinking","data":"x+/="}`) + words(2, "Look.") +
		said(3, use, delta("input_json_delta", "partial_json", `{"n":12345678901234567890,"s":"\u00e9"}`)) + ended("tool_use")
	answer, _, err := answerOf(t, stream)
	if err != nil {
		t.Fatal(err)
	}
	req := call("hi")
	req.Messages = append(
		req.Messages,
		answer.Message,
		plan.Message{Role: plan.RoleTool, Blocks: []plan.Block{{Type: plan.BlockToolResult, Call: "toolu_1", Text: "ok"}}},
	)
	for provider, want := range map[string]string{
		"house": `{"content":[{"signature":"EqQB+/=","thinking":"a <b> \u2028 é\n","type":"thinking"},{"data":"x+/=",` +
			`"type":"redacted_thinking"},` +
			`{"text":"Look.","type":"text"},{"id":"toolu_1","input":{"n":12345678901234567890,"s":"\u00e9"},"name":"read",` +
			`"type":"tool_use"}],"role":"assistant"}`,
		"other": `{"content":[{"text":"Look.","type":"text"},{"id":"toolu_1","input":{"n":12345678901234567890,"s":"\u00e9"},` +
			`"name":"read","type":"tool_use"}],"role":"assistant"}`,
	} {
		f := wiretest.ServeText(t, wiretest.EventStream, answered)
		if _, err := clientOf(t, f, func(c *anthropic.Config) { c.Provider = provider }).Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(f.Body(t, 0), want) {
			t.Errorf("%s is sent %s\nwant %s", provider, f.Body(t, 0), want)
		}
	}
}
