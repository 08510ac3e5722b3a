package chat_test

import (
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
)

func textBlock(s string) plan.Block { return plan.Block{Type: plan.BlockText, Text: s} }

// thought is reasoning that came as the fields of these names.
func thought(s string, names ...string) plan.Block {
	fields := map[string]json.RawMessage{}
	for _, name := range names {
		fields[name] = json.RawMessage("null")
	}
	return plan.Block{Type: plan.BlockReasoning, Text: s, Opaque: wire.Seal(chat.Name, "default", fields)}
}

func callBlock(id, name, args string) plan.Block {
	return plan.Block{Type: plan.BlockToolCall, Call: id, Name: name, Args: args}
}

// tools makes the delta of a chunk with tool call pieces.
func tools(pieces ...string) string {
	return deltaOf(`{"tool_calls":[`+strings.Join(pieces, ",")+`]}`, "")
}

func usageOf(fields string) string {
	return `{"id":"c1","model":"m-1","choices":[],"usage":{` + fields + `}}`
}

type answerTest struct {
	name   string
	events []string // given to sse
	raw    string   // or the whole body
	kind   string   // content type, if it matters
	blocks []plan.Block
	stop   loop.StopReason // default StopEnd
	finish string          // the server's own word
	usage  plan.Usage      // default one request
}

func runAnswers(t *testing.T, tests []answerTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			raw, kind := tt.raw, tt.kind
			if raw == "" {
				raw = sse(tt.events...)
			}
			if kind == "" {
				kind = "text/event-stream"
			}
			got, err := serveText(t, kind, raw).client(t).Generate(t.Context(), call("hi"), nil)
			if err != nil {
				t.Fatal(err)
			}
			want := loop.Answer{
				Message: plan.Message{Role: plan.RoleAssistant, Blocks: tt.blocks},
				Stop:    tt.stop, Usage: tt.usage, Model: "m-1", Finish: tt.finish,
			}
			if want.Stop == "" {
				want.Stop = loop.StopEnd
			}
			want.Usage.Requests = 1
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	hello := []plan.Block{textBlock("hello")}
	he, llo := deltaOf(`{"role":"assistant","content":"he"}`, ""), deltaOf(`{"content":"llo"}`, "")
	runAnswers(t, []answerTest{
		{name: "text", events: []string{he, llo, stopped}, blocks: hello},
		{name: "nothing", events: []string{stopped}},
		{name: "no end mark", raw: strings.TrimSuffix(sse(he, llo, stopped), "data: [DONE]\n\n"), blocks: hello},
		{name: "nothing after the reason is missed", events: []string{deltaOf(`{"content":"hello"}`, "stop")}, blocks: hello},
		{name: "comments between events", raw: ": one\n\n:\n\n" + strings.ReplaceAll(sse(he, llo, stopped), "\n\n", "\n\n: "+
			"ping\n\n"), blocks: hello},
		{name: "carriage returns", raw: strings.ReplaceAll(sse(he, llo, stopped), "\n", "\r\n"), blocks: hello},
		{name: "no space after the colon", raw: strings.ReplaceAll(sse(he, llo, stopped), "data: ", "data:"), blocks: hello},
		{name: "event names", raw: strings.ReplaceAll(sse(he, llo, stopped), "data: ", "event: message\nid: 4\ndata: "), blocks: hello},
		{name: "byte order mark and blank lines", raw: "\xEF\xBB\xBF\n\n" + sse(he, llo, stopped), blocks: hello},
		{name: "empty data", events: []string{he, "", llo, stopped}, blocks: hello},
		{name: "another content type", kind: "application/json", events: []string{he, llo, stopped}, blocks: hello},
		{name: "ids that change", events: []string{he, strings.Replace(llo, `"c1"`, `"c2"`, 1), strings.Replace(stopped, `"c1"`, `""`, 1), strings.Replace(usageOf(`"prompt_tokens":5,"completion_tokens":2`), `"c1"`, `""`, 1)}, blocks: hello, usage: plan.Usage{Input: 5, Output: 2}},
		{name: "a null error", events: []string{strings.Replace(he, "{", `{"error":null,`, 1), llo, stopped}, blocks: hello},
		{name: "another choice", events: []string{he, `{"choices":[{"index":1,"delta":{"content":"other"},` +
			`"finish_reason":"length"}]}`, llo, stopped}, blocks: hello},
		{name: "content in parts", events: []string{deltaOf(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},`+
			`{"type":"text","text":"hello"}]}`, "stop")}, blocks: []plan.Block{thought("hm"), textBlock("hello")}},
		{name: "broken UTF-8", events: []string{deltaOf("{\"content\":\"a\xff\"}", "stop")}, blocks: []plan.Block{textBlock("a\uFFFD")}},
		{name: "a rune in two chunks", events: []string{deltaOf("{\"content\":\"\xc3\"}", ""), deltaOf("{\"content\":\"\xa9\"}", "stop")}, blocks: []plan.Block{textBlock("é")}},
		{
			name: "reasoning_content", blocks: []plan.Block{thought("think hard", "reasoning_content"), textBlock("hello")},
			events: []string{deltaOf(`{"reasoning_content":"think "}`, ""), deltaOf(`{"content":null,`+
				`"reasoning_content":"hard"}`, ""), he, llo, stopped},
		},
		{
			name: "reasoning", blocks: []plan.Block{thought("think hard", "reasoning"), textBlock("hello")},
			events: []string{deltaOf(`{"reasoning":"think "}`, ""), deltaOf(`{"reasoning":"hard"}`, ""), he, llo, stopped},
		},
		{
			name: "both kinds of reasoning are the same words", blocks: []plan.Block{thought("think", "reasoning", "reasoning_content")},
			events: []string{deltaOf(`{"reasoning":"think","reasoning_content":"think"}`, "stop")},
		},
		{name: "reasoning that is no text", events: []string{deltaOf(`{"reasoning":{"a":1},"content":"hello"}`, "stop")}, blocks: hello},
	})
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	text := deltaOf(`{"content":"x"}`, "")
	tool := tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}`)
	x, read := []plan.Block{textBlock("x")}, []plan.Block{callBlock("a", "read", "{}")}
	var tests []answerTest
	for _, tt := range []struct {
		reason, first string
		stop          loop.StopReason
		finish        string
	}{
		{"stop", text, loop.StopEnd, ""},
		{"STOP", text, loop.StopEnd, ""},
		{"eos", text, loop.StopEnd, "eos"},
		{"length", text, loop.StopLength, ""},
		{"content_filter", text, loop.StopFiltered, ""},
		{"content_filter", tool, loop.StopFiltered, ""},
		{"SAFETY", tool, loop.StopFiltered, "safety"},
		{"recitation", text, loop.StopFiltered, "recitation"},
		{"refusal", tool, loop.StopRefused, ""},
		{"max_tokens", tool, loop.StopLength, "max_tokens"},
		{"because", tool, loop.StopTools, "because"}, // an unknown word says nothing against a call
		{"tool_calls", text, loop.StopEnd, ""},       // but there are none
		{"tool_calls", tool, loop.StopTools, ""},
		{"function_call", tool, loop.StopTools, ""},
		{"stop", tool, loop.StopTools, ""},
		{"length", tool, loop.StopLength, ""},
	} {
		blocks := x
		if tt.first == tool {
			blocks = read
		}
		tests = append(tests, answerTest{
			name: fmt.Sprintf("%s after %d bytes", tt.reason, len(tt.first)), events: []string{tt.first, deltaOf("{}", tt.reason)},
			blocks: blocks, stop: tt.stop, finish: tt.finish,
		})
	}
	tests = append(tests, answerTest{
		name: "a refusal", events: []string{deltaOf(`{"refusal":"I will "}`, ""), deltaOf(`{"refusal":"not"}`, "stop")},
		blocks: []plan.Block{textBlock("I will not")}, stop: loop.StopRefused,
	}, answerTest{
		name: "a refusal beside a call", events: []string{deltaOf(`{"refusal":"No."}`, ""), tool, deltaOf("{}", "tool_calls")},
		blocks: []plan.Block{textBlock("No."), read[0]}, stop: loop.StopRefused,
	})
	runAnswers(t, tests)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	var tests []answerTest
	for _, tt := range []struct {
		name, fields string
		want         plan.Usage
	}{
		{"plain", `"prompt_tokens":10,"completion_tokens":3,"total_tokens":13`, plan.Usage{Input: 10, Output: 3}},
		{"details", `"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8},` +
			`"completion_tokens_details":{"reasoning_tokens":2}`, plan.Usage{Input: 10, Cached: 8, Output: 3, Reasoning: 2}},
		{"DeepSeek's cache", `"prompt_tokens":10,"completion_tokens":3,"prompt_cache_hit_tokens":7,` +
			`"prompt_cache_miss_tokens":3`, plan.Usage{Input: 10, Cached: 7, Output: 3}},
		{"null details", `"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":null`, plan.Usage{Input: 10, Output: 3}},
		{"nonsense", `"prompt_tokens":-4,"completion_tokens":-1,"prompt_tokens_details":{"cached_tokens":9}`, plan.Usage{}},
	} {
		tests = append(tests, answerTest{name: tt.name, events: []string{stopped, usageOf(tt.fields)}, usage: tt.want})
	}
	tests = append(tests,
		answerTest{
			name:   "the last one counts",
			events: []string{usageOf(`"prompt_tokens":10,"completion_tokens":1`), stopped, usageOf(`"prompt_tokens":10,"completion_tokens":4`)},
			usage:  plan.Usage{Input: 10, Output: 4},
		},
		answerTest{
			name: "beside the reason",
			events: []string{`{"model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":6,` +
				`"completion_tokens":2}}]}`},
			usage: plan.Usage{Input: 6, Output: 2},
		},
	)
	runAnswers(t, tests)
}

func TestDocumentAnswer(t *testing.T) {
	t.Parallel()
	const document = `{"id":"x","object":"chat.completion","model":"m-1","choices":[{"index":0,"finish_reason":"stop",` +
		`"message":{"role":"assistant","content":"hello","reasoning_content":"hm","tool_calls":[{"type":"function",` +
		`"function":{"name":"a","arguments":""}},{"type":"function","function":{"name":"a","arguments":"{}"}}]}}],` +
		`"usage":{"prompt_tokens":4,"completion_tokens":2}}`
	runAnswers(t, []answerTest{{
		name: "in one piece", kind: "application/json", raw: "\n" + document,
		blocks: []plan.Block{thought("hm", "reasoning_content"), textBlock("hello"), callBlock("call_0", "a", ""), callBlock("call_1", "a", "{}")},
		stop:   loop.StopTools, usage: plan.Usage{Input: 4, Output: 2},
	}})
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	two := []plan.Block{callBlock("a", "read", `{"p":1}`), callBlock("b", "grep", `{"q":2}`)}
	noIDs := []plan.Block{callBlock("call_0", "read", `{"p":1}`), callBlock("call_1", "grep", `{"q":2}`)}
	sameTool := []plan.Block{callBlock("call_0", "read", `{"p":1}`), callBlock("call_1", "read", `{"p":2}`)}
	extra := callBlock("a", "read", "{}")
	extra.Opaque = json.RawMessage(`{"wire":"chat","provider":"default",` +
		`"fields":{"extra_content":{"google":{"thought_signature":"<s>"}},"more":[1]}}`)
	tests := []struct {
		name   string
		events []string
		blocks []plan.Block
	}{
		{"by index, interleaved", []string{
			tools(`{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}`),
			tools(`{"index":1,"id":"b","type":"function","function":{"name":"grep","arguments":"{\"q\""}}`),
			tools(`{"index":0,"function":{"arguments":"{\"p\""}}`),
			tools(`{"index":1,"function":{"arguments":":2}"}}`, `{"index":0,"function":{"arguments":":1}"}}`),
		}, two},
		{"no index, with ids", []string{
			tools(`{"id":"a","function":{"name":"read","arguments":"{\"p\""}}`),
			tools(`{"id":"a","function":{"arguments":":1}"}}`),
			tools(`{"id":"b","function":{"name":"grep","arguments":"{\"q\":2}"}}`),
		}, two},
		{"no index, an id at first only", []string{
			tools(`{"id":"a","function":{"name":"read"}}`), tools(`{"function":{"arguments":"{\"p\":1}"}}`),
			tools(`{"id":"b","function":{"name":"grep"}}`), tools(`{"function":{"arguments":"{\"q\":2}"}}`),
		}, two},
		{"no index, an id before the rest", []string{
			tools(`{"id":"a"}`), tools(`{"function":{"name":"read","arguments":"{\"p\":1}"}}`),
			tools(`{"id":"b"}`), tools(`{"function":{"name":"grep","arguments":"{\"q\":2}"}}`),
		}, two},
		{"one id for all, no index", []string{
			tools(`{"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`, `{"id":"a","function":{"name":"grep","arguments":"{\"q\":2}"}}`),
		}, []plan.Block{two[0], callBlock("call_1", "grep", `{"q":2}`)}},
		{"one id for all, no index, a chunk each", []string{
			tools(`{"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`), tools(`{"id":"a","function":{"name":"grep",` +
				`"arguments":"{\"q\":2}"}}`),
		}, []plan.Block{two[0], callBlock("call_1", "grep", `{"q":2}`)}},
		{"several pieces in one chunk", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read"}}`, `{"index":0,"function":{"arguments":"{\"p\""}}`, `{"index":0,`+
				`"function":{"arguments":":1}"}}`),
		}, two[:1]},
		{"all of them number 0", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`),
			tools(`{"index":0,"id":"b","function":{"name":"grep","arguments":"{\"q\""}}`),
			tools(`{"index":0,"function":{"arguments":":2}"}}`),
		}, two},
		{"all number 0, in one chunk", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`, `{"index":0,"id":"b",`+
				`"function":{"name":"grep","arguments":"{\"q\":2}"}}`),
		}, two},
		{"all number 0, earlier call goes on", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\""}}`),
			tools(`{"index":0,"id":"b","function":{"name":"grep","arguments":"{\"q\":2}"}}`),
			tools(`{"index":0,"id":"a","function":{"arguments":":1}"}}`),
		}, two},
		{"no ids", []string{
			tools(`{"index":0,"function":{"name":"read","arguments":"{\"p\":1}"}}`),
			tools(`{"index":1,"id":"","function":{"name":"grep","arguments":"{\"q\":2}"}}`),
		}, noIDs},
		{"neither index nor id", []string{
			tools(`{"function":{"name":"read","arguments":"{\"p\":1}"}}`), tools(`{"function":{"name":"grep","arguments":"{\"q\":2}"}}`),
		}, noIDs},
		{"neither, the same tool", []string{
			tools(`{"function":{"name":"read","arguments":"{\"p\":1}"}}`), tools(`{"function":{"name":"read","arguments":"{\"p\":2}"}}`),
		}, sameTool},
		{"neither, in one chunk", []string{
			tools(`{"function":{"name":"read","arguments":"{\"p\":1}"}}`, `{"function":{"name":"read","arguments":"{\"p\":2}"}}`),
		}, sameTool},
		{"a name in pieces", []string{
			tools(`{"index":0,"id":"a","function":{"name":"re"}}`), tools(`{"index":0,"function":{"name":"ad"}}`),
			tools(`{"index":0,"function":{"arguments":"{}"}}`),
		}, []plan.Block{callBlock("a", "read", "{}")}},
		{"a name in pieces, with the id", []string{
			tools(`{"index":0,"id":"a","function":{"name":"re"}}`), tools(`{"index":0,"id":"a","function":{"name":"ad","arguments":"{}"}}`),
		}, []plan.Block{callBlock("a", "read", "{}")}},
		{"the name in every chunk", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\""}}`),
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":":1"}}`),
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"}"}}`),
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":""}}`),
		}, two[:1]},
		{"a new id in every chunk", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\""}}`),
			tools(`{"index":0,"id":"z","function":{"arguments":":1}"}}`),
		}, two[:1]},
		{"one id for all", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`),
			tools(`{"index":1,"id":"a","function":{"name":"grep","arguments":"{\"q\":2}"}}`),
		}, []plan.Block{two[0], callBlock("call_1", "grep", `{"q":2}`)}},
		{"arguments as they were written", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\" : 1.0,}\n"}}`),
		}, []plan.Block{callBlock("a", "read", "{\"p\" : 1.0,}\n")}},
		{"arguments as an object", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":{"p": 1}}}`),
		}, []plan.Block{callBlock("a", "read", `{"p": 1}`)}},
		{"no arguments", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read"}}`),
		}, []plan.Block{callBlock("a", "read", "")}},
		{"null arguments", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":null}}`),
		}, []plan.Block{callBlock("a", "read", "")}},
		{"what a provider adds", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"},` +
				`"extra_content":{"google":{"thought_signature":"<s>"}},"nothing":null}`),
			tools(`{"index":0,"more":[1]}`),
		}, []plan.Block{extra}},
		{"the old form", []string{
			deltaOf(`{"function_call":{"name":"read","arguments":""}}`, ""), deltaOf(`{"function_call":{"arguments":"{}"}}`, ""),
		}, []plan.Block{callBlock("call_0", "read", "{}")}},
	}
	var answers []answerTest
	for _, tt := range tests {
		answers = append(answers, answerTest{
			name: tt.name, events: append(tt.events, deltaOf("{}", "tool_calls")), blocks: tt.blocks, stop: loop.StopTools,
		})
	}
	runAnswers(t, answers)
}

func TestCallIDsAreUniqueInTheConversation(t *testing.T) {
	t.Parallel()
	f := serveText(t, "text/event-stream", sse(
		tools(`{"index":0,"id":"call_0","function":{"name":"read","arguments":"{}"}}`, `{"index":1,`+
			`"function":{"name":"read"}}`, `{"index":2,"id":"new","function":{"name":"read"}}`),
		deltaOf("{}", "tool_calls"),
	))
	req := call("hi")
	req.Messages = append(req.Messages, plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{
		callBlock("call_0", "read", "{}"), callBlock("call_2", "read", "{}"),
	}})
	for range 2 { // the same each time
		answer, err := f.client(t).Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range answer.Message.Calls() {
			got = append(got, b.Call)
		}
		if diff := cmp.Diff([]string{"call_3", "call_4", "new"}, got); diff != "" {
			t.Errorf("ids (-want +got):\n%s", diff)
		}
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	f := serveText(t, "text/event-stream", sse(
		deltaOf(`{"reasoning":"hm"}`, ""), deltaOf(`{"content":"he"}`, ""), deltaOf(`{"content":"llo"}`, ""),
		tools(`{"index":0,"function":{"name":"read","arguments":""}}`), tools(`{"index":0,"function":{"arguments":"{}"}}`),
		tools(`{"index":1,"id":"b","function":{"name":"verdict","arguments":"{\"a\""}}`), tools(`{"index":1,"function":{"arguments":":1}"}}`),
		deltaOf("{}", "tool_calls"),
	))
	req := call("hi")
	req.Format = &loop.Format{Name: "verdict", Schema: json.RawMessage(`{}`)}
	client := f.client(t, func(c *chat.Config) { c.Structured = wire.StructuredTool })
	var got []loop.Delta
	answer, err := client.Generate(t.Context(), req, func(d loop.Delta) { got = append(got, d) })
	if err != nil {
		t.Fatal(err)
	}
	want := []loop.Delta{
		{Kind: plan.BlockReasoning, Text: "hm"},
		{Kind: plan.BlockText, Text: "he"},
		{Kind: plan.BlockText, Text: "llo"},
		{Kind: plan.BlockToolCall, Call: "call_0", Name: "read"},
		{Kind: plan.BlockToolCall, Call: "call_0", Name: "read", Text: "{}"},
		{Kind: plan.BlockText, Text: `{"a"`},
		{Kind: plan.BlockText, Text: `:1}`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("live (-want +got):\n%s", diff)
	}
	reasoning := thought("hm", "reasoning")
	blocks := []plan.Block{reasoning, textBlock("hello"), callBlock("call_0", "read", "{}"), textBlock(`{"a":1}`)}
	if diff := cmp.Diff(blocks, answer.Message.Blocks); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestFormatToolAlone(t *testing.T) {
	t.Parallel()
	f := serveText(t, "text/event-stream", sse(
		tools(`{"index":0,"id":"b","function":{"name":"verdict","arguments":"{\"a\":1}"}}`), deltaOf("{}", "tool_calls"),
	))
	req := call("hi")
	req.Format = &loop.Format{Name: "verdict", Schema: json.RawMessage(`{}`)}
	answer, err := f.client(t, func(c *chat.Config) { c.Structured = wire.StructuredTool }).Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Stop != loop.StopEnd || answer.Message.Text() != `{"a":1}` || len(answer.Message.Calls()) != 0 {
		t.Errorf("answer = %+v", answer)
	}
}

// roundTrip answers requests without a network.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
