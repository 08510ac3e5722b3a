package responses_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/responses"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// answerTo feeds bytes to a client as the body of a good response.
func answerTo(t *testing.T, body string, messages ...plan.Message) (loop.Answer, error) {
	t.Helper()
	client, err := responses.New(responses.Config{Config: wire.Config{HTTP: wiretest.Always(body, nil)}})
	if err != nil {
		t.Fatal(err)
	}
	req := call("hi")
	req.Messages = append(req.Messages, messages...)
	return client.Generate(t.Context(), req, func(loop.Delta) {})
}

// wholeStream has everything in it that an answer can have.
func wholeStream() string {
	thinking := thoughtItem("rs_1", "gA", "think", "hard")
	return sse(
		event("created", `"model":"m-1","status":"in_progress","output":[]`),
		added("0", `{"id":"rs_1","type":"reasoning","summary":[]}`),
		`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"think"}`,
		done("0", thinking),
		added("1", emptyMessage("msg_1")), textDelta("msg_1", "1", "look"), said(
			"output_text.done",
			"msg_1",
			"1",
			"text",
			"look",
		), done("1", messageItem("msg_1", "look")),
		added("2", callItem("fc_1", "a", "read", "")), argsDelta("fc_1", "2", `{"p":`), argsDelta("fc_1", "2", `1}`), done(
			"2",
			callItem("fc_1", "a", "read", `{"p":1}`),
		),
		event("completed", `"model":"m-1","status":"completed","usage":{"input_tokens":3,"output_tokens":4},"output":[`+
			strings.Join([]string{thinking, messageItem("msg_1", "look"), callItem("fc_1", "a", "read", `{"p":1}`)}, ",")+`]`),
	)
}

// FuzzAnswer: whatever a server sends, there is an answer that can be stored and
// sent back, or a model error.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		wholeStream(), sse(completed), "data: [DONE]\n\n", "<html>", "event: error\ndata: x\n\n", sse(`null`), sse(`[]`), sse(`{"type":7}`),
		`{"object":"response","status":"completed","output":[` + messageItem(
			"m",
			"x",
		) + `,null,7,{},{"type":"function_call"},{"type":"reasoning","summary":7}]}`,
		sse(`{"type":"response.completed","response":7}`), sse(`{"type":"response.output_item.done","item":[]}`, completed),
		sse(argsDelta("", "", "{"), argsDelta("x", "-1", "}"), `{"type":"response.completed","response":{"usage":[]}}`),
		sse(
			done("0", `{"type":"reasoning","encrypted_content":["x"],"content":"y","summary":"z"}`),
			done("0", messageItem("m", "x")),
			completed,
		),
		sse(
			`{"type":"response.failed"}`,
		), sse(`{"error":"x"}`), "data: {\"type\":\"response.output_text.delta\",\"delta\":\"\xff\"}\n\n" + sse(completed),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		answer, err := answerTo(t, body)
		if err != nil {
			if me, ok := loop.AsModelError(err); !ok || me.Message == "" || strings.Contains(me.Message, "\n") {
				t.Errorf("error is %T %v, want a model error of one line", err, err)
			}
			return
		}
		seen := map[string]bool{}
		for _, b := range answer.Message.Blocks {
			if !utf8.ValidString(b.Text + b.Name + b.Args + b.Call + string(b.Opaque)) {
				t.Errorf("block is not text: %+v", b)
			}
		}
		for _, b := range answer.Message.Calls() {
			if b.Call == "" || seen[b.Call] {
				t.Errorf("call without an id of its own: %+v", b)
			}
			seen[b.Call] = true
		}
		if calls := len(seen) > 0; answer.Stop == loop.StopTools && !calls {
			t.Error("stopped for tools without calls")
		}
		if _, err := answerTo(t, sse(completed), answer.Message, plan.UserText("go on")); err != nil {
			t.Errorf("the answer cannot be sent back: %v", err)
		}
	})
}

// FuzzCut: a stream that is cut is a failure, or all of the answer is there.
func FuzzCut(f *testing.F) {
	whole := wholeStream()
	for n := range len(whole) {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n int) {
		if n < 0 || n > len(whole) {
			return
		}
		answer, err := answerTo(t, whole[:n])
		if err != nil {
			wiretest.ModelError(t, err, loop.ErrServed)
			return
		}
		want, err := answerTo(t, whole)
		if err != nil || !reflect.DeepEqual(answer, want) {
			t.Errorf("cut at %d of %d: answer %+v, want %+v (%v)", n, len(whole), answer, want, err)
		}
	})
}
