package anthropic_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/anthropic"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

// fed plays bytes to a client as the body of a good response, and returns what
// the next request would say.
func fed(t *testing.T, body string, messages []plan.Message) (answer loop.Answer, sent string, err error) {
	t.Helper()
	keep := func(_ *http.Request, body string) { sent = body }
	client, err := anthropic.New(anthropic.Config{Config: wire.Config{HTTP: wiretest.Always(body, keep)}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err = client.Generate(t.Context(), loop.Call{Model: "m", Messages: messages}, func(loop.Delta) {})
	return answer, sent, err
}

// whole is an answer with everything in it.
var whole = begun +
	said(0, hmm, delta("thinking_delta", "thinking", "so"), delta("signature_delta", "signature", "sig")) +
	said(1, `{"type":"redacted_thinking","data":"hidden"}`) +
	words(2, "some words") +
	said(3, use, delta("input_json_delta", "partial_json", `{"p":`), delta("input_json_delta", "partial_json", `1}`)) +
	ended("tool_use")

// FuzzAnswer: whatever a server sends, there is an answer that can be stored and
// sent back, or a model error.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		whole, answered, begun, "", "<html>", "data: null\n\n", "data: 1\n\n", "data: {}\n\n", "event: error\ndata: x\n\n",
		`{"type":"message","content":[{"type":"text","text":"x"},{"type":"tool_use","input":[1]},{"type":"thinking"}],` +
			`"stop_reason":"end_turn","usage":[]}`,
		begun + event("content_block_start", `"index":0,"content_block":null`) + ended("x"),
		begun + event("content_block_start", `"index":"a","content_block":[1]`) + event("content_block_delta", `"index":-1,`+
			`"delta":[]`) + ended("refusal"),
		begun + said(0, `{"type":"tool_use","id":7,"name":null,"input":"text","caller":"x"}`) + ended("tool_use"),
		event(
			"message_delta",
			`"delta":{"stop_reason":"refusal","stop_details":{"explanation":"x"}},"usage":{"output_tokens":1e99}`,
		),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		said := []plan.Message{plan.UserText("hi")}
		answer, _, err := fed(t, body, said)
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
			if b.Opaque != nil && !json.Valid(b.Opaque) {
				t.Errorf("what goes back is no JSON: %s", b.Opaque)
			}
			if b.Type != plan.BlockToolCall {
				continue
			}
			if b.Call == "" || seen[b.Call] {
				t.Errorf("call without an id of its own: %+v", b)
			}
			seen[b.Call] = true
		}
		if answer.Stop == loop.StopTools && len(seen) == 0 {
			t.Error("stopped for tools without calls")
		}
		if u := answer.Usage; u.Input < 0 || u.Output < 0 || u.Written < 0 || u.Cached > u.Input {
			t.Errorf("usage = %+v", u)
		}
		_, sent, _ := fed(t, "", append(said, answer.Message))
		checkRequest(t, sent)
	})
}

// checkRequest holds a request against what the server demands of every one.
func checkRequest(t *testing.T, body string) {
	t.Helper()
	var req struct {
		Messages []struct {
			Role    string `json:"role"`
			Content []struct {
				Type  string          `json:"type"`
				Text  string          `json:"text"`
				ID    string          `json:"id"`
				Name  string          `json:"name"`
				Input json.RawMessage `json:"input"`
			} `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(body), &req); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for i, m := range req.Messages {
		if len(m.Content) == 0 || i == 0 && m.Role != "user" {
			t.Errorf("message %d of %s", i, body)
		}
		for j, b := range m.Content {
			switch {
			case b.Type == "text" && strings.TrimSpace(b.Text) == "",
				b.Type == "tool_use" && (!strings.HasPrefix(string(b.Input), "{") || b.ID == "" || b.Name == "" ||
					strings.Trim(b.ID+b.Name, letters) != ""),
				strings.HasSuffix(b.Type, "thinking") && j == len(m.Content)-1:
				t.Errorf("block %d of message %d of %s", j, i, body)
			}
		}
	}
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// FuzzCut: a stream that is cut before its reason for stopping never gives an
// answer, and one that is cut later gives the same.
func FuzzCut(f *testing.F) {
	end := strings.Index(whole, `"stop_reason"`)
	for n := range len(whole) {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n int) {
		if n < 0 || n > len(whole) {
			return
		}
		want, _, err := fed(t, whole, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, _, err := fed(t, whole[:n], nil)
		switch {
		case err != nil:
			wiretest.ModelError(t, err, loop.ErrServed)
		case n < end:
			t.Fatalf("cut at %d of %d: answer %+v", n, end, answer)
		case !reflect.DeepEqual(want, answer):
			t.Fatalf("cut at %d: %+v, want %+v", n, answer, want)
		}
	})
}

// FuzzMessages: whatever a conversation holds, the request is one that the server
// can take.
func FuzzMessages(f *testing.F) {
	f.Add("hi", "reading", "call|1", "fs.read", `{"a":1}`, "result", true)
	f.Add("", " ", "", "", "", "", true)
	f.Add("\xff", "\n", "\xff", "\xff", "\xff{", "\xff", false)
	f.Fuzz(func(t *testing.T, user, text, id, name, args, result string, failed bool) {
		_, sent, _ := fed(t, "", []plan.Message{
			plan.UserText(user),
			{Role: plan.RoleAssistant, Blocks: []plan.Block{
				{Type: plan.BlockReasoning, Text: text, Opaque: sealed("default", "signature", text)},
				{Type: plan.BlockText, Text: text},
				{Type: plan.BlockToolCall, Call: id, Name: name, Args: args},
				{Type: plan.BlockReasoning, Text: text, Opaque: sealed("default", "data", text)},
			}},
			{Role: plan.RoleTool, Blocks: []plan.Block{{Type: plan.BlockToolResult, Call: id, Text: result, Error: failed}}},
		})
		checkRequest(t, sent)
	})
}
