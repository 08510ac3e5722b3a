package loop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// twoTasks is a parent that hands out two tasks at once. Each helper looks once
// and answers.
const twoTasks = `
[[reply]]
about = "first task"
turn = 0
  [reply.usage]
  input = 10
  output = 1
  [[reply.call]]
  name = "look"
  args = { n = 1 }
[[reply]]
about = "first task"
turn = 1
text = "One it is."
[[reply]]
about = "second task"
turn = 0
  [[reply.call]]
  name = "look"
  args = { n = 2 }
[[reply]]
about = "second task"
turn = 1
text = "Two it is."
[[reply]]
turn = 0
  [reply.usage]
  input = 10
  output = 1
  [[reply.call]]
  name = "task"
  args = { task = "first task" }
  [[reply.call]]
  name = "task"
  args = { task = "second task" }
[[reply]]
turn = 1
text = "Both done."
`

// of picks the events of one conversation.
func of(conv string, events []plan.Event) []plan.Event {
	return slices.DeleteFunc(slices.Clone(events), func(ev plan.Event) bool { return ev.Conv != conv })
}

// convs are the conversations of a journal, sorted.
func convs(events []plan.Event) []string {
	var out []string
	for _, ev := range events {
		out = append(out, ev.Conv)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestSubAgentsWorkAtTheSameTime(t *testing.T) {
	t.Parallel()
	both := make(chan struct{}, 2)
	meet := sync.OnceFunc(func() { close(both) })
	var inside sync.WaitGroup
	inside.Add(2)
	go func() { inside.Wait(); meet() }()
	eye := tool("look", plan.EffectReplay, false, func(ctx context.Context, n int) string {
		inside.Done()
		<-both // each waits for the other
		return fmt.Sprint("saw ", n)
	})
	b := setup(t, twoTasks, loop.SubAgent(loop.Delegate{Tools: []loop.Tool{eye}}))
	b.cfg.Headers = map[string]string{"X-Plan-Phase": "explore"}
	l := b.loop()
	end, err := l.Run(context.Background(), plan.UserText("Go."))
	if err != nil || end.Text != "Both done." {
		t.Fatal(end, err)
	}
	events := b.j.events()
	balanced(t, events)
	if diff := cmp.Diff([]string{"c1", "c1.0.0", "c1.0.1"}, convs(events)); diff != "" {
		t.Fatal(diff)
	}
	for _, ev := range events {
		if want := map[bool]string{true: "c1"}[ev.Conv != "c1"]; ev.Parent != want {
			t.Fatalf("%s of %s has the parent %q", ev.Type(), ev.Conv, ev.Parent)
		}
		if start, ok := ev.Body.(plan.TurnStart); ok && (start.Trigger == plan.TriggerSubAgent) != (ev.Conv != "c1" && *ev.Turn == 0) {
			t.Errorf("turn %d of %s begins for %s", *ev.Turn, ev.Conv, start.Trigger)
		}
		if start, ok := ev.Body.(plan.ToolStart); ok && ev.Conv == "c1" && !strings.HasPrefix(start.Conv, "c1.0.") {
			t.Errorf("the call names the conversation %q", start.Conv)
		}
	}
	var told []string
	for _, block := range l.Messages()[2].Blocks {
		told = append(told, block.Text)
	}
	if diff := cmp.Diff([]string{"One it is.", "Two it is."}, told); diff != "" {
		t.Error(diff)
	}
	for _, r := range b.server.Requests() {
		if got := r.Header.Get("X-Plan-Phase"); got != "explore" {
			t.Errorf("a request carries the phase %q", got)
		}
	}
}

// TestWhatASubAgentConsumesCountsForItsParent: its tokens stop the parent, and
// the parent's limit stops it.
func TestWhatASubAgentConsumesCountsForItsParent(t *testing.T) {
	t.Parallel()
	b := setup(t, twoTasks, loop.SubAgent(loop.Delegate{Tools: []loop.Tool{look()}}))
	b.cfg.Strategy = loop.Strategy{Mode: loop.Sequential}
	b.run("Go.")
	var whole int64
	for _, ev := range b.j.events() {
		if u, ok := ev.Body.(plan.UsageReport); ok {
			whole += u.Usage.Tokens()
		}
	}

	tight := setup(t, twoTasks, loop.SubAgent(loop.Delegate{Tools: []loop.Tool{look()}}))
	tight.cfg.Strategy = b.cfg.Strategy
	tight.cfg.Limits.Tokens = 20 // the parent's first call costs 11, and so does its helper's
	end := tight.run("Go.")
	if end.Limit == nil || end.Limit.Kind != "tokens" || end.Limit.Value >= float64(whole) {
		t.Fatalf("ended with %+v; the whole run costs %d", end, whole)
	}
	stopped := 0
	for _, ev := range tight.j.events() {
		if hit, ok := ev.Body.(plan.LimitHit); ok && ev.Conv != "c1" && hit.Max == 20 && hit.Value == 22 {
			stopped++
		}
	}
	if stopped == 0 {
		t.Error("no helper was stopped by its parent's limit")
	}
	balanced(t, tight.j.events())
}

func TestWhatAParentReadsOfASubAgent(t *testing.T) {
	t.Parallel()
	confirm := loop.Hooks{BeforeTool: func(_ context.Context, c loop.ToolCall) loop.Decision {
		if c.Info.Name == "look" {
			return loop.Decision{Verb: loop.Confirm, Reason: "ask first"}
		}
		return loop.Decision{Verb: loop.Pass}
	}}
	const answer = "\n[[reply]]\nabout = \"sub\"\nturn = 1\ntext = \"The late answer.\"\n"
	const looks = "[[reply]]\nabout = \"sub\"\nturn = 0\ntext = \"Early words.\"\n[[reply.call]]\nname = \"look\"\nargs = { n = 1 }\n"
	const mute, silent = "[[reply]]\nabout = \"sub\"\n", "[reply.fault]\nkind = \"empty\"\ntimes = 0\n"
	for _, c := range []struct {
		name, args, child string
		d                 loop.Delegate
		hooks             loop.Hooks
		want, not         string
		failed            bool
	}{
		{name: "its last words", args: `{ task = "sub" }`, child: looks + answer, want: "The late answer.", not: "Early words."},
		{name: "no words", args: `{ task = "sub" }`, child: mute + "user = 2\n" + silent + looks + mute + "turn " +
			"= 1\n" + silent, want: "nothing to say", d: loop.Delegate{Fallback: "nothing to say"}},
		{name: "a turn limit", args: `{ task = "sub" }`, child: looks + answer, d: loop.Delegate{Limits: plan.Limits{Turns: 1}}, want: "limit on turns", not: "The late answer.", failed: true},
		{name: "no task", args: `{ }`, child: looks, want: `missing "task"`, failed: true},
		{name: "a blank task", args: `{ task = " " }`, child: looks, want: "`task` is missing or empty", failed: true},
		{name: "a hook that wants a person", args: `{ task = "sub" }`, child: looks + answer, hooks: confirm, want: "The late answer."},
		{name: "a model that fails", args: `{ task = "sub" }`, child: "[[reply]]\nabout = \"sub\"\n[reply.fault]\nkind " +
			"= \"status\"\nstatus = 400\n", want: "could not go on", failed: true},
		{name: "a refusal", args: `{ task = "sub" }`, child: "[[reply]]\nabout = \"sub\"\nrefusal = \"I will " +
			"not look.\"\n", want: "ended as refused. I will not look.", failed: true},
		{name: "time", args: `{ task = "sub" }`, child: "[[reply]]\nabout = \"sub\"\n[reply.fault]\nkind = " +
			"\"hang\"\n", d: loop.Delegate{Limits: plan.Limits{Time: 30 * time.Millisecond}}, want: "limit on time", failed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.d.Tools = []loop.Tool{look()}
			b := setup(t, c.child+"\n[[reply]]\nturn = 0\n[[reply.call]]\nname = \"task\"\nargs = "+c.args+"\n[[reply]]\nturn "+
				"= 1\ntext = \"Done.\"\n", loop.SubAgent(c.d))
			b.cfg.Hooks = c.hooks
			if end := b.run("Go."); end.Text != "Done." {
				t.Fatalf("ended with %+v", end)
			}
			balanced(t, b.j.events())
			results := b.results()
			got := results[len(results)-1]
			if got.Error != c.failed || !strings.Contains(got.Output, c.want) || c.not != "" && strings.Contains(got.Output, c.not) {
				t.Errorf("the parent reads %+v", got)
			}
			if c.name == "a hook that wants a person" && !strings.Contains(results[0].Output, "a helper cannot wait for a person") {
				t.Errorf("the helper reads %+v", results[0])
			}
		})
	}
}

func TestSubAgentsStandOnlySoDeep(t *testing.T) {
	t.Parallel()
	inner := loop.SubAgent(loop.Delegate{Name: "deeper", Tools: []loop.Tool{look()}})
	outer := loop.SubAgent(loop.Delegate{Tools: []loop.Tool{inner}})
	b := setup(t, `
[[reply]]
about = "sub"
turn = 0
  [[reply.call]]
  name = "deeper"
  args = { task = "subsub" }
[[reply]]
about = "sub"
turn = 1
text = "Did it myself."
[[reply]]
turn = 0
  [[reply.call]]
  name = "task"
  args = { task = "sub" }
[[reply]]
turn = 1
text = "Done."
`, outer)
	b.run("Go.")
	results := b.results()
	if len(results) != 2 || !results[0].Error || !strings.Contains(results[0].Output, "depth limit is "+
		"1") || results[1].Output != "Did it myself." {
		t.Errorf("results: %+v", results)
	}
	balanced(t, b.j.events())
}

func TestASubAgentIsCancelledWithItsParent(t *testing.T) {
	t.Parallel()
	b := setup(t, `
[[reply]]
about = "sub"
  [reply.fault]
  kind = "hang"
[[reply]]
  [[reply.call]]
  name = "task"
  args = { task = "sub" }
`, loop.SubAgent(loop.Delegate{Tools: []loop.Tool{look()}}))
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	var at time.Time
	b.j.onEvent = func(ev plan.Event) {
		if ev.Type() == plan.TypeRequest && ev.Conv != "c1" {
			at = time.Now()
			cancel(why)
		}
	}
	if _, err := b.loop().Run(ctx, plan.UserText("Go.")); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(at); took > 100*time.Millisecond {
		t.Errorf("stopping took %s", took)
	}
	balanced(t, b.j.events())
}

// TestASubAgentIsKilledAtEachCommit goes on from each commit of a run with two
// sub-agents. All is balanced in the end; each task was done once, or the parent
// reads that are not known.
func TestASubAgentIsKilledAtEachCommit(t *testing.T) {
	t.Parallel()
	helper := loop.SubAgent(loop.Delegate{Tools: []loop.Tool{look()}})
	whole := setup(t, twoTasks, helper)
	whole.cfg.Strategy = loop.Strategy{Mode: loop.Sequential}
	whole.run("Go.")
	known := 0
	for cut := range whole.j.commits {
		b := setup(t, twoTasks, helper)
		b.cfg.Strategy = whole.cfg.Strategy
		b.j.commits = slices.Clone(whole.j.commits[:cut+1])
		past := b.j.events()
		b.j.seq = int64(len(past))
		b.cfg.Conversation = func(_ context.Context, conv string) ([]plan.Event, error) { return of(conv, b.j.events()), nil }
		end, err := b.loop(of("c1", past)...).Run(context.Background())
		if err != nil || end.Text != "Both done." {
			t.Fatalf("after commit %d: %+v, %v", cut+1, end, err)
		}
		balanced(t, b.j.events())
		for _, r := range of("c1", b.j.events()) {
			done, ok := r.Body.(plan.ToolEnd)
			if !ok {
				continue
			}
			if done.Status == "" {
				known++
			}
			if done.Status == "" && !strings.HasSuffix(done.Output, "it is.") || done.Status != "" && done.Status != "unknown" {
				t.Errorf("after commit %d the parent reads %+v", cut+1, done)
			}
		}
	}
	// Each of the commits leaves two results, and only a task that was cut off
	// in the middle is unknown: those have three commits that begin in it.
	if most := 2 * len(whole.j.commits); known == most || known < most-6 {
		t.Errorf("%d of %d results were known", known, most)
	}
}

func TestAJournalThatFailsASubAgentStopsTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t, twoTasks, loop.SubAgent(loop.Delegate{Tools: []loop.Tool{look()}}))
	full := errors.New("disk full")
	b.cfg.Emit = func(ctx context.Context, events ...plan.Event) error {
		if events[0].Conv != "c1" {
			return full
		}
		return b.j.emit(ctx, events...)
	}
	if _, err := b.loop().Run(context.Background(), plan.UserText("Go.")); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if n := len(b.server.Requests()); n != 1 {
		t.Errorf("%d requests went out", n)
	}
}

func TestASubAgentCannotHandCallsOver(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool)
	away := look().(fake)
	away.info.External = true
	b.cfg.Tools = []loop.Tool{loop.SubAgent(loop.Delegate{Tools: []loop.Tool{away}})}
	if _, err := loop.New(b.cfg, nil); err == nil || !strings.Contains(err.Error(), "look is run elsewhere") {
		t.Errorf("got %v", err)
	}
}
