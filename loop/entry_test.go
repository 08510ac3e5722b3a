package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// turns are the starts of turns, as "index trigger kind".
func turns(events []plan.Event) []string {
	var out []string
	for _, ev := range events {
		if b, ok := ev.Body.(plan.TurnStart); ok {
			out = append(out, strings.TrimSpace(strings.Join([]string{string(rune('0' + *ev.Turn)), b.Trigger, b.Kind}, " ")))
		}
	}
	return out
}

func TestContinue(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool, look())
	if _, err := b.loop().Continue(context.Background(), loop.Default); !errors.Is(err, loop.ErrEmpty) {
		t.Errorf("an empty history: %v", err)
	}
	if _, err := b.loop().Continue(context.Background(), loop.Default, plan.Message{Role: plan.RoleExtension, Kind: "note"}); !errors.Is(err, loop.ErrEmpty) {
		t.Errorf("a history of notes: %v", err)
	}
	said := plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockText, Text: "Hello."}}}
	if _, err := b.loop().Continue(context.Background(), loop.Default, plan.UserText("Hi."), said); !errors.Is(err, loop.ErrAnswered) {
		t.Errorf("an answered history: %v", err)
	}
	if _, err := b.loop().Continue(context.Background(), "sideways", plan.UserText("Hi.")); err == nil || !strings.Contains(err.Error(), `"sideways"`) {
		t.Errorf("an unknown kind: %v", err)
	}
	if n := len(b.j.commits); n != 0 {
		t.Fatalf("%d commits were made", n)
	}

	b.cfg.Filters = []loop.Filter{func(context.Context, string) loop.Screening { return loop.Screening{Reject: "no"} }}
	end, err := b.loop().Continue(context.Background(), loop.Rerun, plan.UserText("Go."))
	if err != nil || end.Text != "Done." {
		t.Fatal(end, err)
	}
	if diff := cmp.Diff([]string{"0 continuation rerun", "1 continuation"}, turns(b.j.events())); diff != "" {
		t.Error(diff)
	}
	if _, err := b.loop(b.j.events()...).Continue(context.Background(), loop.Default); !errors.Is(err, loop.ErrAnswered) {
		t.Errorf("a finished conversation: %v", err)
	}
	if _, err := b.loop(b.j.events()...).Continue(context.Background(), loop.Default, plan.UserText("More.")); err == nil || !strings.Contains(err.Error(), "has a history already") {
		t.Errorf("a second history: %v", err)
	}
	balanced(t, b.j.events())
}

func TestTriggers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, trigger string
		kind          loop.Kind // "-" for Run
		want          []string
	}{
		{"a prompt", "", "-", []string{"0 user", "1 continuation"}},
		{"a task", plan.TriggerSubAgent, "-", []string{"0 sub_agent", "1 continuation"}},
		{"initial becomes default", plan.TriggerSubAgent, loop.Initial, []string{"0 continuation default", "1 continuation"}},
		{"branch", "", loop.Branch, []string{"0 branch branch", "1 continuation"}},
		{"compaction", "", loop.Compaction, []string{"0 continuation compaction", "1 continuation"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, oneTool, look())
			b.cfg.Trigger = c.trigger
			var err error
			if c.kind == "-" {
				_, err = b.loop().Run(context.Background(), plan.UserText("Go."))
			} else {
				_, err = b.loop().Continue(context.Background(), c.kind, plan.UserText("Go."))
			}
			if diff := cmp.Diff(c.want, turns(b.j.events())); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}

	// The index goes on over prompts and processes; guidance before the first
	// turn does not take the prompt's place, and a follow-up is no prompt.
	b := setup(t, twoTurns, look())
	var q loop.Queue
	b.cfg.Mail = &q
	q.Put(loop.Steer, "with care")
	q.Put(loop.FollowUp, "and more")
	b.run("Go.")
	before := b.j.events()
	if _, err := b.loop(before...).Run(context.Background(), plan.UserText("Again.")); err != nil {
		t.Fatal(err)
	}
	got := turns(b.j.events())
	if got[0] != "0 user" || got[len(got)-1][0] != byte('0'+len(got)-1) || !strings.HasSuffix(got[len(turns(before))], "user") {
		t.Errorf("turns: %q", got)
	}
	for _, word := range got[1:len(turns(before))] {
		if !strings.HasSuffix(word, "continuation") {
			t.Errorf("turns: %q", got)
		}
	}
}

const awayFromHere = `
[[reply]]
turn = 0
  [[reply.call]]
  name = "far"
  args = { n = 1 }
  [[reply.call]]
  name = "look"
  args = { n = 2 }
  [[reply.call]]
  name = "far"
  args = { n = 3 }
[[reply]]
turn = 1
text = "Done."
`

// far is a tool that is run elsewhere.
func far() loop.Tool {
	t := tool("far", plan.EffectUnknown, false, func(context.Context, int) string { panic("it was run here") }).(fake)
	t.info.External = true
	return t
}

// kept is a continuation as another process reads it.
func kept(t *testing.T, c *loop.Continuation) loop.Continuation {
	t.Helper()
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var out loop.Continuation
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestToolsThatRunElsewhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	b := setup(t, awayFromHere, far(), look())
	b.cfg.Run = "R1"
	end, err := b.loop().RunTurn(ctx, plan.UserText("Go."))
	if err != nil || end.Reason != loop.External || len(end.Continuation.Calls) != 2 || len(end.Continuation.Results) != 1 || end.Continuation.Usage.Requests != 1 {
		t.Fatalf("%+v %+v %v", end, end.Continuation, err)
	}
	c := kept(t, end.Continuation)
	first, second := c.Calls[0].Call, c.Calls[1].Call
	ok := []loop.Submission{{Call: second, Result: loop.Result{Output: "three"}}, {Call: first, Result: loop.Failed("no one")}}
	past := b.j.events()
	with := func(change func(*loop.Continuation)) loop.Continuation {
		c := c
		change(&c)
		return c
	}
	for _, bad := range []struct {
		c       loop.Continuation
		results []loop.Submission
		want    string
	}{
		{c, ok[:1], "has no result"},
		{c, append(ok[:2:2], loop.Submission{Call: "other"}), `"other" does not wait`},
		{c, append(ok[:2:2], ok[0]), "answered twice"},
		{with(func(c *loop.Continuation) { c.Version = 2 }), ok, "version 2"},
		{with(func(c *loop.Continuation) { c.Version = 0 }), ok, "version 0"},
		{with(func(c *loop.Continuation) { c.Run = "R2" }), ok, `run "R2"`},
		{with(func(c *loop.Continuation) { c.Conv = "c2" }), ok, `conversation "c2"`},
		{with(func(c *loop.Continuation) { c.Turn = 7 }), ok, "turn 7"},
		{with(func(c *loop.Continuation) { c.Reason = loop.Waiting }), ok, "waiting, not external"},
	} {
		if _, err := b.loop(past...).Submit(ctx, bad.c, bad.results...); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("want an error with %q, got %v", bad.want, err)
		}
	}
	if len(b.j.events()) != len(past) {
		t.Fatal("a submission that was refused left events")
	}

	// A commit that fails leaves the calls open for a fresh try.
	b.j.fail = len(b.j.commits) + 1
	if _, err := b.loop(past...).Submit(ctx, c, ok...); err == nil || len(b.server.Requests()) != 1 {
		t.Fatalf("the failed commit came to %v", err)
	}
	b.j.fail = 0
	l := b.loop(past...)
	end, err = l.Submit(ctx, c, ok...)
	if err != nil || end.Reason != loop.More { // RunTurn handed it over
		t.Fatal(end, err)
	}
	if end, err = l.RunTurn(ctx); err != nil || end.Text != "Done." {
		t.Fatal(end, err)
	}
	var told []string
	for _, block := range l.Messages()[2].Blocks {
		told = append(told, block.Text)
	}
	if diff := cmp.Diff([]string{"no one", "saw 2", "three"}, told); diff != "" {
		t.Error(diff)
	}
	balanced(t, b.j.events())

	n := len(b.j.events())
	if end, err = b.loop(b.j.events()...).Submit(ctx, c, ok...); err != nil || end.Reason != loop.Completed || len(b.j.events()) != n {
		t.Errorf("a second submission came to %+v, %v and %d more events", end, err, len(b.j.events())-n)
	}
}

// TestAResultFromElsewhereIsWaitedFor: a caller who just goes on is handed the same
// calls again, and in a serial batch one at a time.
func TestAResultFromElsewhereIsWaitedFor(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	one := far().(fake)
	one.info.Serial = true
	b := setup(t, awayFromHere, one, look())
	end := b.run("Go.")
	for _, want := range []int{1, 1} {
		if end.Reason != loop.External || len(end.Continuation.Calls) != want || !strings.Contains(string(end.Continuation.Calls[0].Args), "1") {
			t.Fatalf("%+v", end.Continuation)
		}
		var err error
		if end, err = b.loop(b.j.events()...).Run(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 2 {
		c := kept(t, end.Continuation)
		var err error
		if end, err = b.loop(b.j.events()...).Submit(ctx, c, loop.Submission{Call: c.Calls[0].Call, Result: loop.Result{Output: "ok"}}); err != nil {
			t.Fatalf("submission %d: %v", n, err)
		}
	}
	if end.Text != "Done." {
		t.Errorf("ended with %+v", end)
	}
	balanced(t, b.j.events())
}

func TestAConfirmationIsResumed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	ran := 0
	b := setup(t, confirming, look(), shells(&ran))
	b.cfg.Run, b.cfg.Hooks.BeforeTool = "R1", needsYes
	end := b.run("Go.")
	if end.Reason != loop.Waiting || end.Continuation == nil {
		t.Fatalf("%+v", end)
	}
	c := kept(t, end.Continuation)
	yes := loop.Ruled{Call: c.Calls[0].Call, Ruling: loop.Ruling{Approved: true}}
	past := b.j.events()
	for want, bad := range map[string]func(*loop.Continuation, *loop.Ruled){
		`run "R2"`:      func(c *loop.Continuation, _ *loop.Ruled) { c.Run = "R2" },
		"version 9":     func(c *loop.Continuation, _ *loop.Ruled) { c.Version = 9 },
		"does not wait": func(_ *loop.Continuation, r *loop.Ruled) { r.Call = "other" },
	} {
		c, r := c, yes
		bad(&c, &r)
		if _, err := b.loop(past...).Resume(ctx, c, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	if len(b.j.events()) != len(past) || ran != 0 {
		t.Fatal("a ruling that was refused had an effect")
	}
	if end, err := b.loop(past...).Resume(ctx, c); err != nil || end.Reason != loop.Waiting || ran != 0 {
		t.Errorf("without a ruling: %+v, %v", end, err)
	}
	end, err := b.loop(b.j.events()...).Run(ctx, plan.UserText("Something else."))
	if err != nil || end.Reason != loop.Waiting {
		t.Errorf("with another prompt: %+v, %v", end, err)
	}
	end, err = b.loop(b.j.events()...).Resume(ctx, c, yes)
	if err != nil || end.Text != "Done." || ran != 1 || strings.Contains(strings.Join(texts(b.loop(b.j.events()...)), " "), "Something else.") {
		t.Fatalf("%+v, %v, %d runs", end, err, ran)
	}
	if _, err := b.loop(b.j.events()...).Resume(ctx, c, yes); err == nil || !strings.Contains(err.Error(), "which has ended") || ran != 1 {
		t.Errorf("resumed twice: %v, %d runs", err, ran)
	}
	balanced(t, b.j.events())
}

// TestTimeIsALimit: the wall time ends a run like any other bound, whatever
// measures it.
func TestTimeIsALimit(t *testing.T) {
	t.Parallel()
	hang := "[[reply]]\n[reply.fault]\nkind = \"hang\"\n"
	stuck := tool("look", plan.EffectReplay, false, func(ctx context.Context, _ int) string { <-ctx.Done(); return "" })
	for name, scenario := range map[string]string{"while the model is silent": hang, "while a tool runs": oneTool} {
		for _, inside := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				b := setup(t, scenario, stuck)
				ctx := context.Background()
				if inside {
					b.cfg.Limits.Time = 50 * time.Millisecond
				} else {
					within, cancel := context.WithTimeoutCause(ctx, 50*time.Millisecond, &plan.TimeUp{Max: 50 * time.Millisecond})
					defer cancel()
					ctx = within
				}
				end, err := b.loop().Run(ctx, plan.UserText("Go."))
				if err != nil || end.Reason != loop.Limited || end.Limit.Kind != "time" || end.Limit.Max != 0.05 {
					t.Fatalf("%+v, %v", end, err)
				}
				balanced(t, b.j.events())
				limits, why := 0, ""
				for _, ev := range b.j.events() {
					switch body := ev.Body.(type) {
					case plan.LimitHit:
						limits++
					case plan.TurnEnd:
						why = body.Reason
					}
				}
				l := b.loop(b.j.events()...)
				got := texts(l)
				if limits != 1 || why != plan.EndLimit || got[len(got)-1] != "notice|[stopped: the limit on time was reached]" {
					t.Errorf("%d limit events, the turn ended as %s, the transcript as %q", limits, why, got)
				}
			})
		}
	}
}

func TestARunThatIsCancelledBeforehandKeepsThePrompt(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool, look())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.loop().Run(ctx, plan.UserText("Go.")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if l := b.loop(b.j.events()...); len(l.Messages()) != 1 || len(b.server.Requests()) != 0 || len(turns(b.j.events())) != 0 {
		t.Errorf("%d messages, %d requests", len(l.Messages()), len(b.server.Requests()))
	}
	balanced(t, b.j.events())
}
