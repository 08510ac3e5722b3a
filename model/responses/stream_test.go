package responses_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// The events of a stream. An id or an index that is "" is not sent.

func at(id, index string) string {
	var out string
	if id != "" {
		out += `,"item_id":"` + id + `"`
	}
	if index != "" {
		out += `,"output_index":` + index
	}
	return out
}

func added(index, item string) string {
	return `{"type":"response.output_item.added"` + at("", index) + `,"item":` + item + `}`
}

func done(index, item string) string {
	return `{"type":"response.output_item.done"` + at("", index) + `,"item":` + item + `}`
}

// said is a delta, or with the field text in place of delta, all of a part.
func said(kind, id, index, field, text string) string {
	return `{"type":"response.` + kind + `"` + at(id, index) + fmt.Sprintf(`,"content_index":0,%q:%q}`, field, text)
}

func textDelta(id, index, text string) string {
	return said("output_text.delta", id, index, "delta", text)
}

func argsDelta(id, index, text string) string {
	return said("function_call_arguments.delta", id, index, "delta", text)
}

func messageItem(id, text string) string {
	return `{"id":"` + id + `","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"` + text +
		`","annotations":[],"logprobs":[]}]}`
}

func emptyMessage(id string) string {
	return `{"id":"` + id + `","type":"message","role":"assistant","status":"in_progress","content":[]}`
}

func callItem(id, callID, name, args string) string {
	return fmt.Sprintf(`{"id":%q,"type":"function_call","status":"completed","call_id":%q,"name":%q,"arguments":%q}`, id, callID, name, args)
}

func thoughtItem(id, encrypted string, summaries ...string) string {
	var parts []string
	for _, s := range summaries {
		parts = append(parts, fmt.Sprintf(`{"type":"summary_text","text":%q}`, s))
	}
	return fmt.Sprintf(
		`{"id":%q,"type":"reasoning","summary":[%s],"encrypted_content":%q,"status":null}`,
		id,
		strings.Join(parts, ","),
		encrypted,
	)
}

func textBlock(s string) plan.Block { return plan.Block{Type: plan.BlockText, Text: s} }

func callBlock(id, name, args string) plan.Block {
	return plan.Block{Type: plan.BlockToolCall, Call: id, Name: name, Args: args}
}

func thought(s string) plan.Block { return plan.Block{Type: plan.BlockReasoning, Text: s} }

// with seals fields to a block.
func with(b plan.Block, fields string) plan.Block {
	b.Opaque = sealed(fields)
	return b
}

type answerTest struct {
	name   string
	events []string // given to sse
	raw    string   // or the whole body
	blocks []plan.Block
	stop   loop.StopReason // default StopEnd
	finish string          // the server's own word
	usage  plan.Usage      // default one request
	cost   float64
	late   bool // not all of it was shown before it ended otherwise
}

func runAnswers(t *testing.T, tests []answerTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			raw := tt.raw
			if raw == "" {
				raw = sse(tt.events...)
			}
			var shown watch
			got, err := serveText(t, "text/event-stream", raw).client(t).Generate(t.Context(), call("hi"), shown.see)
			if err != nil {
				t.Fatal(err)
			}
			want := loop.Answer{
				Message: plan.Message{Role: plan.RoleAssistant, Blocks: tt.blocks},
				Stop:    tt.stop,
				Usage:   tt.usage,
				Model:   "m-1",
				Finish:  tt.finish,
			}
			if want.Stop == "" {
				want.Stop = loop.StopEnd
			}
			if tt.cost != 0 {
				want.CostUSD = &tt.cost
			}
			want.Usage.Requests = 1
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if !tt.late {
				shown.check(t, got.Message)
			}
		})
	}
}

// watch collects what is shown of an answer.
type watch struct {
	text, reasoning string
	calls           map[string]string
}

func (w *watch) see(d loop.Delta) {
	switch d.Kind {
	case plan.BlockText:
		w.text += d.Text
	case plan.BlockReasoning:
		w.reasoning += d.Text
	case plan.BlockToolCall:
		if w.calls == nil {
			w.calls = map[string]string{}
		}
		w.calls[d.Call+" "+d.Name] += d.Text
	}
}

func (w *watch) check(t *testing.T, m plan.Message) {
	t.Helper()
	var want watch
	for _, b := range m.Blocks {
		d := loop.Delta{Kind: b.Type, Text: b.Text}
		if b.Type == plan.BlockToolCall {
			d.Text, d.Call, d.Name = b.Args, b.Call, b.Name
		}
		want.see(d)
	}
	if diff := cmp.Diff(want, *w, cmp.AllowUnexported(watch{})); diff != "" {
		t.Errorf("what was shown (-want +got):\n%s", diff)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	hello := []plan.Block{textBlock("hello")}
	begin := added("0", emptyMessage("msg_1"))
	he, llo := textDelta("msg_1", "0", "he"), textDelta("msg_1", "0", "llo")
	whole := done("0", messageItem("msg_1", "hello"))
	plain := []string{begin, he, llo, whole, completed}
	runAnswers(t, []answerTest{
		{name: "text", events: plain, blocks: hello},
		{name: "nothing", events: []string{completed}},
		{name: "an end mark", raw: sse(plain...) + "data: [DONE]\n\n", blocks: hello},
		{name: "comments", raw: ": one\n\n" + strings.ReplaceAll(sse(plain...), "\n\n", "\n\n: ping\n\n"), blocks: hello},
		{name: "carriage returns", raw: strings.ReplaceAll(sse(plain...), "\n", "\r\n"), blocks: hello},
		{
			name: "only names",
			raw: strings.ReplaceAll(
				strings.ReplaceAll(sse(plain...), `{"type":"response.output_text.delta",`, `{`),
				`{"type":"response.completed",`,
				`{`,
			),
			blocks: hello,
		},
		{name: "events that mean nothing", events: append([]string{
			`{"type":"response.in_progress","response":{"status":"in_progress"}}`,
			`{"type":"response.content_part.added","part":{"type":"output_text","text":""}}`,
			`{"type":"keepalive"}`, `{"type":"response.web_search_call.searching","output_index":4}`, `null`, `{}`,
		}, plain...), blocks: hello},
		{name: "all of it at the end", events: []string{ended("completed", messageItem("msg_1", "hello"))}, blocks: hello},
		{name: "at the end once more", events: []string{begin, he, llo, whole, ended("completed", messageItem("msg_1", "hello"))}, blocks: hello},
		{name: "the rest at the end", events: []string{begin, he, ended("completed", messageItem("msg_1", "hello"))}, blocks: hello},
		{name: "only whole items", events: []string{whole, completed}, blocks: hello},
		{
			name:   "only whole items and the end mark",
			raw:    sse(event("created", `"model":"m-1","status":"in_progress","output":[]`), whole) + "data: [DONE]\n\n",
			blocks: hello,
		},
		{name: "deltas alone", events: []string{he, llo, completed}, blocks: hello},
		{name: "deltas before the item", events: []string{he, llo, begin, whole, completed}, blocks: hello},
		{name: "the whole part", events: []string{begin, he, said("output_text.done", "msg_1", "0", "text", "hello"), completed}, blocks: hello},
		{name: "no ids", events: []string{textDelta("", "0", "he"), textDelta("", "0", "llo"), completed}, blocks: hello},
		{
			name: "no ids and no indexes",
			events: []string{
				added("", emptyMessage("")),
				textDelta("", "", "he"),
				textDelta("", "", "llo"),
				done("", messageItem("", "hello")),
				completed,
			},
			blocks: hello,
		},
		{
			name: "other ids in every event",
			events: []string{
				begin,
				textDelta("x1", "0", "he"),
				textDelta("x2", "0", "llo"),
				done("0", messageItem("x3", "hello")),
				ended("completed", messageItem("x4", "hello")),
			},
			blocks: hello,
		},
		{
			name:   "what was said last counts",
			events: []string{begin, he, done("0", messageItem("msg_1", "goodbye")), completed},
			blocks: []plan.Block{textBlock("goodbye")},
			late:   true,
		},
		{
			name:   "an end without its items",
			events: []string{begin, he, llo, whole, event("completed", `"model":"m-1","status":"completed"`)},
			blocks: hello,
		},
		{
			name:   "an end without a status",
			events: []string{begin, he, llo, whole, event("completed", `"model":"m-1","usage":null`)},
			blocks: hello,
		},
		{
			name: "some of the items before the end",
			events: []string{
				added("1", emptyMessage("msg_2")),
				textDelta("msg_2", "1", "two"),
				ended("completed", messageItem("msg_1", "one"), messageItem("msg_2", "two")),
			},
			blocks: []plan.Block{textBlock("one"), textBlock("two")},
			late:   true,
		},
		{name: "another name for the end", events: []string{begin, he, llo, whole, event("done", `"model":"m-1"`)}, blocks: hello},
		{
			name:   "two texts",
			events: []string{done("0", messageItem("msg_1", "one")), done("1", messageItem("msg_2", "two")), completed},
			blocks: []plan.Block{textBlock("one"), textBlock("two")},
		},
		{
			name:   "in the order of their numbers",
			events: []string{done("1", messageItem("msg_2", "two")), done("0", messageItem("msg_1", "one")), completed},
			blocks: []plan.Block{textBlock("one"), textBlock("two")},
			late:   true,
		},
		{
			name: "always the same number",
			events: []string{
				added("0", emptyMessage("a")),
				textDelta("a", "0", "one"),
				done("0", messageItem("a", "one")),
				added("0", emptyMessage("b")),
				textDelta("b", "0", "two"),
				done("0", messageItem("b", "two")),
				completed,
			},
			blocks: []plan.Block{textBlock("one"), textBlock("two")},
		},
		{
			name:   "a phase",
			events: []string{done("0", strings.Replace(messageItem("msg_1", "hello"), `"role"`, `"phase":"final_answer","role"`, 1)), completed},
			blocks: []plan.Block{with(textBlock("hello"), `{"phase":"final_answer"}`)},
		},
		{
			name:   "no phase",
			events: []string{done("0", strings.Replace(messageItem("msg_1", "hello"), `"role"`, `"phase":null,"role"`, 1)), completed},
			blocks: hello,
		},
		{
			name: "broken UTF-8",
			events: []string{
				begin,
				textDelta("msg_1", "0", "a") + "",
				strings.Replace(textDelta("msg_1", "0", "b"), `"b"`, "\"\xff\"", 1),
				completed,
			},
			blocks: []plan.Block{textBlock("a\uFFFD")},
		},
		{
			name:   "a rune in two pieces",
			events: []string{begin, strings.Replace(he, "he", "\xc3", 1), strings.Replace(he, "he", "\xa9", 1), completed},
			blocks: []plan.Block{textBlock("é")},
			late:   true,
		},
		{
			name: "items of other tools",
			events: []string{
				done("0", `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search"}}`),
				done("1", messageItem("msg_1", "hello")),
				completed,
			},
			blocks: hello,
		},
		{
			name:   "a document in an event",
			raw:    `data: {"object":"response","model":"m-1","status":"completed","output":[` + messageItem("msg_1", "hello") + "]}\n\n",
			blocks: hello,
		},
		{
			name:   "a document",
			raw:    `{"object":"response","model":"m-1","status":"completed","error":null,"output":[` + messageItem("msg_1", "hello") + `]}`,
			blocks: hello,
		},
		{name: "a document without a status", raw: `{"model":"m-1","output":[` + messageItem("msg_1", "hello") + `]}`, blocks: hello},
	})
}
