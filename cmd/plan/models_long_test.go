package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/model/scripted"
)

// longWindow is a window that the first requests of a run fit, in tokens, and
// that what is read in longReplies does not.
const longWindow = 14_000

// longFiles puts files into the repository of which two fill the window.
func longFiles(h *modelHome) {
	h.t.Helper()
	files := map[string]string{}
	for i := range 4 {
		var b strings.Builder
		for n := range 400 {
			fmt.Fprintf(&b, "file %d has line %d, which says nothing new\n", i, n)
		}
		files[fmt.Sprintf("long%d.txt", i)] = b.String()
	}
	write(h.t, filepath.Join(h.dir, "repo"), files)
	git(h.t, filepath.Join(h.dir, "repo"), "add", "-A")
	git(h.t, filepath.Join(h.dir, "repo"), "commit", "-q", "-m", "long files")
}

// longReplies are the usual ones of an explorer who reads all of the long files.
func longReplies() []scripted.Reply {
	var out []scripted.Reply
	for i := range 4 {
		out = append(out, scripted.Reply{
			Phase: "explore", User: 1, Turn: at(i), Reasoning: "It may stand there.",
			Calls: []scripted.Call{reads(fmt.Sprintf("long%d.txt", i))},
		})
	}
	out = append(out, scripted.Reply{Phase: "compact", Text: "Long files were read; they say nothing new."})
	return append(out, usualReplies()[1:]...)
}

// longCase is a server and its words for a request that is too long.
type longCase struct {
	name   string
	wire   string
	words  scripted.TooLong
	field  string // in which the list of models has the window
	set    string // of the settings
	learnt string // how the window became known; "" where it was known before
	whole  bool   // go on to the approval
}

func longCases() []longCase {
	return []longCase{
		{
			name: "OpenAI", wire: "chat", learnt: plan.WindowSaid, whole: true,
		},
		{
			name: "Gemini", wire: "chat", learnt: plan.WindowSaid,
			words: scripted.TooLong{Body: `[{"error":{"code":400,"message":"The input token count ({sent}) exceeds ` +
				`the maximum number of tokens allowed ({window}).","status":"INVALID_ARGUMENT"}}]`},
		},
		{
			name: "Moonshot", wire: "chat", learnt: plan.WindowSaid,
			words: scripted.TooLong{Words: "Invalid request: Your request exceeded model token limit: {window}"},
		},
		{
			name: "Z.ai, without a number", wire: "chat", learnt: plan.WindowGuessed,
			words: scripted.TooLong{Body: `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`},
		},
		{
			name: "vLLM", wire: "chat", learnt: plan.WindowSaid,
			words: scripted.TooLong{Body: `{"object":"error","message":"This model's maximum context length is {window} tokens. However,` +
				` your request has {sent} input tokens. Please reduce the length of the input messages.","type":"BadRequestError",` +
				`"param":null,"code":400}`},
		},
		{
			name: "TGI", wire: "chat", learnt: plan.WindowSaid,
			words: scripted.TooLong{Status: 422, Body: "{\"error\":\"Input validation error: `inputs` tokens " +
				"+ `max_new_tokens` must be <= {window}. Given: {sent} `inputs` tokens\",\"error_type\":\"validation\"}"},
		},
		{
			name: "a gateway with 413", wire: "chat", learnt: plan.WindowGuessed,
			words: scripted.TooLong{Status: 413, Body: "<html><title>413 Request Entity Too Large</title></html>"},
		},
		{
			name: "OpenAI's Responses", wire: "responses", learnt: plan.WindowGuessed, whole: true,
		},
		{
			name: "Anthropic", wire: "anthropic", learnt: plan.WindowSaid, whole: true,
		},
		{
			name: "LiteLLM", wire: "chat", learnt: plan.WindowSaid,
			words: scripted.TooLong{Words: "litellm.ContextWindowExceededError: litellm.BadRequestError: This " +
				"model's maximum context length is {window} tokens."},
		},
		{
			name: "the list of models has it", wire: "chat", field: "max_model_len",
			words: scripted.TooLong{Words: "It is too long."},
		},
		{
			name: "the settings have it", wire: "chat",
			set: fmt.Sprintf("[models.\"x/scripted\"]\nwindow = %d\n", longWindow),
		},
	}
}

// TestTooLong: whatever the server's words, a conversation that does not fit is
// made shorter and goes on, also where nothing was known of the window.
func TestTooLong(t *testing.T) {
	t.Parallel()
	for _, c := range sampledHalf(t, longCases()) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newModelHome(t)
			longFiles(h)
			h.serve("x", &scripted.Scenario{
				Server:  scripted.Gateway{Window: longWindow, TooLong: c.words, WindowField: c.field},
				Replies: longReplies(),
			})
			h.settings("model = \"x/scripted\"\n" + c.set + providerTable("x", c.wire))
			var p played
			if c.whole {
				p = h.run()
				p.approved()
			} else {
				p = h.run("--plan-only")
				p.planned()
			}
			starts, ends := bodiesOf[plan.CompactionStart](p), bodiesOf[plan.CompactionEnd](p)
			if len(starts) == 0 || len(starts) != len(ends) || starts[0].Learnt != c.learnt {
				t.Fatalf("%+v began, %d ended\n%s", starts, len(ends), p.shown)
			}
			known := starts[0].Window == longWindow
			if c.learnt == plan.WindowGuessed {
				known = longWindow < starts[0].Window && starts[0].Window < starts[0].Tokens
			}
			shorter := slices.ContainsFunc(ends, func(e plan.CompactionEnd) bool { return e.After < e.Before })
			refused := len(bodiesOf[plan.Retry](p)) > 0
			if !known || !shorter || refused != (c.learnt != "") {
				t.Errorf("%+v, shorter: %v, refused: %v", starts, shorter, refused)
			}
		})
	}
}

// TestSilentCut: a server that reads less than it was sent is noticed, and that
// is said once a conversation.
func TestSilentCut(t *testing.T) {
	t.Parallel()
	h := newModelHome(t)
	longFiles(h)
	h.serve("x", &scripted.Scenario{
		Server:  scripted.Gateway{Truncates: 4096},
		Replies: longReplies(),
	})
	h.settings("model = \"x/m\"\n" + providerTable("x", "chat"))
	p := h.run("--plan-only")
	p.planned()
	cuts := bodiesOf[plan.Adjusted](p)
	if len(cuts) != 1 || cuts[0].Part != plan.PartContext || !strings.Contains(cuts[0].Why, "the server read 4,096 of about ") {
		t.Errorf("%+v", cuts)
	}
	if told := h.plan("show", string(p.events[0].Run)).out; !strings.Contains(told, "the server read 4,096 of about ") {
		t.Errorf("people are not told:\n%s", told)
	}
}
