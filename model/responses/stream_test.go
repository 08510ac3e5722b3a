package responses_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
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
	return fmt.Sprintf(
		`{"id":%q,"type":"function_call","status":"completed","call_id":%q,"name":%q,"arguments":%q}`,
		id,
		callID,
		name,
		args,
	)
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

func thought(s string) plan.Block { return plan.Block{Type: plan.BlockReasoning, Text: s} }

// with seals fields to a block.
func with(b plan.Block, fields string) plan.Block {
	b.Opaque = sealed(fields)
	return b
}

func runAnswers(t *testing.T, tests []wiretest.Answer) {
	t.Helper()
	wiretest.Answers(t, sse, func(s *wiretest.Server) *wire.Client { return clientOf(t, s) }, tests)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	hello := []plan.Block{wiretest.TextBlock("hello")}
	begin := added("0", emptyMessage("msg_1"))
	he, llo := textDelta("msg_1", "0", "he"), textDelta("msg_1", "0", "llo")
	whole := done("0", messageItem("msg_1", "hello"))
	plain := []string{begin, he, llo, whole, completed}
	runAnswers(t, []wiretest.Answer{
		{Name: "text", Events: plain, Blocks: hello},
		{Name: "nothing", Events: []string{completed}},
		{Name: "an end mark", Raw: sse(plain...) + "data: [DONE]\n\n", Blocks: hello},
		{Name: "comments", Raw: ": one\n\n" + strings.ReplaceAll(sse(plain...), "\n\n", "\n\n: ping\n\n"), Blocks: hello},
		{Name: "carriage returns", Raw: strings.ReplaceAll(sse(plain...), "\n", "\r\n"), Blocks: hello},
		{
			Name: "only names",
			Raw: strings.ReplaceAll(
				strings.ReplaceAll(sse(plain...), `{"type":"response.output_text.delta",`, `{`),
				`{"type":"response.completed",`,
				`{`,
			),
			Blocks: hello,
		},
		{Name: "events that mean nothing", Events: append([]string{
			`{"type":"response.in_progress","response":{"status":"in_progress"}}`,
			`{"type":"response.content_part.added","part":{"type":"output_text","text":""}}`,
			`{"type":"keepalive"}`, `{"type":"response.web_search_call.searching","output_index":4}`, `null`, `{}`,
		}, plain...), Blocks: hello},
		{Name: "all of it at the end", Events: []string{ended("completed", messageItem("msg_1", "hello"))}, Blocks: hello},
		{
			Name:   "at the end once more",
			Events: []string{begin, he, llo, whole, ended("completed", messageItem("msg_1", "hello"))},
			Blocks: hello,
		},
		{
			Name:   "the rest at the end",
			Events: []string{begin, he, ended("completed", messageItem("msg_1", "hello"))},
			Blocks: hello,
		},
		{Name: "only whole items", Events: []string{whole, completed}, Blocks: hello},
		{
			Name:   "only whole items and the end mark",
			Raw:    sse(event("created", `"model":"m-1","status":"in_progress","output":[]`), whole) + "data: [DONE]\n\n",
			Blocks: hello,
		},
		{Name: "deltas alone", Events: []string{he, llo, completed}, Blocks: hello},
		{Name: "deltas before the item", Events: []string{he, llo, begin, whole, completed}, Blocks: hello},
		{
			Name:   "the whole part",
			Events: []string{begin, he, said("output_text.done", "msg_1", "0", "text", "hello"), completed},
			Blocks: hello,
		},
		{Name: "no ids", Events: []string{textDelta("", "0", "he"), textDelta("", "0", "llo"), completed}, Blocks: hello},
		{
			Name: "no ids and no indexes",
			Events: []string{
				added("", emptyMessage("")),
				textDelta("", "", "he"),
				textDelta("", "", "llo"),
				done("", messageItem("", "hello")),
				completed,
			},
			Blocks: hello,
		},
		{
			Name: "other ids in every event",
			Events: []string{
				begin,
				textDelta("x1", "0", "he"),
				textDelta("x2", "0", "llo"),
				done("0", messageItem("x3", "hello")),
				ended("completed", messageItem("x4", "hello")),
			},
			Blocks: hello,
		},
		{
			Name:   "what was said last counts",
			Events: []string{begin, he, done("0", messageItem("msg_1", "goodbye")), completed},
			Blocks: []plan.Block{wiretest.TextBlock("goodbye")},
			Late:   true,
		},
		{
			Name:   "an end without its items",
			Events: []string{begin, he, llo, whole, event("completed", `"model":"m-1","status":"completed"`)},
			Blocks: hello,
		},
		{
			Name:   "an end without a status",
			Events: []string{begin, he, llo, whole, event("completed", `"model":"m-1","usage":null`)},
			Blocks: hello,
		},
		{
			Name: "some of the items before the end",
			Events: []string{
				added("1", emptyMessage("msg_2")),
				textDelta("msg_2", "1", "two"),
				ended("completed", messageItem("msg_1", "one"), messageItem("msg_2", "two")),
			},
			Blocks: []plan.Block{wiretest.TextBlock("one"), wiretest.TextBlock("two")},
			Late:   true,
		},
		{
			Name:   "another name for the end",
			Events: []string{begin, he, llo, whole, event("done", `"model":"m-1"`)},
			Blocks: hello,
		},
		{
			Name:   "two texts",
			Events: []string{done("0", messageItem("msg_1", "one")), done("1", messageItem("msg_2", "two")), completed},
			Blocks: []plan.Block{wiretest.TextBlock("one"), wiretest.TextBlock("two")},
		},
		{
			Name:   "in the order of their numbers",
			Events: []string{done("1", messageItem("msg_2", "two")), done("0", messageItem("msg_1", "one")), completed},
			Blocks: []plan.Block{wiretest.TextBlock("one"), wiretest.TextBlock("two")},
			Late:   true,
		},
		{
			Name: "always the same number",
			Events: []string{
				added("0", emptyMessage("a")),
				textDelta("a", "0", "one"),
				done("0", messageItem("a", "one")),
				added("0", emptyMessage("b")),
				textDelta("b", "0", "two"),
				done("0", messageItem("b", "two")),
				completed,
			},
			Blocks: []plan.Block{wiretest.TextBlock("one"), wiretest.TextBlock("two")},
		},
		{
			Name: "a phase",
			Events: []string{
				done("0", strings.Replace(messageItem("msg_1", "hello"), `"role"`, `"phase":"final_answer","role"`, 1)),
				completed,
			},
			Blocks: []plan.Block{with(wiretest.TextBlock("hello"), `{"phase":"final_answer"}`)},
		},
		{
			Name: "no phase",
			Events: []string{
				done("0", strings.Replace(messageItem("msg_1", "hello"), `"role"`, `"phase":null,"role"`, 1)),
				completed,
			},
			Blocks: hello,
		},
		{
			Name: "broken UTF-8",
			Events: []string{
				begin,
				textDelta("msg_1", "0", "a") + "",
				strings.Replace(textDelta("msg_1", "0", "b"), `"b"`, "\"\xff\"", 1),
				completed,
			},
			Blocks: []plan.Block{wiretest.TextBlock("a\uFFFD")},
		},
		{
			Name:   "a rune in two pieces",
			Events: []string{begin, strings.Replace(he, "he", "\xc3", 1), strings.Replace(he, "he", "\xa9", 1), completed},
			Blocks: []plan.Block{wiretest.TextBlock("é")},
			Late:   true,
		},
		{
			Name: "items of other tools",
			Events: []string{
				done("0", `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search"}}`),
				done("1", messageItem("msg_1", "hello")),
				completed,
			},
			Blocks: hello,
		},
		{
			Name: "a document in an event",
			Raw: `data: {"object":"response","model":"m-1","status":"completed","output":[` + messageItem(
				"msg_1",
				"hello",
			) + "]}\n\n",
			Blocks: hello,
		},
		{
			Name: "a document",
			Raw: `{"object":"response","model":"m-1","status":"completed","error":null,"output":[` + messageItem(
				"msg_1",
				"hello",
			) + `]}`,
			Blocks: hello,
		},
		{
			Name:   "a document without a status",
			Raw:    `{"model":"m-1","output":[` + messageItem("msg_1", "hello") + `]}`,
			Blocks: hello,
		},
	})
}
