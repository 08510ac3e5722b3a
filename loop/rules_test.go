package loop_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// roles are those of a conversation, in order.
func roles(messages []plan.Message) []plan.Role {
	var out []plan.Role
	for _, m := range messages {
		out = append(out, m.Role)
	}
	return out
}

const (
	u = plan.RoleUser
	a = plan.RoleAssistant
	o = plan.RoleTool
)

func TestAVetoEndsTheLoop(t *testing.T) {
	t.Parallel()
	n := 0
	b := setup(t, repeating, tool("look", plan.EffectReplay, false, func(context.Context, int) string { n++; return strings.Repeat("x", n) }))
	asked := 0
	b.cfg.Hooks.TurnStart = func(_ context.Context, turn int) string {
		asked++
		return map[int]string{2: "enough"}[turn]
	}
	l := b.loop()
	end, err := l.Run(context.Background(), plan.UserText("Go."))
	if err != nil || end.Reason != loop.Vetoed || asked != 3 {
		t.Errorf("%+v, %v, asked %d times", end, err, asked)
	}
	if diff := cmp.Diff([]plan.Role{u, a, o, a, o, u}, roles(l.Messages())); diff != "" { // the last says why
		t.Error(diff)
	}
	balanced(t, b.j.events())
}

func TestAFailedToolIsReadAndTheLoopGoesOn(t *testing.T) {
	t.Parallel()
	broken := look().(fake)
	broken.run = func(context.Context, loop.Input) (loop.Result, error) { return loop.Failed("the door is shut"), nil }
	b := setup(t, oneTool, broken)
	l := b.loop()
	end, err := l.Run(context.Background(), plan.UserText("Go."))
	if err != nil || end.Text != "Done." {
		t.Fatal(end, err)
	}
	if diff := cmp.Diff([]plan.Role{u, a, o, a}, roles(l.Messages())); diff != "" {
		t.Error(diff)
	}
	if got := l.Messages()[2].Blocks[0]; !got.Error || got.Text != "the door is shut" {
		t.Errorf("the model reads %+v", got)
	}
}

func TestAFollowUpThatIsRejectedIsDropped(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\ntext = \"Done.\"\n")
	var q loop.Queue
	q.Put(loop.FollowUp, "something forbidden")
	b.cfg.Mail = &q
	b.cfg.Filters = []loop.Filter{func(_ context.Context, text string) loop.Screening {
		if strings.Contains(text, "forbidden") {
			return loop.Screening{Reject: "it is forbidden"}
		}
		return loop.Screening{}
	}}
	if end := b.run("Go."); end.Text != "Done." || end.Reason != loop.Completed {
		t.Errorf("ended with %+v", end)
	}
	filtered := 0
	for _, ev := range b.j.events() {
		if ev.Type() == plan.TypeFiltered {
			filtered++
		}
	}
	if got := turns(b.j.events()); len(got) != 1 || filtered != 1 {
		t.Errorf("turns %q, %d filtered", got, filtered)
	}
	if left, _ := q.Waiting(context.Background()); len(left) != 0 {
		t.Errorf("%v still waits", left)
	}
}

func TestARejectedPromptLeavesNoTrace(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\ntext = \"Done.\"\n")
	b.cfg.Filters = []loop.Filter{
		func(context.Context, string) loop.Screening { return loop.Screening{} },
		func(_ context.Context, text string) loop.Screening {
			return loop.Screening{Reject: map[bool]string{true: "no magic"}[strings.Contains(text, "magic")]}
		},
		func(_ context.Context, text string) loop.Screening {
			return loop.Screening{Reject: map[bool]string{true: "a later word"}[strings.Contains(text, "magic")]}
		},
	}
	l := b.loop()
	end, err := l.Run(context.Background(), plan.UserText("Something else."), plan.UserText("Do magic."))
	if err != nil || end.Reason != loop.Rejected || end.Rejection != "no magic" || len(l.Messages()) != 0 || len(b.server.Requests()) != 0 {
		t.Fatalf("%+v, %v, %d messages", end, err, len(l.Messages()))
	}
	if end, err = l.Run(context.Background(), plan.UserText("Do it by hand.")); err != nil || end.Text != "Done." {
		t.Fatal(end, err)
	}
	for _, body := range requestBodies(b) {
		if strings.Contains(string(body), "magic") || strings.Contains(string(body), "Something else") {
			t.Errorf("a request has %s", body)
		}
	}
	if l := b.loop(b.j.events()...); len(l.Messages()) != 2 {
		t.Errorf("restored, it has %d messages", len(l.Messages()))
	}
	balanced(t, b.j.events())
}

func TestAToolsOwnTimeCountsFirst(t *testing.T) {
	t.Parallel()
	slow := look().(fake)
	slow.info.Timeout = 10 * time.Millisecond
	slow.run = func(ctx context.Context, _ loop.Input) (loop.Result, error) {
		<-ctx.Done()
		return loop.Result{}, ctx.Err()
	}
	b := setup(t, oneTool, slow)
	b.cfg.Timeouts = map[loop.Category]time.Duration{loop.CategoryRead: time.Hour}
	if end := b.run("Go."); end.Text != "Done." {
		t.Errorf("ended with %+v", end)
	}
	if got := b.results()[0]; got.Status != "timeout" || !strings.Contains(got.Output, "10ms") {
		t.Errorf("the model reads %+v", got)
	}
}

// TestWhoHasNothingLeftTakesNoPrompt: a conversation without a budget is left as
// it is; with a higher one it goes on.
func TestWhoHasNothingLeftTakesNoPrompt(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\nturn = 0\n[reply.usage]\ninput = 20\noutput = 10\n[[reply.call]]\nname = \"look\"\nargs = { n = 1 }\n[[reply]]\nturn = 1\ntext = \"Done.\"\n", look())
	b.cfg.Limits.Tokens = 25
	l := b.loop()
	end, err := l.Run(context.Background(), plan.UserText("Go."))
	if err != nil || end.Limit == nil || end.Limit.Kind != "tokens" || len(b.server.Requests()) != 1 {
		t.Fatal(end, err)
	}
	before := len(l.Messages())
	end, err = l.Run(context.Background(), plan.UserText("And more."))
	if err != nil || end.Limit == nil || len(b.server.Requests()) != 1 || len(l.Messages()) != before {
		t.Errorf("%+v, %v, %d messages", end, err, len(l.Messages()))
	}
	b.cfg.Limits.Tokens = 250
	b.cfg.Spent = plan.Usage{Requests: 1, Input: 20, Output: 10}
	l = b.loop(b.j.events()...)
	if got := strings.Join(texts(l), " "); strings.Contains(got, "And more.") {
		t.Errorf("the refused prompt was kept: %s", got)
	}
	if end, err = l.Run(context.Background()); err != nil || end.Reason != loop.Completed {
		t.Errorf("with more, it came to %+v, %v", end, err)
	}
}

// TestAHistoryThatEndsInACallIsBalanced before the next request: the server
// takes nothing else.
func TestAHistoryThatEndsInACallIsBalanced(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\ntext = \"Done.\"\n", look())
	history := []plan.Message{
		plan.UserText("Go."),
		{Role: a, Blocks: []plan.Block{{Type: plan.BlockToolCall, Call: "x1", Name: "look", Args: `{"n":1}`}}},
		plan.UserText("Go on."),
	}
	if end, err := b.loop().Run(context.Background(), history...); err != nil || end.Text != "Done." {
		t.Fatal(end, err)
	}
	if got := string(requestBodies(b)[0]); strings.Count(got, `"tool_call_id":"x1"`) != 1 || !strings.Contains(got, "Cancelled before it started") {
		t.Errorf("the request is %s", got)
	}
	for _, ev := range b.j.events() {
		if ev.Type() == plan.TypeToolStart {
			t.Error("the call of the history was run")
		}
	}
}

func TestACancelledBatchIsBalanced(t *testing.T) {
	t.Parallel()
	var inside sync.WaitGroup
	inside.Add(3)
	parked := tool("look", plan.EffectReplay, false, func(ctx context.Context, _ int) string {
		inside.Done()
		<-ctx.Done()
		return "stopped"
	}).(fake)
	run := parked.run
	parked.run = func(ctx context.Context, in loop.Input) (loop.Result, error) {
		res, _ := run(ctx, in)
		return res, ctx.Err()
	}
	b := setup(t, strings.Replace(oneTool, "  [[reply.call]]\n", "  [[reply.call]]\n  name = \"look\"\n  args = { n = 7 }\n  [[reply.call]]\n  name = \"look\"\n  args = { n = 8 }\n  [[reply.call]]\n", 1), parked)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	go func() { inside.Wait(); cancel(why) }()
	if _, err := b.loop().Run(ctx, plan.UserText("Go.")); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	events := b.j.events()
	balanced(t, events)
	if got := b.results(); len(got) != 3 || got[0].Status != "cancelled" || !got[1].Error || got[2].Status != "cancelled" {
		t.Errorf("results: %+v", got)
	}
	whole, ended := events[len(events)-1].Body.(plan.ConvEnd)
	last, ok := events[len(events)-2].Body.(plan.TurnEnd)
	if !ok || last.Reason != plan.EndCancelled || !ended || whole.Reason != plan.EndCancelled {
		t.Errorf("the journal ends with %+v", events[len(events)-1].Body)
	}
	if l := b.loop(events...); len(l.Messages()) != 3 || len(l.Messages()[2].Blocks) != 3 {
		t.Errorf("restored: %+v", l.Messages())
	}
}
