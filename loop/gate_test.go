package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

const confirming = `
[[reply]]
user = 1
turn = 0
  [[reply.call]]
  name = "look"
  args = { n = 1 }
  [[reply.call]]
  name = "shell"
  args = { n = 2 }
  [[reply.call]]
  name = "look"
  args = { n = 3 }
[[reply]]
text = "Done."
`

// shells makes a serial tool that counts how often it ran.
func shells(ran *int) loop.Tool {
	return tool("shell", plan.EffectUnknown, true, func(context.Context, int) string { *ran++; return "ran" })
}

func needsYes(_ context.Context, c loop.ToolCall) loop.Decision {
	if c.Info.Name == "shell" {
		return loop.Decision{Verb: loop.Confirm, Reason: "it runs a command"}
	}
	return loop.Decision{Verb: loop.Pass}
}

func TestConfirmationAcrossARestart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		kind   loop.LetterKind
		now    loop.Verb // what the hook says when it is asked again
		runs   int
		result string
	}{
		{"approved", loop.Approve, loop.Confirm, 1, "ran"},
		{"denied", loop.Deny, loop.Confirm, 0, "Not allowed: too risky"},
		{"approved but blocked since", loop.Approve, loop.Block, 0, "Not allowed: no longer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ran, looked := 0, 0
			see := tool("look", plan.EffectReplay, false, func(context.Context, int) string { looked++; return "saw" })
			b := setup(t, confirming, see, shells(&ran))
			b.cfg.Hooks.BeforeTool = needsYes
			end, err := b.loop().Run(context.Background(), plan.UserText("Go."))
			if err != nil || end.Reason != loop.Waiting || len(end.Waiting) != 1 || end.Waiting[0].Name != "shell" || end.Waiting[0].Why != "it runs a command" {
				t.Fatalf("ended with %+v, %v", end, err)
			}
			if ran != 0 || looked != 1 {
				t.Errorf("before the decision the shell ran %d times and the look %d times", ran, looked)
			}
			balanced(t, b.j.events())

			// Another process, with nothing but the journal; still no decision.
			var q loop.Queue
			b.cfg.Mail = &q
			if end, err = b.loop(b.j.events()...).Run(context.Background()); err != nil || end.Reason != loop.Waiting {
				t.Fatalf("without a decision it ended with %+v, %v", end, err)
			}
			q.Rule(c.kind, end.Waiting[0], "too risky")
			b.cfg.Hooks.BeforeTool = func(ctx context.Context, call loop.ToolCall) loop.Decision {
				if call.Info.Name == "shell" {
					return loop.Decision{Verb: c.now, Reason: "no longer"}
				}
				return needsYes(ctx, call)
			}
			if end, err = b.loop(b.j.events()...).Run(context.Background()); err != nil || end.Text != "Done." {
				t.Fatalf("went on to %+v, %v", end, err)
			}
			if ran != c.runs || looked != 2 {
				t.Errorf("in the end the shell ran %d times and the looks %d times", ran, looked)
			}
			var got plan.ToolEnd
			for _, r := range b.results() {
				if r.Name == "shell" {
					got = r
				}
			}
			if !strings.Contains(got.Output, c.result) {
				t.Errorf("the model reads %q", got.Output)
			}
			balanced(t, b.j.events())
		})
	}
}

func TestAGateDecidesAtOnce(t *testing.T) {
	t.Parallel()
	ran := 0
	b := setup(t, confirming, look(), shells(&ran))
	b.cfg.Hooks.BeforeTool = needsYes
	b.cfg.Gate = func(_ context.Context, p loop.Pending) (loop.Ruling, bool) {
		return loop.Ruling{Approved: p.Name == "shell", By: "policy"}, true
	}
	if end := b.run("Go."); end.Reason != loop.Completed || ran != 1 {
		t.Errorf("ended with %+v, the shell ran %d times", end, ran)
	}
}

func TestAnUnknownDecisionBlocks(t *testing.T) {
	t.Parallel()
	ran := 0
	b := setup(t, confirming, look(), shells(&ran))
	b.cfg.Hooks.BeforeTool = func(_ context.Context, c loop.ToolCall) loop.Decision {
		if c.Info.Name == "shell" {
			return loop.Decision{Verb: "perhaps"}
		}
		return loop.Decision{Verb: loop.Change, Args: json.RawMessage(`{"n":9}`)}
	}
	b.run("Go.")
	if ran != 0 {
		t.Error("the shell ran")
	}
	if diff := cmp.Diff("saw 9", b.results()[1].Output); diff != "" {
		t.Error("changed arguments:", diff)
	}
	balanced(t, b.j.events())
}

func TestAQuestionWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	asking := fake{
		info: loop.Info{Spec: loop.Spec{Name: "ask", Schema: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string"},"options":{"type":"array","items":{"type":"string"}}},"required":["question"]}`)}, Effect: plan.EffectReplay, Asks: true},
		run:  func(context.Context, loop.Input) (loop.Result, error) { panic("a question is never run") },
	}
	b := setup(t, `
[[reply]]
user = 1
turn = 0
  [[reply.call]]
  name = "ask"
  args = { question = "Which one?", options = ["a", "b"] }
[[reply]]
text = "Done."
`, asking)
	end, err := b.loop().Run(context.Background(), plan.UserText("Go."))
	if err != nil || end.Reason != loop.Waiting || end.Waiting[0].Question != "Which one?" {
		t.Fatalf("ended with %+v, %v", end, err)
	}
	var q loop.Queue
	b.cfg.Mail = &q
	q.Put(loop.Reply, "b, please")
	if end, err = b.loop(b.j.events()...).Run(context.Background()); err != nil || end.Text != "Done." {
		t.Fatalf("went on to %+v, %v", end, err)
	}
	if got := b.results()[0].Output; got != "b, please" {
		t.Errorf("the model reads %q", got)
	}
	balanced(t, b.j.events())
}

func TestOneTurnAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool, look())
	l := b.loop()
	end, err := l.RunTurn(context.Background(), plan.UserText("Go."))
	if err != nil || end.Reason != loop.More || len(b.results()) != 1 {
		t.Fatalf("the first turn ended with %+v, %v", end, err)
	}
	// A turn that has ended is on disk whole, so another process can go on.
	l = b.loop(b.j.events()...)
	if end, err = l.RunTurn(context.Background()); err != nil || end.Reason != loop.More {
		t.Fatalf("the second turn ended with %+v, %v", end, err)
	}
	if end, err = l.RunTurn(context.Background()); err != nil || end.Reason != loop.Completed || end.Text != "Done." {
		t.Errorf("the end is %+v, %v", end, err)
	}
	balanced(t, b.j.events())
}

func TestASecondRunIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool)
	var l *loop.Loop
	b.cfg.Tools = []loop.Tool{tool("look", plan.EffectReplay, false, func(context.Context, int) string {
		if _, err := l.Run(context.Background()); !errors.Is(err, loop.ErrBusy) {
			t.Errorf("a second run got %v", err)
		}
		return "ok"
	})}
	l = b.loop()
	if _, err := l.Run(context.Background(), plan.UserText("Go.")); err != nil {
		t.Fatal(err)
	}
}

func TestTerminatingResultsEndTheLoop(t *testing.T) {
	t.Parallel()
	last := look().(fake)
	last.run = func(context.Context, loop.Input) (loop.Result, error) {
		return loop.Result{Output: "that was all", Terminate: true}, nil
	}
	b := setup(t, oneTool, last)
	if end := b.run("Go."); end.Reason != loop.Completed || len(b.server.Requests()) != 1 {
		t.Errorf("ended with %+v after %d requests", end, len(b.server.Requests()))
	}
	balanced(t, b.j.events())
}

func TestAToolThatTakesTooLongIsStopped(t *testing.T) {
	t.Parallel()
	deaf := make(chan struct{})
	t.Cleanup(func() { close(deaf) })
	for name, run := range map[string]func(context.Context, int) string{
		"that listens": func(ctx context.Context, _ int) string { <-ctx.Done(); panic(ctx.Err()) },
		"that is deaf": func(context.Context, int) string { <-deaf; return "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow := tool("look", plan.EffectReplay, false, run).(fake)
			slow.info.Category = loop.CategoryMCP
			if name == "that listens" {
				slow.run = func(ctx context.Context, _ loop.Input) (loop.Result, error) {
					<-ctx.Done()
					return loop.Result{}, ctx.Err()
				}
			}
			b := setup(t, oneTool, slow)
			b.cfg.Timeouts = map[loop.Category]time.Duration{loop.CategoryMCP: 10 * time.Millisecond}
			if end := b.run("Go."); end.Text != "Done." {
				t.Errorf("ended with %+v", end)
			}
			if got := b.results()[0]; got.Status != "timeout" || !got.Error {
				t.Errorf("the model reads %+v", got)
			}
		})
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool, look())
	var calls []string
	say := func(what string) { calls = append(calls, what) }
	h := loop.Hooks{
		TurnStart: func(_ context.Context, turn int) string {
			say("turn")
			return map[int]string{1: "enough"}[turn]
		},
		AfterTool: func(_ context.Context, _ loop.ToolCall, r loop.Result) loop.Result {
			r.Output += ", after"
			return r
		},
	}
	b.cfg.Hooks = loop.Join(h, loop.Hooks{TurnStart: func(context.Context, int) string { say("second"); return "" }})
	end := b.run("Go.")
	if end.Reason != loop.Vetoed {
		t.Errorf("ended with %+v", end)
	}
	if diff := cmp.Diff([]string{"turn", "second", "turn"}, calls); diff != "" {
		t.Error(diff)
	}
	if got := b.results()[0].Output; got != "saw 1, after" {
		t.Errorf("the result is %q", got)
	}
	balanced(t, b.j.events())
}

func TestHooksThatShapeTheRequest(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool, look())
	b.cfg.Hooks = loop.Hooks{
		TransformContext: func(_ context.Context, messages []plan.Message) []plan.Message {
			return append([]plan.Message{plan.UserText("Only for this request.")}, messages...)
		},
		PrepareTurn: func(_ context.Context, turn int, n loop.Next) loop.Next {
			n.Settings.MaxOutputTokens = 100 + turn
			return n
		},
	}
	l := b.loop()
	if _, err := l.Run(context.Background(), plan.UserText("Go.")); err != nil {
		t.Fatal(err)
	}
	for i, body := range requestBodies(b) {
		if !strings.Contains(string(body), "Only for this request.") || !strings.Contains(string(body), fmt.Sprintf(`"max_tokens":%d`, 100+i)) {
			t.Errorf("request %d is %s", i, body)
		}
	}
	if got := texts(l); len(got) != 1 {
		t.Errorf("the conversation itself changed: %q", got)
	}
}

// TestAnApprovedCallThatHooksChangeIsAskedAgain: each yes is for the arguments that
// were shown. One that came before the call was asked about is none.
func TestAnApprovedCallThatHooksChangeIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		steady  bool
		yes     int // how often a person says it
		ran     int
		asked   int
		refused int // letters that decide nothing
	}{
		{"one yes is not enough", false, 1, 0, 2, 1},
		{"another is", true, 2, 1, 2, 2},
		{"a hook that never rests", false, 9, 0, 10, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ran, n := 0, 10
			b := setup(t, confirming, look(), shells(&ran))
			b.cfg.Hooks.BeforeTool = func(_ context.Context, call loop.ToolCall) loop.Decision {
				if call.Info.Name != "shell" {
					return loop.Decision{Verb: loop.Pass}
				}
				if n < 12 || !c.steady {
					n++
				}
				return loop.Decision{Verb: loop.Confirm, Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)), Rule: "r", Effect: "e", Record: []plan.Body{plan.HookRan{Command: "h"}}}
			}
			var q loop.Queue
			b.cfg.Mail = &q
			end, err := b.loop().Run(context.Background(), plan.UserText("Go."))
			for range c.yes {
				if err != nil || end.Reason != loop.Waiting {
					t.Fatalf("ended with %+v, %v", end, err)
				}
				q.Rule(loop.Approve, end.Waiting[0], "")
				q.Rule(loop.Approve, end.Waiting[0], "typed twice")
				end, err = b.loop(b.j.events()...).Run(context.Background())
			}
			asked, refused := 0, 0
			for _, ev := range b.j.events() {
				switch a := ev.Body.(type) {
				case plan.ApprovalRequired:
					if asked++; string(a.Args) != fmt.Sprintf(`{"n":%d}`, 10+asked) || a.Rule != "r" || a.Effect != "e" ||
						a.Shown != "e" || a.Digest != plan.CallDigest("shell", a.Args) {
						t.Errorf("asked about %+v", a)
					}
				case plan.Filtered:
					refused++
				}
			}
			if ran != c.ran || asked != c.asked || refused != c.refused {
				t.Errorf("it ran %d times after %d questions, with %d letters refused", ran, asked, refused)
			}
			balanced(t, b.j.events())
		})
	}
}

// TestOnlyADecisionAboutWhatWasShownCounts: a letter names the call and the digest of
// its arguments, or it decides nothing, is said, and is gone.
func TestOnlyADecisionAboutWhatWasShownCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*loop.Pending)
		before bool // it was there before the call was asked about
		ran    int
	}{
		"as shown":        {func(*loop.Pending) {}, false, 1},
		"early":           {func(*loop.Pending) {}, true, 0},
		"no digest":       {func(p *loop.Pending) { p.Digest = "" }, false, 0},
		"no call":         {func(p *loop.Pending) { p.Call = "" }, false, 0},
		"other arguments": {func(p *loop.Pending) { p.Digest = plan.CallDigest("shell", json.RawMessage(`{"n":3}`)) }, false, 0},
		"another call":    {func(p *loop.Pending) { p.Call = "other" }, false, 0},
		"nothing":         {func(p *loop.Pending) { *p = loop.Pending{} }, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := 0
			b := setup(t, confirming, look(), shells(&ran))
			b.cfg.Hooks.BeforeTool = needsYes
			end, err := b.loop().Run(context.Background(), plan.UserText("Go."))
			if err != nil || len(end.Waiting) != 1 {
				t.Fatalf("ended with %+v, %v", end, err)
			}
			p := end.Waiting[0]
			c.change(&p)
			var q loop.Queue
			b.cfg.Mail = &q
			q.Rule(loop.Approve, p, "")
			events := b.j.events()
			if c.before { // the same call again, with the same id
				b = setup(t, confirming, look(), shells(&ran))
				b.cfg.Hooks.BeforeTool, b.cfg.Mail = needsYes, &q
				_, err = b.loop().Run(context.Background(), plan.UserText("Go."))
			} else {
				_, err = b.loop(events...).Run(context.Background())
			}
			if err != nil || ran != c.ran {
				t.Errorf("it ran %d times, %v", ran, err)
			}
			said := 0
			for _, ev := range b.j.events() {
				if f, ok := ev.Body.(plan.Filtered); ok && f.Letter == 1 {
					said++
				}
			}
			left, err := q.Waiting(context.Background())
			if said != 1-c.ran || len(left) > 0 || err != nil {
				t.Errorf("it is said %d times, and %v is left, %v", said, left, err)
			}
			balanced(t, b.j.events())
		})
	}
}

func TestAYesForLonger(t *testing.T) {
	t.Parallel()
	ran := 0
	b := setup(t, confirming, look(), shells(&ran))
	grant := plan.Grant{Tool: "shell"}
	b.cfg.Hooks.BeforeTool = func(ctx context.Context, c loop.ToolCall) loop.Decision {
		d := needsYes(ctx, c)
		d.Grant, d.Rule = grant, "r"
		return d
	}
	b.cfg.Gate = func(_ context.Context, p loop.Pending) (loop.Ruling, bool) {
		return loop.Ruling{Approved: p.Grant == grant, Scope: plan.ScopeRun}, true
	}
	b.run("Go.")
	for _, ev := range b.j.events() {
		if r, ok := ev.Body.(plan.ApprovalResolved); ok {
			if diff := cmp.Diff(plan.ApprovalResolved{Call: r.Call, Approved: true, By: "person", Rule: "r", Scope: plan.ScopeRun, Grant: grant}, r); diff != "" {
				t.Error(diff)
			}
			return
		}
	}
	t.Error("nothing was resolved")
}
