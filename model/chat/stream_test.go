package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// thought is reasoning that came as the fields of these names.
func thought(s string, names ...string) plan.Block {
	fields := map[string]json.RawMessage{}
	for _, name := range names {
		fields[name] = json.RawMessage("null")
	}
	return plan.Block{Type: plan.BlockReasoning, Text: s, Opaque: wire.Seal(chat.Name, "default", fields)}
}

// tools makes the delta of a chunk with tool call pieces.
func tools(pieces ...string) string {
	return deltaOf(`{"tool_calls":[`+strings.Join(pieces, ",")+`]}`, "")
}

func usageOf(fields string) string {
	return `{"id":"c1","model":"m-1","choices":[],"usage":{` + fields + `}}`
}

func runAnswers(t *testing.T, tests []wiretest.Answer) {
	t.Helper()
	wiretest.Answers(t, sse, func(s *wiretest.Server) *wire.Client { return clientOf(t, s) }, tests)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	hello := []plan.Block{wiretest.TextBlock("hello")}
	he, llo := deltaOf(`{"role":"assistant","content":"he"}`, ""), deltaOf(`{"content":"llo"}`, "")
	runAnswers(t, []wiretest.Answer{
		{Name: "text", Events: []string{he, llo, stopped}, Blocks: hello},
		{Name: "nothing", Events: []string{stopped}},
		{Name: "no end mark", Raw: strings.TrimSuffix(sse(he, llo, stopped), "data: [DONE]\n\n"), Blocks: hello},
		{Name: "nothing after the reason is missed", Events: []string{deltaOf(`{"content":"hello"}`, "stop")}, Blocks: hello},
		{Name: "comments between events", Raw: ": one\n\n:\n\n" + strings.ReplaceAll(sse(he, llo, stopped), "\n\n", "\n\n: "+
			"ping\n\n"), Blocks: hello},
		{Name: "carriage returns", Raw: strings.ReplaceAll(sse(he, llo, stopped), "\n", "\r\n"), Blocks: hello},
		{Name: "no space after the colon", Raw: strings.ReplaceAll(sse(he, llo, stopped), "data: ", "data:"), Blocks: hello},
		{
			Name:   "event names",
			Raw:    strings.ReplaceAll(sse(he, llo, stopped), "data: ", "event: message\nid: 4\ndata: "),
			Blocks: hello,
		},
		{Name: "byte order mark and blank lines", Raw: "\xEF\xBB\xBF\n\n" + sse(he, llo, stopped), Blocks: hello},
		{Name: "empty data", Events: []string{he, "", llo, stopped}, Blocks: hello},
		{Name: "another content type", Type: "application/json", Events: []string{he, llo, stopped}, Blocks: hello},
		{
			Name: "ids that change",
			Events: []string{
				he,
				strings.Replace(llo, `"c1"`, `"c2"`, 1),
				strings.Replace(stopped, `"c1"`, `""`, 1),
				strings.Replace(usageOf(`"prompt_tokens":5,"completion_tokens":2`), `"c1"`, `""`, 1),
			},
			Blocks: hello,
			Usage:  plan.Usage{Input: 5, Output: 2},
		},
		{Name: "a null error", Events: []string{strings.Replace(he, "{", `{"error":null,`, 1), llo, stopped}, Blocks: hello},
		{Name: "another choice", Events: []string{he, `{"choices":[{"index":1,"delta":{"content":"other"},` +
			`"finish_reason":"length"}]}`, llo, stopped}, Blocks: hello},
		{Name: "content in parts", Events: []string{deltaOf(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},`+
			`{"type":"text","text":"hello"}]}`, "stop")}, Blocks: []plan.Block{thought("hm"), wiretest.TextBlock("hello")}},
		{
			Name:   "broken UTF-8",
			Events: []string{deltaOf("{\"content\":\"a\xff\"}", "stop")},
			Blocks: []plan.Block{wiretest.TextBlock("a\uFFFD")},
		},
		{
			Name:   "a rune in two chunks",
			Late:   true,
			Events: []string{deltaOf("{\"content\":\"\xc3\"}", ""), deltaOf("{\"content\":\"\xa9\"}", "stop")},
			Blocks: []plan.Block{wiretest.TextBlock("é")},
		},
		{
			Name: "reasoning_content", Blocks: []plan.Block{
				thought("think hard", "reasoning_content"),
				wiretest.TextBlock("hello"),
			},
			Events: []string{deltaOf(`{"reasoning_content":"think "}`, ""), deltaOf(`{"content":null,`+
				`"reasoning_content":"hard"}`, ""), he, llo, stopped},
		},
		{
			Name: "reasoning", Blocks: []plan.Block{thought("think hard", "reasoning"), wiretest.TextBlock("hello")},
			Events: []string{deltaOf(`{"reasoning":"think "}`, ""), deltaOf(`{"reasoning":"hard"}`, ""), he, llo, stopped},
		},
		{
			Name: "both kinds of reasoning are the same words", Blocks: []plan.Block{
				thought("think", "reasoning", "reasoning_content"),
			},
			Events: []string{deltaOf(`{"reasoning":"think","reasoning_content":"think"}`, "stop")},
		},
		{
			Name:   "reasoning that is no text",
			Events: []string{deltaOf(`{"reasoning":{"a":1},"content":"hello"}`, "stop")},
			Blocks: hello,
		},
	})
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	text := deltaOf(`{"content":"x"}`, "")
	tool := tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}`)
	x, read := []plan.Block{wiretest.TextBlock("x")}, []plan.Block{wiretest.CallBlock("a", "read", "{}")}
	var tests []wiretest.Answer
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
		tests = append(tests, wiretest.Answer{
			Name: fmt.Sprintf(
				"%s after %d bytes",
				tt.reason,
				len(tt.first),
			), Events: []string{tt.first, deltaOf("{}", tt.reason)},
			Blocks: blocks, Stop: tt.stop, Finish: tt.finish,
		})
	}
	tests = append(tests, wiretest.Answer{
		Name: "a refusal", Events: []string{deltaOf(`{"refusal":"I will "}`, ""), deltaOf(`{"refusal":"not"}`, "stop")},
		Blocks: []plan.Block{wiretest.TextBlock("I will not")}, Stop: loop.StopRefused,
	}, wiretest.Answer{
		Name: "a refusal beside a call", Events: []string{deltaOf(`{"refusal":"No."}`, ""), tool, deltaOf("{}", "tool_calls")},
		Blocks: []plan.Block{wiretest.TextBlock("No."), read[0]}, Stop: loop.StopRefused,
	})
	runAnswers(t, tests)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	var tests []wiretest.Answer
	for _, tt := range []struct {
		name, fields string
		want         plan.Usage
	}{
		{"plain", `"prompt_tokens":10,"completion_tokens":3,"total_tokens":13`, plan.Usage{Input: 10, Output: 3}},
		{"details", `"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8},` +
			`"completion_tokens_details":{"reasoning_tokens":2}`, plan.Usage{Input: 10, Cached: 8, Output: 3, Reasoning: 2}},
		{"DeepSeek's cache", `"prompt_tokens":10,"completion_tokens":3,"prompt_cache_hit_tokens":7,` +
			`"prompt_cache_miss_tokens":3`, plan.Usage{Input: 10, Cached: 7, Output: 3}},
		{
			"null details",
			`"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":null`,
			plan.Usage{Input: 10, Output: 3},
		},
		{"nonsense", `"prompt_tokens":-4,"completion_tokens":-1,"prompt_tokens_details":{"cached_tokens":9}`, plan.Usage{}},
	} {
		tests = append(tests, wiretest.Answer{Name: tt.name, Events: []string{stopped, usageOf(tt.fields)}, Usage: tt.want})
	}
	tests = append(tests,
		wiretest.Answer{
			Name: "the last one counts",
			Events: []string{
				usageOf(`"prompt_tokens":10,"completion_tokens":1`),
				stopped,
				usageOf(`"prompt_tokens":10,"completion_tokens":4`),
			},
			Usage: plan.Usage{Input: 10, Output: 4},
		},
		wiretest.Answer{
			Name: "beside the reason",
			Events: []string{`{"model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":6,` +
				`"completion_tokens":2}}]}`},
			Usage: plan.Usage{Input: 6, Output: 2},
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
	runAnswers(t, []wiretest.Answer{{
		Name: "in one piece", Type: "application/json", Raw: "\n" + document,
		Blocks: []plan.Block{
			thought("hm", "reasoning_content"),
			wiretest.TextBlock("hello"),
			wiretest.CallBlock("call_0", "a", ""),
			wiretest.CallBlock("call_1", "a", "{}"),
		},
		Stop: loop.StopTools, Usage: plan.Usage{Input: 4, Output: 2},
	}})
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	two := []plan.Block{wiretest.CallBlock("a", "read", `{"p":1}`), wiretest.CallBlock("b", "grep", `{"q":2}`)}
	noIDs := []plan.Block{wiretest.CallBlock("call_0", "read", `{"p":1}`), wiretest.CallBlock("call_1", "grep", `{"q":2}`)}
	sameTool := []plan.Block{wiretest.CallBlock("call_0", "read", `{"p":1}`), wiretest.CallBlock("call_1", "read", `{"p":2}`)}
	extra := wiretest.CallBlock("a", "read", "{}")
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
			tools(
				`{"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`,
				`{"id":"a","function":{"name":"grep","arguments":"{\"q\":2}"}}`,
			),
		}, []plan.Block{two[0], wiretest.CallBlock("call_1", "grep", `{"q":2}`)}},
		{"one id for all, no index, a chunk each", []string{
			tools(`{"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`), tools(`{"id":"a","function":{"name":"grep",` +
				`"arguments":"{\"q\":2}"}}`),
		}, []plan.Block{two[0], wiretest.CallBlock("call_1", "grep", `{"q":2}`)}},
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
		}, []plan.Block{wiretest.CallBlock("a", "read", "{}")}},
		{"a name in pieces, with the id", []string{
			tools(`{"index":0,"id":"a","function":{"name":"re"}}`), tools(`{"index":0,"id":"a","function":{"name":"ad","arguments":"{}"}}`),
		}, []plan.Block{wiretest.CallBlock("a", "read", "{}")}},
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
		}, []plan.Block{two[0], wiretest.CallBlock("call_1", "grep", `{"q":2}`)}},
		{"arguments as they were written", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\" : 1.0,}\n"}}`),
		}, []plan.Block{wiretest.CallBlock("a", "read", "{\"p\" : 1.0,}\n")}},
		{"arguments as an object", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":{"p": 1}}}`),
		}, []plan.Block{wiretest.CallBlock("a", "read", `{"p": 1}`)}},
		{"no arguments", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read"}}`),
		}, []plan.Block{wiretest.CallBlock("a", "read", "")}},
		{"null arguments", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":null}}`),
		}, []plan.Block{wiretest.CallBlock("a", "read", "")}},
		{"what a provider adds", []string{
			tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"},` +
				`"extra_content":{"google":{"thought_signature":"<s>"}},"nothing":null}`),
			tools(`{"index":0,"more":[1]}`),
		}, []plan.Block{extra}},
		{"the old form", []string{
			deltaOf(`{"function_call":{"name":"read","arguments":""}}`, ""), deltaOf(`{"function_call":{"arguments":"{}"}}`, ""),
		}, []plan.Block{wiretest.CallBlock("call_0", "read", "{}")}},
	}
	var answers []wiretest.Answer
	for _, tt := range tests {
		answers = append(answers, wiretest.Answer{
			// A name is shown as it comes.
			Late: strings.HasPrefix(tt.name, "a name in pieces"),
			Name: tt.name, Events: append(tt.events, deltaOf("{}", "tool_calls")), Blocks: tt.blocks, Stop: loop.StopTools,
		})
	}
	runAnswers(t, answers)
}

func TestCallIDsAreUniqueInTheConversation(t *testing.T) {
	t.Parallel()
	f := wiretest.ServeText(t, "text/event-stream", sse(
		tools(`{"index":0,"id":"call_0","function":{"name":"read","arguments":"{}"}}`, `{"index":1,`+
			`"function":{"name":"read"}}`, `{"index":2,"id":"new","function":{"name":"read"}}`),
		deltaOf("{}", "tool_calls"),
	))
	req := call("hi")
	req.Messages = append(req.Messages, plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{
		wiretest.CallBlock("call_0", "read", "{}"), wiretest.CallBlock("call_2", "read", "{}"),
	}})
	for range 2 { // the same each time
		answer, err := clientOf(t, f).Generate(t.Context(), req, nil)
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
	f := wiretest.ServeText(t, "text/event-stream", sse(
		deltaOf(`{"reasoning":"hm"}`, ""), deltaOf(`{"content":"he"}`, ""), deltaOf(`{"content":"llo"}`, ""),
		tools(`{"index":0,"function":{"name":"read","arguments":""}}`), tools(`{"index":0,"function":{"arguments":"{}"}}`),
		tools(`{"index":1,"id":"b","function":{"name":"verdict","arguments":"{\"a\""}}`),
		tools(`{"index":1,"function":{"arguments":":1}"}}`),
		deltaOf("{}", "tool_calls"),
	))
	req := call("hi")
	req.Format = &loop.Format{Name: "verdict", Schema: json.RawMessage(`{}`)}
	client := clientOf(t, f, func(c *chat.Config) { c.Structured = wire.StructuredTool })
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
	blocks := []plan.Block{
		reasoning,
		wiretest.TextBlock("hello"),
		wiretest.CallBlock("call_0", "read", "{}"),
		wiretest.TextBlock(`{"a":1}`),
	}
	if diff := cmp.Diff(blocks, answer.Message.Blocks); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestFormatToolAlone(t *testing.T) {
	t.Parallel()
	f := wiretest.ServeText(t, "text/event-stream", sse(
		tools(`{"index":0,"id":"b","function":{"name":"verdict","arguments":"{\"a\":1}"}}`), deltaOf("{}", "tool_calls"),
	))
	req := call("hi")
	req.Format = &loop.Format{Name: "verdict", Schema: json.RawMessage(`{}`)}
	answer, err := clientOf(t, f, func(c *chat.Config) { c.Structured = wire.StructuredTool }).Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Stop != loop.StopEnd || answer.Message.Text() != `{"a":1}` || len(answer.Message.Calls()) != 0 {
		t.Errorf("answer = %+v", answer)
	}
}
