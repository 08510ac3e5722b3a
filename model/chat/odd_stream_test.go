package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// The same answer, however its stream is written.
func TestOddStreams(t *testing.T) {
	t.Parallel()
	he, llo := deltaOf(`{"content":"he"}`, ""), deltaOf(`{"content":"llo"}`, "stop")
	plain := sse(he, llo)
	big := fmt.Sprintf(`{"filler":%q,%s`, strings.Repeat("x", 3<<20), he[1:])
	tests := map[string]string{
		"as usual":          plain,
		"CRLF":              strings.ReplaceAll(plain, "\n", "\r\n"),
		"a byte order mark": "\ufeff" + plain,
		"no space":          strings.ReplaceAll(plain, "data: ", "data:"),
		"data in lines":     strings.ReplaceAll(plain, `,"choices"`, ",\ndata: \"choices\""),
		"events without data": "event: ping\n\nid: 7\n\nretry: 5\n\ndata:\n\n" + strings.ReplaceAll(
			plain,
			"data:",
			"event: message\ndata:",
		),
		"comments":              ": hi\n\n" + strings.ReplaceAll(plain, "\n\n", "\n\n: OPENROUTER PROCESSING\n\n"),
		"ids that change":       sse(strings.Replace(he, `"c1"`, `""`, 1), strings.Replace(llo, `"c1"`, `"c2"`, 1)),
		"a null error":          sse(strings.Replace(he, `{"id"`, `{"error":null,"id"`, 1), llo),
		"an event of megabytes": sse(big, llo),
		"another choice":        sse(strings.Replace(he, `"index":0`, `"index":1`, 1), he, llo),
		"no choices":            sse(`{"choices":[]}`, `{"choices":null}`, `{}`, he, llo),
		"words after the end":   plain + "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"!\"}}]}\n\n",
		"a mark with more":      strings.Replace(plain, "[DONE]", "[DONE] ", 1),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := clientOf(t, wiretest.ServeText(t, "text/plain", text)).Generate(t.Context(), call("hi"), nil)
			if err != nil || answer.Message.Text() != "hello" || answer.Stop != loop.StopEnd {
				t.Errorf("answer = %+v, %v", answer, err)
			}
		})
	}
}

// Usage that comes in several chunks is counted once, and its last form counts.
func TestUsageInPieces(t *testing.T) {
	t.Parallel()
	answer, err := clientOf(t, wiretest.ServeText(t, "", sse(
		usageOf(`"prompt_tokens":9,"completion_tokens":1`),
		deltaOf(`{"content":"a"}`, "stop"),
		usageOf(`"prompt_tokens":9,"completion_tokens":4,"total_tokens":13`),
		usageOf(`"prompt_tokens":9,"completion_tokens":5,"cost":1e300`),
	))).Generate(t.Context(), call("hi"), nil)
	if u := answer.Usage; err != nil || u.Input != 9 || u.Output != 5 || u.Requests != 1 || answer.CostUSD != nil {
		t.Errorf("usage = %+v, cost %v, %v", answer.Usage, answer.CostUSD, err)
	}
}

// Hundreds of calls with gaps between their numbers, one of them a long one in
// small pieces that repeat its name.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	const calls, pieces = 300, 5_000
	var events []string
	for i := range calls {
		events = append(
			events,
			tools(fmt.Sprintf(`{"index":%d,"id":"c%d","function":{"name":"read","arguments":"{\"n\":%d}"}}`, 7*i, i, i)),
		)
	}
	events = append(events, tools(`{"index":5000,"id":"long","function":{"name":"write","arguments":"{\"text\":\""}}`))
	for range pieces {
		events = append(events, tools(`{"index":5000,"id":"long","function":{"name":"write","arguments":"some text "}}`))
	}
	events = append(
		events,
		tools(`{"index":5000,"id":"long","function":{"name":"write","arguments":"\"}"}}`),
		deltaOf("{}", "tool_calls"),
	)
	answer, err := clientOf(t, wiretest.ServeText(t, "", sse(events...))).Generate(t.Context(), call("hi"), nil)
	made := answer.Message.Calls()
	if err != nil || len(made) != calls+1 {
		t.Fatalf("%d calls, %v", len(made), err)
	}
	for i, c := range made[:calls] {
		if c.Call != fmt.Sprint("c", i) || c.Args != fmt.Sprintf(`{"n":%d}`, i) {
			t.Fatalf("call %d is %s %s", i, c.Call, c.Args)
		}
	}
	if want := `{"text":"` + strings.Repeat("some text ", pieces) + `"}`; made[calls].Args != want {
		t.Errorf("the long call has %d bytes, want %d", len(made[calls].Args), len(want))
	}
}
