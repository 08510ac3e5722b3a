package record_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/record"
)

const twoPhases = `
name = "two conversations"
[[reply]]
phase = "explore"
turn = 0
reasoning = "Where is it? I look."
text = "I look."
  [[reply.call]]
  name = "read"
  args = { path = "a.go" }
  [reply.fault]
  kind = "status"
  status = 429
  retry_after = "2"
  times = 2
[[reply]]
phase = "explore"
turn = 1
text = "It is in a.go, in the second function from the top."
usage = { input = 900, cached = 640, output = 12 }
[[reply]]
phase = "review"
user = 1
text = "Not yet."
[[reply]]
phase = "review"
user = 2
text = "Now it is."
`

// What is played is what was recorded, also when the conversations interleave
// in another way.
func TestReplay(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "run.jsonl")
	rec := recorder(t, server(t, twoPhases), file, nil)

	explore := call("explore", "Where is Split?")
	explore.Tools = []loop.Spec{{Name: "read", Description: "Reads.", Schema: json.RawMessage(`{"type":"object"}`)}}
	review := call("review", "Is it done?")
	var want []outcome
	limited, again := ask(t, rec, explore), ask(t, rec, explore)
	looks := ask(t, rec, explore)
	no := ask(t, rec, review)
	result := plan.Message{Role: plan.RoleTool, Blocks: []plan.Block{{Type: plan.BlockToolResult, Text: "package a\n"}}}
	for _, c := range looks.Answer.Message.Calls() {
		result.Blocks[0].Call, result.Blocks[0].Name = c.Call, c.Name
	}
	exploreOn := explore
	exploreOn.Messages = append(append([]plan.Message{}, explore.Messages...), looks.Answer.Message, result)
	found := ask(t, rec, exploreOn)
	reviewOn := then(review, no.Answer, "And now?")
	yes := ask(t, rec, reviewOn)
	want = []outcome{limited, again, looks, found, no, yes}

	if limited.Error == nil || limited.Error.Kind != loop.ErrRateLimit || limited.Error.RetryAfter != 2*time.Second {
		t.Fatalf("the scenario's fault did not strike: %+v", limited)
	}
	if n := len(found.Pieces); n < 2 || found.Answer.Usage.Cached != 640 || len(looks.Answer.Message.Calls()) != 1 {
		t.Fatalf("the scenario was not played: %d pieces, %+v", n, found.Answer)
	}

	another := "X-PLAN-RUN" // another run, and headers spelled otherwise
	for _, c := range []*loop.Call{&explore, &exploreOn, &review, &reviewOn} {
		c.Headers = map[string]string{another: "01OTHER", "x-plan-phase": c.Headers["X-Plan-Phase"], "X-Plan-Attempt": "1"}
	}
	p := player(t, file)
	if n := p.Unplayed(); n != len(want) {
		t.Errorf("Unplayed = %d at the start, want %d", n, len(want))
	}
	gotNo, gotLimited, gotAgain := ask(t, p, review), ask(t, p, explore), ask(t, p, explore)
	gotYes, gotLooks, gotFound := ask(t, p, reviewOn), ask(t, p, explore), ask(t, p, exploreOn)
	same(t, "what was played", []outcome{gotLimited, gotAgain, gotLooks, gotFound, gotNo, gotYes}, want)
	if n := p.Unplayed(); n != 0 {
		t.Errorf("Unplayed = %d at the end", n)
	}

	// A run that is resumed in another process begins in the middle.
	same(t, "a later turn alone", ask(t, player(t, file), exploreOn), found)
}

// A player's answers are the caller's to change.
func TestAnswersAreNotShared(t *testing.T) {
	t.Parallel()
	c := call("plan", "Hello?")
	p := player(t, recording(t, says("Hello."), c, c))
	first := ask(t, p, c)
	first.Answer.Message.Blocks[0].Text = "changed"
	if got := ask(t, p, c).Answer.Message.Text(); got != "Hello." {
		t.Errorf("the second answer is %q", got)
	}
}

func TestMismatch(t *testing.T) {
	t.Parallel()
	first := call("explore", "Where is Split?\nSay the file,\nthe line\nand \"why\".")
	second := then(first, loop.Answer{Message: assistant(plan.Block{Type: plan.BlockText, Text: "In a.go."})}, "Sure?")
	file := recording(t, says("In a.go."), call("review", "Done?"), first, second,
		call("explore", "Look at b.go, at all of it."))

	for _, c := range []struct {
		name   string
		change func(*loop.Call)
		line   int
		diff   string
	}{
		{"a line of a text", func(c *loop.Call) {
			*c = call("explore", "Where is Split?\nSay the package,\nthe line\nand \"why\".")
		}, 3, `
         {
           "type": "text",
           "text": "Where is Split?\n"
-            "Say the file,\n"
+            "Say the package,\n"
             "the line\n"
             "and \"why\"."
         }
`},
		{"a later turn", func(c *loop.Call) {
			c.Messages = append([]plan.Message{}, c.Messages...)
			c.Messages[2] = plan.UserText("Really?\n")
		}, 4, `
-          "text": "Sure?"
+          "text": "Really?\n"
         }
`},
		{"another conversation", func(c *loop.Call) {
			*c = call("explore", "Look at b.go, at all of them.")
		}, 5, `
-          "text": "Look at b.go, at all of it."
+          "text": "Look at b.go, at all of them."
`},
		{"the model", func(c *loop.Call) { c.Model = "other" }, 4, `
-  "model": "m",
+  "model": "other",
`},
		{"a tool", func(c *loop.Call) { c.Tools = []loop.Spec{{Name: "read", Schema: json.RawMessage(`{}`)}} }, 4, `
+  "tools": [
+    {
+      "name": "read",
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			req := second
			c.change(&req)
			p := player(t, file)
			_, err := p.Generate(t.Context(), req, func(loop.Delta) { t.Error("a piece was shown") })
			var differs *record.MismatchError
			if !errors.As(err, &differs) {
				t.Fatalf("error is %T %v, want a *MismatchError", err, err)
			}
			if _, ok := loop.AsModelError(err); ok {
				t.Error("a mismatch is a model error, which may be tried again")
			}
			if !strings.Contains(differs.Diff, strings.TrimPrefix(c.diff, "\n")) ||
				!strings.HasPrefix(differs.Diff, "--- recorded\n+++ now\n@@ ") {
				t.Errorf("the diff is\n%s\nwant in it\n%s", differs.Diff, c.diff)
			}
			if differs.Line != c.line || differs.Phase != "explore" || differs.Attempt != "1" || differs.File != file {
				t.Errorf("the mismatch is with line %d of %s (%s, %s), want line %d",
					differs.Line, differs.File, differs.Phase, differs.Attempt, c.line)
			}
			for _, part := range []string{file, differs.Diff, `phase "explore", attempt "1"`} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q:\n%v", part, err)
				}
			}
			if n := p.Unplayed(); n != 4 {
				t.Errorf("%d calls are left to be played, want all 4", n)
			}
		})
	}
}

// A mismatch of a whole conversation does not fill the screen.
func TestLongMismatch(t *testing.T) {
	t.Parallel()
	p := player(t, recording(t, says("Yes."), call("plan", strings.Repeat("a\n", 5000))))
	_, err := p.Generate(t.Context(), call("plan", strings.Repeat("b\n", 5000)), nil)
	var differs *record.MismatchError
	if !errors.As(err, &differs) {
		t.Fatal(err)
	}
	if n := strings.Count(err.Error(), "\n"); n > 100 || !strings.Contains(err.Error(), "more lines") {
		t.Errorf("the error has %d lines", n)
	}
	if n := strings.Count(differs.Diff, "\n"); n < 10000 {
		t.Errorf("the diff has %d lines, want all", n)
	}
}

// A context that has ended gets nothing, and takes nothing away.
func TestEndedBefore(t *testing.T) {
	t.Parallel()
	c := call("explore", "Where?")
	p := player(t, recording(t, says("Here."), c))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if _, err := p.Generate(ctx, c, func(loop.Delta) { t.Error("a piece was shown") }); !errors.Is(err, why) {
		t.Errorf("error is %v", err)
	}
	same(t, "the answer", ask(t, p, c).Answer.Message.Text(), "Here.")
}

// Messages without blocks are the same whether they come from a journal or not.
func TestNoBlocks(t *testing.T) {
	t.Parallel()
	c := call("explore", "Where?")
	c.Messages = append(c.Messages, assistant(), plan.UserText("Well?"))
	file := recording(t, says("Here."), c)
	c.Messages[1].Blocks = []plan.Block{}
	same(t, "the answer", ask(t, player(t, file), c).Answer.Message.Text(), "Here.")
}

func TestEnd(t *testing.T) {
	t.Parallel()
	c := call("explore", "Where?")
	p := player(t, recording(t, says("Here."), c, call("review", "Done?")))
	ask(t, p, c)
	for _, c := range []loop.Call{c, call("plan", "How?")} {
		_, err := p.Generate(t.Context(), c, nil)
		if !errors.Is(err, record.ErrEnd) {
			t.Errorf("error is %v, want ErrEnd", err)
		}
		if _, ok := loop.AsModelError(err); ok {
			t.Error("the end is a model error, which may be tried again")
		}
	}
}

// A file may be cut off anywhere in its last line: what is before it is there,
// and what is not says so.
func TestCutOff(t *testing.T) {
	t.Parallel()
	first, second := call("explore", "Where?"), call("explore", "And why?")
	whole := read(t, recording(t, says("Here."), first, second))
	lines := strings.SplitAfter(whole, "\n")
	before := len(lines[0]) + len(lines[1])
	for _, n := range []int{1, 2, 50, len(lines[2]) / 2, len(lines[2]) - 2} {
		file := write(t, whole[:before+n])
		p := player(t, file)
		same(t, "the first answer", ask(t, p, first).Answer.Message.Text(), "Here.")
		_, err := p.Generate(t.Context(), second, nil)
		if !errors.Is(err, record.ErrCutOff) || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("cut after %d bytes: error is %v, want ErrCutOff with its line", n, err)
		}

		// Recording goes on where the last whole line ends.
		r := recorder(t, says("Because."), file, nil)
		ask(t, r, second)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		p = player(t, file)
		ask(t, p, first)
		same(t, "the answer recorded later", ask(t, p, second).Answer.Message.Text(), "Because.")
	}
	file := write(t, strings.TrimSuffix(whole, "\n")) // nothing is lost
	ask(t, recorder(t, says("Late."), file, nil), call("explore", "More?"))
	p := player(t, file)
	same(t, "an answer without its line end", ask(t, p, second).Answer.Message.Text(), "Here.")
	same(t, "the answer after it", ask(t, p, call("explore", "More?")).Answer.Message.Text(), "Late.")
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	sound := read(t, recording(t, says("Here."), call("explore", "Where?")))
	for _, c := range []struct{ name, data, says string }{
		{"empty", "", "it is empty"},
		{"cut off in its first line", `{"plan_rec`, "it is empty"},
		{"something else", "# Notes\n", "not a recording"},
		{"other JSON", `{"v":1,"type":"run_start"}` + "\n", "not a recording"},
		{"format 0", `{"plan_recording":0}` + "\n", "not a recording"},
		{"newer", `{"plan_recording":2}` + "\n{}\n", "format 2"},
		{"newer without end", `{"plan_recording":12}`, "format 12"},
		{"a broken line", sound + "{\n" + "{}\n", "line 3"},
		{"no request", sound + `{"failed":"x"}` + "\n", "line 3: it holds no request"},
		{"an empty request", sound + `{"request":null,"failed":"x"}` + "\n", "line 3: it holds no request"},
		{"a strange request", sound + `{"request":{"messages":1},"failed":"x"}` + "\n", "line 3: its request"},
		{"no ending", sound + `{"request":{}}` + "\n", "line 3: it holds 0 of answer"},
		{"an empty answer", sound + `{"request":{},"answer":null}` + "\n", "line 3: it holds 0 of answer"},
		{"two endings", sound + `{"request":{},"failed":"x","cancelled":"y"}` + "\n", "line 3: it holds 2 of answer"},
		{"a strange answer", sound + `{"request":{},"answer":{"message":3}}` + "\n", "line 3: its answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := write(t, c.data)
			_, err := record.Open(file)
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), file) {
				t.Errorf("Open: %v, want %q and the file's name", err, c.says)
			}
			if strings.HasPrefix(c.says, "it is empty") {
				return // can be recorded to
			}
			if _, err := record.New(says("x"), file, nil); err == nil {
				t.Error("New takes it")
			}
			same(t, "the file", read(t, file), c.data)
		})
	}
	if _, err := record.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open of a missing file: %v", err)
	}
	if _, err := record.Open(os.DevNull); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("Open of a device: %v", err)
	}
}
