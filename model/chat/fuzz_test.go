package chat_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/chat"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// answerTo feeds bytes to a client as the body of a good response.
func answerTo(t *testing.T, body string) (loop.Answer, error) {
	t.Helper()
	client, err := chat.New(chat.Config{Config: wire.Config{HTTP: wiretest.Always(body, nil)}})
	if err != nil {
		t.Fatal(err)
	}
	return client.Generate(t.Context(), call("hi"), func(loop.Delta) {})
}

// FuzzAnswer: whatever a server sends, there is an answer that can be stored
// and sent back, or a model error.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		sse(deltaOf(`{"content":"he","reasoning":"x"}`, ""), stopped, usageOf(`"prompt_tokens":1`)),
		sse(tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"},`+
			`"extra_content":{"a":1}}`, `{"function":{"name":"b","arguments":{}}}`), deltaOf("{}", "tool_calls")),
		`{"choices":[{"message":{"content":[{"text":"x"},{"thinking":[{"text":"y"}]}]},"finish_reason":"stop"}]}`,
		sse(`{"error":{"code":500}}`), "<html>", "event: error\ndata: x\n\n", sse(`null`), sse(`{"choices":null,"usage":[]}`),
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[null,1,{}]},\"finish_reason\":\"stop\"}]}\n\n",
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
			if !utf8.ValidString(b.Text + b.Name + b.Args + b.Call) {
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
	})
}

// FuzzCut: a stream that is cut before its reason for stopping is complete
// never gives an answer.
func FuzzCut(f *testing.F) {
	whole := sse(
		deltaOf(`{"role":"assistant","content":"some words"}`, ""),
		tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":"}}`),
		tools(`{"index":0,"function":{"arguments":"1}"}}`),
		deltaOf(`{}`, "tool_calls"),
	)
	end := strings.Index(whole, "tool_calls\"}]}\n\n")
	end += len("tool_calls\"}]}\n\n")
	for n := range end {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n int) {
		if n < 0 || n >= end {
			return
		}
		answer, err := answerTo(t, whole[:n])
		if err == nil {
			t.Fatalf("cut at %d of %d: answer %+v", n, end, answer)
		}
		wiretest.ModelError(t, err, loop.ErrServed)
	})
}
