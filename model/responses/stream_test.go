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
	return fmt.Sprintf(`{"id":%q,"type":"reasoning","summary":[%s],"encrypted_content":%q,"status":null}`, id, strings.Join(parts, ","), encrypted)
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
		{name: "only names", raw: strings.ReplaceAll(strings.ReplaceAll(sse(plain...), `{"type":"response.output_text.delta",`, `{`), `{"type":"response.completed",`, `{`), blocks: hello},
		{name: "events that mean nothing", events: append([]string{
			`{"type":"response.in_progress","response":{"status":"in_progress"}}`, `{"type":"response.content_part.added","part":{"type":"output_text","text":""}}`,
			`{"type":"keepalive"}`, `{"type":"response.web_search_call.searching","output_index":4}`, `null`, `{}`,
		}, plain...), blocks: hello},
		{name: "all of it at the end", events: []string{ended("completed", messageItem("msg_1", "hello"))}, blocks: hello},
		{name: "at the end once more", events: []string{begin, he, llo, whole, ended("completed", messageItem("msg_1", "hello"))}, blocks: hello},
		{name: "the rest at the end", events: []string{begin, he, ended("completed", messageItem("msg_1", "hello"))}, blocks: hello},
		{name: "only whole items", events: []string{whole, completed}, blocks: hello},
		{name: "only whole items and the end mark", raw: sse(event("created", `"model":"m-1","status":"in_progress","output":[]`), whole) + "data: [DONE]\n\n", blocks: hello},
		{name: "deltas alone", events: []string{he, llo, completed}, blocks: hello},
		{name: "deltas before the item", events: []string{he, llo, begin, whole, completed}, blocks: hello},
		{name: "the whole part", events: []string{begin, he, said("output_text.done", "msg_1", "0", "text", "hello"), completed}, blocks: hello},
		{name: "no ids", events: []string{textDelta("", "0", "he"), textDelta("", "0", "llo"), completed}, blocks: hello},
		{name: "no ids and no indexes", events: []string{added("", emptyMessage("")), textDelta("", "", "he"), textDelta("", "", "llo"), done("", messageItem("", "hello")), completed}, blocks: hello},
		{name: "other ids in every event", events: []string{begin, textDelta("x1", "0", "he"), textDelta("x2", "0", "llo"), done("0", messageItem("x3", "hello")), ended("completed", messageItem("x4", "hello"))}, blocks: hello},
		{name: "what was said last counts", events: []string{begin, he, done("0", messageItem("msg_1", "goodbye")), completed}, blocks: []plan.Block{textBlock("goodbye")}, late: true},
		{name: "an end without its items", events: []string{begin, he, llo, whole, event("completed", `"model":"m-1","status":"completed"`)}, blocks: hello},
		{name: "an end without a status", events: []string{begin, he, llo, whole, event("completed", `"model":"m-1","usage":null`)}, blocks: hello},
		{name: "another name for the end", events: []string{begin, he, llo, whole, event("done", `"model":"m-1"`)}, blocks: hello},
		{name: "two texts", events: []string{done("0", messageItem("msg_1", "one")), done("1", messageItem("msg_2", "two")), completed}, blocks: []plan.Block{textBlock("one"), textBlock("two")}},
		{name: "in the order of their numbers", events: []string{done("1", messageItem("msg_2", "two")), done("0", messageItem("msg_1", "one")), completed}, blocks: []plan.Block{textBlock("one"), textBlock("two")}, late: true},
		{name: "always the same number", events: []string{added("0", emptyMessage("a")), textDelta("a", "0", "one"), done("0", messageItem("a", "one")), added("0", emptyMessage("b")), textDelta("b", "0", "two"), done("0", messageItem("b", "two")), completed}, blocks: []plan.Block{textBlock("one"), textBlock("two")}},
		{name: "a phase", events: []string{done("0", strings.Replace(messageItem("msg_1", "hello"), `"role"`, `"phase":"final_answer","role"`, 1)), completed}, blocks: []plan.Block{with(textBlock("hello"), `{"phase":"final_answer"}`)}},
		{name: "no phase", events: []string{done("0", strings.Replace(messageItem("msg_1", "hello"), `"role"`, `"phase":null,"role"`, 1)), completed}, blocks: hello},
		{name: "broken UTF-8", events: []string{begin, textDelta("msg_1", "0", "a") + "", strings.Replace(textDelta("msg_1", "0", "b"), `"b"`, "\"\xff\"", 1), completed}, blocks: []plan.Block{textBlock("a\uFFFD")}},
		{name: "a rune in two pieces", events: []string{begin, strings.Replace(he, "he", "\xc3", 1), strings.Replace(he, "he", "\xa9", 1), completed}, blocks: []plan.Block{textBlock("é")}, late: true},
		{name: "items of other tools", events: []string{done("0", `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search"}}`), done("1", messageItem("msg_1", "hello")), completed}, blocks: hello},
		{name: "a document in an event", raw: `data: {"object":"response","model":"m-1","status":"completed","output":[` + messageItem("msg_1", "hello") + "]}\n\n", blocks: hello},
		{name: "a document", raw: `{"object":"response","model":"m-1","status":"completed","error":null,"output":[` + messageItem("msg_1", "hello") + `]}`, blocks: hello},
		{name: "a document without a status", raw: `{"model":"m-1","output":[` + messageItem("msg_1", "hello") + `]}`, blocks: hello},
	})
}

func TestCalls(t *testing.T) {
	t.Parallel()
	open := strings.Replace(callItem("fc_1", "a", "read", ""), "completed", "in_progress", 1)
	whole := callItem("fc_1", "a", "read", `{"p":1}`)
	read := []plan.Block{callBlock("a", "read", `{"p":1}`)}
	first, second := argsDelta("fc_1", "0", `{"p"`), argsDelta("fc_1", "0", `:1}`)
	of := func(name string, blocks []plan.Block, events ...string) answerTest {
		return answerTest{name: name, blocks: blocks, events: events, stop: loop.StopTools}
	}
	runAnswers(t, []answerTest{
		of("streamed", read, added("0", open), first, second, done("0", whole), completed),
		of("and whole at the end", read, added("0", open), first, second, done("0", whole), ended("completed", whole)),
		of("only done", read, done("0", whole), completed),
		of("only at the end", read, ended("completed", whole)),
		of("arguments only in their end", read, added("0", open), said("function_call_arguments.done", "fc_1", "0", "arguments", `{"p":1}`), completed),
		of("no end of the item", read, added("0", open), first, second, completed),
		of("deltas before the item", read, first, second, done("0", whole), completed),
		of("deltas alone, and then all", read, first, second, ended("completed", whole)),
		of("arguments that are an object", read, done("0", strings.Replace(whole, `"{\"p\":1}"`, `{"p":1}`, 1)), completed),
		of("no arguments", []plan.Block{callBlock("a", "read", "")}, added("0", open), done("0", open), completed),
		of("no call id", []plan.Block{callBlock("fc_1", "read", `{"p":1}`)}, added("0", strings.Replace(open, `"call_id":"a",`, "", 1)), first, done("0", strings.Replace(whole, `"call_id":"a",`, "", 1)), completed),
		of("no id at all", []plan.Block{callBlock("call_0", "read", `{"p":1}`)}, done("", strings.NewReplacer(`"call_id":"a",`, "", `"id":"fc_1",`, "").Replace(whole)), completed),
		of("the same id twice", []plan.Block{callBlock("a", "read", `{"p":1}`), callBlock("call_1", "read", "{}")}, done("0", whole), done("1", callItem("fc_2", "a", "read", "{}")), completed),
		of("side by side", []plan.Block{callBlock("a", "read", `{"p":1}`), callBlock("b", "bash", `{"c":2}`)},
			added("0", open), added("1", callItem("fc_2", "b", "bash", "")), argsDelta("fc_2", "1", `{"c"`), first, second, argsDelta("fc_2", "1", `:2}`), completed),
		of("without numbers", []plan.Block{callBlock("a", "read", `{"p":1}`), callBlock("b", "bash", `{"c":2}`)},
			added("", open), argsDelta("fc_1", "", `{"p":1}`), added("", callItem("fc_2", "b", "bash", "")), argsDelta("fc_2", "", `{"c":2}`), completed),
		of("a text first", []plan.Block{textBlock("look"), callBlock("a", "read", `{"p":1}`)}, done("0", messageItem("msg_1", "look")), done("1", whole), completed),
		of("what the server adds", []plan.Block{with(callBlock("a", "read", `{"p":1}`), `{"caller":{"type":"direct"},"namespace":"n"}`)},
			done("0", strings.Replace(whole, `"name"`, `"caller":{"type":"direct"},"namespace":"n","created_by":null,"name"`, 1)), completed),
	})
}

func TestReasoning(t *testing.T) {
	t.Parallel()
	open := `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"half"}`
	whole := thoughtItem("rs_1", "gA", "think", "hard")
	kept := `{"encrypted_content":"gA","id":"rs_1","summary":[{"type":"summary_text","text":"think"},{"type":"summary_text","text":"hard"}]}`
	hm := with(thought("think\n\nhard"), kept)
	part := func(n int, text string) string {
		return fmt.Sprintf(`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":%d,"delta":%q}`, n, text)
	}
	runAnswers(t, []answerTest{
		{name: "streamed", blocks: []plan.Block{hm}, events: []string{added("0", open), part(0, "thi"), part(0, "nk"), part(1, "ha"), part(1, "rd"), done("0", whole), completed}},
		{name: "only at the end", blocks: []plan.Block{hm}, events: []string{ended("completed", whole)}},
		{name: "without a summary", blocks: []plan.Block{with(thought(""), `{"encrypted_content":"gA","id":"rs_1","summary":[]}`)}, events: []string{added("0", open), done("0", thoughtItem("rs_1", "gA")), completed}},
		{name: "what began is not kept", blocks: []plan.Block{thought("think")}, events: []string{added("0", open), part(0, "think"), completed}},
		{name: "a summary alone is not kept", blocks: []plan.Block{thought("think")}, events: []string{done("0", `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"think"}],"encrypted_content":null}`), completed}},
		{name: "the end has left it out", blocks: []plan.Block{hm}, events: []string{done("0", whole), ended("completed", `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":null}`)}},
		{name: "in the open", blocks: []plan.Block{with(thought("think"), `{"content":[{"type":"reasoning_text","text":"think"}],"id":"rs_1","summary":[]}`)}, events: []string{
			said("reasoning_text.delta", "rs_1", "0", "delta", "think"), done("0", `{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"think"}]}`), completed,
		}},
		{
			name: "the ids of what it led to", stop: loop.StopTools,
			events: []string{done("0", whole), done("1", messageItem("msg_1", "look")), done("2", thoughtItem("rs_2", "gB")), done("3", callItem("fc_1", "a", "read", "{}")), done("4", callItem("item/2", "b", "read", "{}")), completed},
			blocks: []plan.Block{
				hm, with(textBlock("look"), `{"id":"msg_1"}`), with(thought(""), `{"encrypted_content":"gB","id":"rs_2","summary":[]}`),
				with(callBlock("a", "read", "{}"), `{"id":"fc_1"}`), callBlock("b", "read", "{}"),
			},
		},
	})
}
