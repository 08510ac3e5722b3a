package loop_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// TestAConversationIsReopenedTwice: also where another process goes on with it.
func TestAConversationIsReopenedTwice(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\nuser = 1\ntext = \"One.\"\n[[reply]]\nuser = 2\ntext = \"Two.\"\n"+
		"[[reply]]\nuser = 3\ntext = \"Three.\"\n")
	var asked []loop.Closing
	object := func(_ context.Context, c loop.Closing) loop.Objection {
		asked = append(asked, c)
		return loop.Objection{
			Why:    "There is more.",
			Record: []plan.Body{plan.HookRan{Event: "phase_end", Action: "reopened"}},
		}
	}
	b.cfg.Hooks = loop.Join(
		loop.Hooks{Done: func(context.Context, loop.Closing) loop.Objection { return loop.Objection{} }},
		loop.Hooks{Done: object},
	)
	ctx, stop := context.WithCancel(context.Background())
	b.cfg.Hooks.TurnEnd = func(_ context.Context, turn loop.Turned) {
		if turn.Turn == 1 {
			stop() // before anything is asked about what it came to
		}
	}
	if _, err := b.loop().Run(ctx, plan.UserText("Go.")); err == nil {
		t.Fatal("it was not stopped")
	}
	b.cfg.Hooks.TurnEnd = nil
	end, err := b.loop(b.j.events()...).Run(context.Background())
	if err != nil || end.Text != "Three." || end.Reason != loop.Completed {
		t.Fatalf("%+v, %v", end, err)
	}
	want := []loop.Closing{{Text: "One."}, {Text: "Two.", Reopened: 1}, {Text: "Three.", Reopened: 2, Last: true}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
	var hooks, said int
	for _, ev := range b.j.events() {
		if ev.Type() == plan.TypeHook {
			hooks++
		}
		if m, ok := ev.Body.(plan.MessageEnd); ok && m.Origin == plan.OriginHook {
			said++
		}
	}
	if hooks != 3 || said != 2 {
		t.Errorf("%d hooks and %d messages of theirs are in the journal", hooks, said)
	}
	balanced(t, b.j.events())
}

// TestARequestThatIsNotLetThroughIsNotMade: neither the conversation's nor that of one
// of its sub-agents, and nothing stays open.
func TestARequestThatIsNotLetThroughIsNotMade(t *testing.T) {
	t.Parallel()
	const scenario = `
[[reply]]
about = "the task below"
text = "Found."
[[reply]]
turn = 0
  [[reply.call]]
  name = "task"
  args = { task = "Look." }
[[reply]]
turn = 1
text = "Done."
`
	for _, c := range []struct {
		name, veto string // the conversation and turn that is refused
		reason     loop.EndReason
		requests   int
		asked      []string
	}{
		{"the first", "c1.0", loop.Vetoed, 0, []string{"c1.0"}},
		{"that of a helper", "c1.0.0.0", loop.Completed, 2, []string{"c1.0", "c1.0.0.0", "c1.1"}},
		{"the last", "c1.1", loop.Vetoed, 2, []string{"c1.0", "c1.0.0.0", "c1.1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, scenario, loop.SubAgent(loop.Delegate{Tools: []loop.Tool{look()}}))
			var asked []string
			b.cfg.Hooks.BeforeRequest = func(_ context.Context, r loop.Outgoing) (o loop.Objection) {
				at := r.Conv + "." + string('0'+rune(r.Turn))
				asked = append(asked, at)
				o.Record = []plan.Body{plan.HookRan{Event: "request", Action: "passed"}}
				if at == c.veto {
					o.Why = "not on a Friday"
				}
				return o
			}
			end := b.run("Go.")
			if end.Reason != c.reason || end.Reason == loop.Vetoed && end.Rejection != "not on a Friday" {
				t.Errorf("%+v", end)
			}
			if n := len(b.server.Requests()); n != c.requests {
				t.Errorf("%d requests were made", n)
			}
			if diff := cmp.Diff(c.asked, asked); diff != "" {
				t.Error(diff)
			}
			recorded := 0
			for _, ev := range b.j.events() {
				if ev.Type() == plan.TypeHook {
					recorded++
				}
			}
			if recorded != len(asked) {
				t.Errorf("%d of %d hooks are in the journal", recorded, len(asked))
			}
			balanced(t, b.j.events())
		})
	}
}

// TestATurnTellsWhatItUsed: once its end is recorded, with what failed tries and an
// earlier process paid.
func TestATurnTellsWhatItUsed(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\nturn = 0\n[reply.usage]\ninput = 20\noutput = 10\n"+
		"[[reply.call]]\nname = \"look\"\nargs = { n = 1 }\n"+
		"[[reply]]\nturn = 1\ntext = \"Done.\"\n[reply.usage]\ninput = 40\noutput = 2\n", look())
	b.cfg.Price = func(_ string, u plan.Usage) (float64, bool) { return float64(u.Input), true }
	var told []loop.Turned
	b.cfg.Hooks.TurnEnd = func(_ context.Context, turn loop.Turned) {
		events := b.j.events()
		last, ok := events[len(events)-1].Body.(plan.TurnEnd)
		if !ok || last.Reason != turn.Reason {
			t.Errorf("turn %d was told before it was recorded", turn.Turn)
		}
		told = append(told, turn)
	}
	b.run("Go.")
	want := []loop.Turned{
		{Turn: 0, Reason: "completed", Usage: plan.Usage{Requests: 1, Input: 20, Output: 10}, CostUSD: 20},
		{Turn: 1, Reason: "completed", Usage: plan.Usage{Requests: 1, Input: 40, Output: 2}, CostUSD: 40},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	paid := slices.IndexFunc(b.j.events(), func(ev plan.Event) bool { return ev.Type() == plan.TypeUsage })
	past := b.j.events()[:paid+1]
	told = nil
	b.j.commits = [][]plan.Event{past}
	if _, err := b.loop(past...).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("by another process: %s", diff)
	}
}

// TestARequestHasAnEnd: with all its tries and waits.
func TestARequestHasAnEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\n[reply.fault]\nkind = \"status\"\nstatus = 500\ntimes = 0\n")
	b.cfg.Retry = loop.Retry{Served: 100, Whole: 5 * time.Second}
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	b.cfg.Now = func() time.Time { return now }
	b.cfg.Sleep = func(ctx context.Context, d time.Duration) error {
		b.slept = append(b.slept, d)
		now = now.Add(d)
		return ctx.Err()
	}
	_, err := b.loop().Run(context.Background(), plan.UserText("Go."))
	if me, ok := loop.AsModelError(err); !ok || me.Kind != loop.ErrServed {
		t.Errorf("failed with %v", err)
	}
	if want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}; !slices.Equal(b.slept, want) {
		t.Errorf("it waited %v, want %v", b.slept, want)
	}
	b = setup(t, "[[reply]]\ntext = \"x\"\n[reply.fault]\nkind = \"hang\"\n")
	b.cfg.Retry.Whole = 50 * time.Millisecond
	_, err = b.loop().Run(context.Background(), plan.UserText("Go."))
	if me, ok := loop.AsModelError(err); !ok || me.Kind != loop.ErrIdle || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("failed with %v", err)
	}
	balanced(t, b.j.events())
}
