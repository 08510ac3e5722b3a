package chat_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// detailsOf makes a chunk with pieces of reasoning_details.
func detailsOf(pieces ...string) string {
	return deltaOf(`{"reasoning_details":[`+strings.Join(pieces, ",")+`]}`, "")
}

// echoed answers the first request with events, and returns the assistant's
// message of the request that goes on with the answer.
func echoed(t *testing.T, whole string, events ...string) map[string]json.RawMessage {
	t.Helper()
	f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, n int, _ string) {
		if n == 0 && whole != "" {
			fmt.Fprint(w, whole)
			return
		}
		fmt.Fprint(w, sse(append(events, deltaOf(`{}`, "stop"))...))
	})
	client := clientOf(t, f)
	req := call("hi")
	answer, err := client.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, answer.Message)
	for _, c := range answer.Message.Calls() {
		req.Messages = append(req.Messages, plan.Message{
			Role:   plan.RoleTool,
			Blocks: []plan.Block{{Type: plan.BlockToolResult, Call: c.Call, Text: "ok"}},
		})
	}
	if _, err := client.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	var said []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(wiretest.Field(t, f.Body(t, 1), "messages")), &said); err != nil {
		t.Fatal(err)
	}
	return said[1]
}

// What came with an answer goes back under the name it came under.
func TestReasoningGoesBack(t *testing.T) {
	t.Parallel()
	made := tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}`)
	tests := []struct {
		name   string
		events []string
		want   map[string]string
	}{
		{
			"empty, with a call",
			[]string{deltaOf(`{"reasoning_content":""}`, ""), made},
			map[string]string{"reasoning_content": `""`},
		},
		{
			"in pieces",
			[]string{deltaOf(`{"reasoning_content":"a "}`, ""), deltaOf(`{"reasoning_content":"b"}`, ""), made},
			map[string]string{"reasoning_content": `"a b"`},
		},
		{
			"under both names",
			[]string{deltaOf(`{"reasoning_content":"a","reasoning":"a"}`, ""), made},
			map[string]string{"reasoning_content": `"a"`, "reasoning": `"a"`},
		},
		{
			"null",
			[]string{deltaOf(`{"reasoning_content":null}`, ""), made},
			map[string]string{},
		},
		{
			"details in pieces, signed at the end",
			[]string{
				detailsOf(`{"type":"reasoning.text","text":"a ","index":0,"format":"f","id":null}`),
				detailsOf(`{"type":"reasoning.text","text":"b","index":0}`),
				detailsOf(`{"type":"reasoning.text","signature":"s","index":0}`),
				made,
			},
			map[string]string{
				"reasoning_details": `[{"format":"f","id":null,"index":0,"signature":"s","text":"a b","type":"reasoning.text"}]`,
			},
		},
		{
			"two details in turn",
			[]string{
				detailsOf(`{"type":"reasoning.text","text":"a","index":0,"signature":"s"}`),
				detailsOf(`{"type":"reasoning.text","text":"b","index":0}`),
				detailsOf(`{"type":"reasoning.summary","summary":"c","index":1}`),
				made,
			},
			map[string]string{"reasoning_details": `[{"index":0,"signature":"s","text":"a","type":"reasoning.text"},` +
				`{"index":0,"text":"b","type":"reasoning.text"},{"index":1,"summary":"c","type":"reasoning.summary"}]`},
		},
		{
			"what is encrypted is not joined",
			[]string{
				detailsOf(`{"type":"reasoning.encrypted","data":"x","id":"1","index":0}`),
				detailsOf(`{"type":"reasoning.encrypted","data":"y","id":"1","index":0}`),
				made,
			},
			map[string]string{"reasoning_details": `[{"data":"x","id":"1","index":0,"type":"reasoning.encrypted"},{"data":"y","id":"1",` +
				`"index":0,"type":"reasoning.encrypted"}]`},
		},
		{
			"without a number, several at once are several",
			[]string{detailsOf(`{"type":"reasoning.summary","summary":"a"}`, `{"type":"reasoning.summary","summary":"b"}`), made},
			map[string]string{
				"reasoning_details": `[{"summary":"a","type":"reasoning.summary"},{"summary":"b","type":"reasoning.summary"}]`,
			},
		},
		{
			"details of other ids",
			[]string{
				detailsOf(`{"type":"reasoning.text","text":"a","id":"1"}`),
				detailsOf(`{"type":"reasoning.text","text":"b","id":"2"}`),
				made,
			},
			map[string]string{
				"reasoning_details": `[{"id":"1","text":"a","type":"reasoning.text"},{"id":"2","text":"b","type":"reasoning.text"}]`,
			},
		},
		{
			"details that are none",
			[]string{deltaOf(`{"reasoning_details":"x"}`, ""), deltaOf(`{"reasoning_details":[1,`+
				`null]}`, ""), deltaOf(`{"reasoning_details":{}}`, ""), made},
			map[string]string{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			for name, value := range echoed(t, "", tt.events...) {
				if strings.HasPrefix(name, "reasoning") {
					got[name] = string(value)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("what goes back (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("of a whole answer", func(t *testing.T) {
		t.Parallel()
		const list = `[{"text":"a","type":"reasoning.text"},{"text":"b","type":"reasoning.text"}]`
		said := echoed(
			t,
			`{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"c","reasoning_details":`+list+`}}]}`,
		)
		if got := string(said["reasoning_details"]); got != list {
			t.Errorf("%s goes back, want %s", got, list)
		}
	})
}

// Half a megabyte of reasoning in small pieces is put together in time.
func TestLongReasoning(t *testing.T) {
	t.Parallel()
	const pieces, piece = 4_000, "some thoughts on the matter, and at length, which say the same again and again, until they stop "
	var stream strings.Builder
	for range pieces {
		stream.WriteString("data: " + detailsOf(`{"type":"reasoning.text","text":"`+piece+`","index":0}`) + "\n\n")
	}
	stream.WriteString(sse(stopped))
	began := time.Now()
	answer, err := clientOf(t, wiretest.ServeText(t, "", stream.String())).Generate(t.Context(), call("hi"), nil)
	if err != nil || len(answer.Message.Blocks) != 1 || len(answer.Message.Blocks[0].Text) != pieces*len(piece) {
		t.Fatalf("%d blocks, %v", len(answer.Message.Blocks), err)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	if n := strings.Count(string(answer.Message.Blocks[0].Opaque), piece); n != pieces {
		t.Errorf("%d pieces go back, want %d", n, pieces)
	}
}

// <think> at the beginning of a text is reasoning, wherever the chunks are cut.
func TestThinkTags(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, said, thought, text string }{
		{"as it should be", "<think>hm</think>yes", "hm", "yes"},
		{"with white space", "\n <think>\nhm\n</think>\n\nyes", "\nhm\n", "yes"},
		{"never closed", "<think>hm and so on", "hm and so on", ""},
		{"closed twice", "<think>a</think>b</think>c", "a", "b</think>c"},
		{"in code", "use `<think>` here</think>", "", "use `<think>` here</think>"},
		{"in upper case", "<THINK>hm</THINK>yes", "", "<THINK>hm</THINK>yes"},
		{"a part of the tag", "<thin", "", "<thin"},
		{"another tag", "<thinking>hm</thinking>", "", "<thinking>hm</thinking>"},
		{"nothing in it", "<think></think>yes", "", "yes"},
		{"a closing tag that is none", "<think>a </thin> b</think>c", "a </thin> b", "c"},
	}
	for _, tt := range tests {
		for size := 1; size <= len(tt.said); size++ {
			var events []string
			for at := 0; at < len(tt.said); at += size {
				piece, err := json.Marshal(tt.said[at:min(len(tt.said), at+size)])
				if err != nil {
					t.Fatal(err)
				}
				events = append(events, deltaOf(`{"content":`+string(piece)+`}`, ""))
			}
			answer, err := clientOf(t, wiretest.ServeText(t, "", sse(append(events, stopped)...))).Generate(t.Context(), call("hi"), nil)
			if err != nil {
				t.Fatal(err)
			}
			thought := ""
			for _, b := range answer.Message.Blocks {
				if b.Type == plan.BlockReasoning {
					thought += b.Text
				}
			}
			if text := answer.Message.Text(); thought != tt.thought || text != tt.text {
				t.Errorf("%s, in pieces of %d: thought %q, said %q", tt.name, size, thought, text)
			}
		}
	}
}

// A server that never says why it stopped is believed from its second answer on;
// one that did say so once is not.
func TestEndWithoutAReason(t *testing.T) {
	t.Parallel()
	none, reason := sse(deltaOf(`{"content":"hello"}`, "")), sse(deltaOf(`{"content":"hello"}`, "stop"))
	unmarked := strings.TrimSuffix(reason, "data: [DONE]\n\n")
	half := sse(tools(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\""}}`))
	document := `{"choices":[{"index":0,"message":{"content":"hello"},"finish_reason":"stop"}]}`
	tests := []struct {
		name    string
		answers []string
		want    string // y for each answer that is taken, n for each that is not
	}{
		{"never", []string{none, none, none}, "nyy"},
		{"always", []string{reason, none, none, reason}, "ynny"},
		{"at first not", []string{none, reason, none}, "nyn"},
		{"after a reason without an end mark", []string{unmarked, none, none}, "ynn"},
		{"after a whole answer", []string{document, none, none}, "ynn"},
		{"half a call", []string{none, half, half, none}, "nnny"},
		{"nothing said", []string{none, sse(), none}, "nny"},
		{"no end mark either", []string{none, strings.TrimSuffix(none, "data: [DONE]\n\n"), none}, "nny"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			client := clientOf(t, wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, n int, _ string) {
				fmt.Fprint(w, tt.answers[n])
			}))
			got := ""
			for range tt.answers {
				_, err := client.Generate(t.Context(), call("hi"), nil)
				if err == nil {
					got += "y"
					continue
				}
				wiretest.ModelError(t, err, loop.ErrServed)
				got += "n"
			}
			if got != tt.want {
				t.Errorf("taken: %s, want %s", got, tt.want)
			}
		})
	}
}
