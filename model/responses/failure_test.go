package responses_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/responses"
	"github.com/plan-engine/plan/model/wire"
	"github.com/plan-engine/plan/model/wire/wiretest"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	begun := sse(added("0", emptyMessage("msg_1")), textDelta("msg_1", "0", "he"))
	failed := func(fields string) string { return event("failed", `"status":"failed","error":{`+fields+`}`) }
	tests := []struct {
		name, body string
		kind       loop.ErrorKind
		says       string
	}{
		{"nothing", "", loop.ErrServed, "broke off"},
		{"cut", begun, loop.ErrServed, "broke off"},
		{"cut with an end mark", begun + "data: [DONE]\n\n", loop.ErrServed, "broke off"},
		{"an end mark alone", "data: [DONE]\n\n", loop.ErrServed, "broke off"},
		{"not JSON", begun + "data: {\"type\":\n\n", loop.ErrServed, "not an event"},
		{"a web page", "<html><title>Welcome</title>", loop.ErrNotFound, "base URL"},
		{
			"failed",
			begun + sse(failed(`"code":"server_error","message":"The model failed."`)),
			loop.ErrServed,
			"The model failed.",
		},
		{
			"failed for the rate",
			sse(failed(`"code":"rate_limit_exceeded","message":"Rate limit reached. Please try again in 7s."`)),
			loop.ErrRateLimit,
			"Rate limit",
		},
		{
			"failed for the quota",
			sse(failed(`"code":"insufficient_quota","message":"You exceeded your quota."`)),
			loop.ErrQuota,
			"quota",
		},
		{
			"failed for the length",
			sse(failed(`"code":"context_length_exceeded","message":"Your input exceeds the context window."`)),
			loop.ErrTooLong,
			"window",
		},
		{
			"failed for the prompt",
			sse(failed(`"code":"invalid_prompt","message":"Your prompt was flagged."`)),
			loop.ErrFiltered,
			"flagged",
		},
		{"failed for a policy", sse(failed(`"code":"cyber_policy","message":"Not this."`)), loop.ErrFiltered, "Not this."},
		{"failed for an image", sse(failed(`"code":"invalid_image_format","message":"No image."`)), loop.ErrRefused, "No image."},
		{"failed for no reason", sse(event("failed", `"status":"failed"`)), loop.ErrServed, ""},
		{"cancelled", sse(event("cancelled", `"status":"cancelled"`)), loop.ErrServed, ""},
		{
			"an end that failed",
			sse(event("completed", `"status":"failed","error":{"code":"server_error","message":"Oh no."}`)),
			loop.ErrServed,
			"Oh no.",
		},
		{
			"an error",
			begun + sse(`{"type":"error","code":"server_error","message":"Oh no.","param":null,"sequence_number":3}`),
			loop.ErrServed,
			"Oh no.",
		},
		{
			"an error in an error",
			begun + sse(`{"type":"error","error":{"type":"server_error","message":"Oh no."}}`),
			loop.ErrServed,
			"Oh no.",
		},
		{"an error by name", begun + "event: error\ndata: {\"message\":\"Oh no.\"}\n\n", loop.ErrServed, "Oh no."},
		{
			"an error of a gateway",
			begun + sse(`{"error":{"message":"Upstream is gone.","code":502}}`),
			loop.ErrServed,
			"Upstream is gone.",
		},
		{
			"an error that is wrong for good",
			sse(`{"type":"error","error":{"type":"invalid_request_error","message":"No such thing."}}`),
			loop.ErrRefused,
			"No such thing.",
		},
		{
			"a document that failed",
			`{"object":"response","status":"failed","error":{"code":"server_error","message":"Oh no."},"output":[]}`,
			loop.ErrServed,
			"Oh no.",
		},
		{"a document that is an error", `{"error":{"message":"Oh no."}}`, loop.ErrServed, "Oh no."},
		{
			"a document that is not done",
			`{"object":"response","status":"queued","error":null,"output":[]}`,
			loop.ErrServed,
			"broke off",
		},
		{"a document that is none", `{"object":`, loop.ErrServed, "not an answer"},
		{
			"another wire",
			"data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n",
			loop.ErrServed,
			"broke off",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := clientOf(t, wiretest.ServeText(t, "text/event-stream", tt.body)).Generate(t.Context(), call("hi"), nil)
			me := wiretest.ModelError(t, err, tt.kind)
			if !strings.Contains(me.Message, tt.says) {
				t.Errorf("message = %q, want one with %q", me.Message, tt.says)
			}
			if tt.kind == loop.ErrRateLimit && me.RetryAfter != 7*time.Second {
				t.Errorf("wait = %s", me.RetryAfter)
			}
		})
	}
}

// What failed after it reported its usage is billed.
func TestFailureIsBilled(t *testing.T) {
	t.Parallel()
	body := sse(
		event(
			"failed",
			`"status":"failed","error":{"code":"server_error","message":"Oh no."},"usage":{"input_tokens":70,"output_tokens":7}`,
		),
	)
	_, err := clientOf(t, wiretest.ServeText(t, "text/event-stream", body)).Generate(t.Context(), call("hi"), nil)
	if me := wiretest.ModelError(t, err, loop.ErrServed); me.Usage != (plan.Usage{Requests: 1, Input: 70, Output: 7}) {
		t.Errorf("usage = %+v", me.Usage)
	}
}

// What cannot be read any more is also said by an event.
func TestMendedInAStream(t *testing.T) {
	t.Parallel()
	f := wiretest.Serve(t, func(w http.ResponseWriter, _ *http.Request, _ int, body string) {
		if strings.Contains(body, `"encrypted_content"`) {
			fmt.Fprint(
				w,
				sse(`{"type":"error","code":"invalid_encrypted_content","message":"The encrypted content gA could not be verified."}`),
			)
			return
		}
		fmt.Fprint(w, sse(completed))
	})
	answer, err := clientOf(t, f).Generate(t.Context(), loop.Call{Model: "m", Messages: conversation()}, nil)
	if err != nil || len(answer.Adjusted) != 1 || answer.Adjusted[0].Part != "reasoning items" {
		t.Errorf("answer = %+v, %v", answer, err)
	}
}

// What an answer came with goes back with it, in its order.
func TestCarried(t *testing.T) {
	t.Parallel()
	thinking, looking := thoughtItem("rs_1", "gA", "hm"), strings.Replace(
		messageItem("msg_1", "look"),
		`"role"`,
		`"phase":"commentary","role"`,
		1,
	)
	first, again, second := callItem(
		"fc_1",
		"a",
		"read",
		`{ "p":1}`,
	), thoughtItem("rs_2", "gB"), callItem("fc_2", "b", "read", "{}")
	f := wiretest.ServeText(
		t,
		"text/event-stream",
		sse(done("0", thinking), done("1", looking), done("2", first), done("3", again), done("4", second), completed),
	)
	client := clientOf(t, f)
	req := call("hi")
	answer, err := client.Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	results := plan.Message{Role: plan.RoleTool}
	for _, c := range answer.Message.Calls() {
		results.Blocks = append(results.Blocks, plan.Block{Type: plan.BlockToolResult, Call: c.Call, Text: "ok"})
	}
	req.Messages = append(req.Messages, answer.Message, results)
	if _, err := client.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	got := inputOf(t, f.Body(t, 1))
	for i, item := range []string{thinking, looking, first, again, second} {
		want := strings.NewReplacer(`,"status":null`, "", `,"logprobs":[]`, "").Replace(item)
		if strings.Contains(want, "function_call") {
			want = strings.Replace(want, `"status":"completed",`, "", 1)
		}
		if i+1 >= len(got) || !sameJSON(t, got[i+1], want) {
			t.Errorf("item %d of\n%s\nis not\n%s", i+1, strings.Join(got, "\n"), want)
		}
	}
	if len(got) != 8 {
		t.Errorf("%d items are sent, want 8", len(got))
	}
}

// A call of the tool for the format is the answer.
func TestFormatTool(t *testing.T) {
	t.Parallel()
	item := callItem("fc_1", "a", "verdict", `{"ok":true}`)
	f := wiretest.ServeText(t, "text/event-stream", sse(
		added(
			"0",
			strings.Replace(item, `{\"ok\":true}`, "", 1),
		), argsDelta("fc_1", "0", `{"ok"`), argsDelta("fc_1", "0", `:true}`), done("0", item), completed,
	))
	client := clientOf(t, f, func(c *responses.Config) { c.Structured = wire.StructuredTool })
	req := call("hi")
	req.Format = &verdict
	req.Tools = make([]loop.Spec, 1, 2)
	req.Tools[0] = readTool
	var shown wiretest.Shown
	answer, err := client.Generate(t.Context(), req, shown.Add)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Message.Text() != `{"ok":true}` || answer.Stop != loop.StopEnd || len(answer.Message.Calls()) != 0 {
		t.Errorf("answer = %+v", answer)
	}
	shown.Check(t, answer.Message)
	if own := req.Tools[:2][1]; own.Name != "" {
		t.Errorf("the caller's tools became %+v", own)
	}
}
