package loop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// texts lists what the user messages of a conversation say, in short.
func texts(l *loop.Loop) []string {
	var out []string
	for _, m := range l.Messages() {
		if m.Role == plan.RoleUser {
			words := strings.Split(m.Text(), "\n")
			out = append(out, m.Origin+"|"+words[len(words)-1])
		}
	}
	return out
}

const twoTurns = `
[[reply]]
user = 1
turn = 0
  [[reply.call]]
  name = "look"
  args = { n = 1 }
[[reply]]
text = "Done."
`

func TestSteeringIsTakenInBeforeTheNextTurn(t *testing.T) {
	t.Parallel()
	b := setup(t, twoTurns, look())
	var q loop.Queue
	b.cfg.Mail = &q
	once := false
	b.j.onEvent = func(ev plan.Event) {
		if ev.Type() == plan.TypeToolEnd && !once {
			once = true
			q.Put(loop.Steer, "mind the gap")
			q.Put(loop.Steer, "and the other one")
		}
	}
	l := b.loop()
	end, err := l.Run(context.Background(), plan.UserText("Go."))
	if err != nil || end.Reason != loop.Completed {
		t.Fatal(end, err)
	}
	want := []string{"|Go.", "steering|mind the gap", "steering|and the other one"}
	if diff := cmp.Diff(want, texts(l)); diff != "" {
		t.Error(diff)
	}
	if left, _ := q.Waiting(context.Background()); len(left) != 0 {
		t.Errorf("%v still waits", left)
	}
	balanced(t, b.j.events())
}

func TestAFollowUpStartsTheLoopAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, twoTurns, look())
	var q loop.Queue
	b.cfg.Mail = &q
	q.Put(loop.FollowUp, "then this")
	q.Put(loop.FollowUp, "and that")
	l := b.loop()
	if _, err := l.Run(context.Background(), plan.UserText("Go.")); err != nil {
		t.Fatal(err)
	}
	want := []string{"|Go.", "follow_up|then this", "follow_up|and that"}
	if diff := cmp.Diff(want, texts(l)); diff != "" {
		t.Error(diff)
	}
	// One at a time: each is answered before the next is taken.
	if got := len(b.server.Requests()); got != 4 {
		t.Errorf("%d requests, want 4", got)
	}
	b.cfg.FollowUpDelivery = loop.AllAtOnce
	q.Put(loop.FollowUp, "one")
	q.Put(loop.FollowUp, "two")
	if _, err := b.loop(b.j.events()...).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := len(b.server.Requests()); got != 5 {
		t.Errorf("%d requests, want 5: two follow-ups at once are answered once", got)
	}
}

func TestSteeringSkipsTheRestOfASerialBatch(t *testing.T) {
	t.Parallel()
	var q loop.Queue
	var ran []int
	write := tool("write", plan.EffectVerifiable, true, func(_ context.Context, n int) string {
		ran = append(ran, n)
		q.Put(loop.Steer, "stop writing")
		return "ok"
	})
	b := setup(t, `
[[reply]]
user = 1
turn = 0
  [[reply.call]]
  name = "write"
  args = { n = 1 }
  [[reply.call]]
  name = "write"
  args = { n = 2 }
[[reply]]
text = "Done."
`, write)
	b.cfg.Mail = &q
	b.run("Go.")
	if diff := cmp.Diff([]int{1}, ran); diff != "" {
		t.Error(diff)
	}
	if got := b.results()[1]; !got.Error || !strings.Contains(got.Output, "Skipped") {
		t.Errorf("the model reads %+v", got)
	}
	balanced(t, b.j.events())
}

func TestALimitLosesNoLetter(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\n[[reply.call]]\nname = \"look\"\nargs = { n = 1 }\n", look())
	var q loop.Queue
	b.cfg.Mail, b.cfg.Limits = &q, plan.Limits{Turns: 1}
	q.Put(loop.FollowUp, "later")
	if end := b.run("Go."); end.Reason != loop.Limited {
		t.Fatalf("ended with %+v", end)
	}
	if left, _ := q.Waiting(context.Background()); len(left) != 1 {
		t.Errorf("%v waits, want the follow-up", left)
	}
	l := b.loop(b.j.events()...)
	if got := texts(l); !strings.Contains(got[len(got)-1], "[stopped: the limit on turns was reached]") {
		t.Errorf("the transcript ends with %q", got)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	b := setup(t, twoTurns, look())
	var q loop.Queue
	b.cfg.Mail = &q
	b.cfg.Filters = []loop.Filter{func(_ context.Context, text string) loop.Screening {
		switch {
		case strings.Contains(text, "forbidden"):
			return loop.Screening{Reject: "it is forbidden"}
		case strings.Contains(text, "odd"):
			return loop.Screening{Warn: "this is odd"}
		}
		return loop.Screening{}
	}}
	end, err := b.loop().Run(context.Background(), plan.UserText("something forbidden"))
	if err != nil || end.Reason != loop.Rejected || len(b.server.Requests()) != 0 {
		t.Errorf("a rejected prompt ends with %+v, %v after %d requests", end, err, len(b.server.Requests()))
	}
	// A rejected letter is dropped; the run goes on.
	q.Put(loop.Steer, "forbidden too")
	q.Put(loop.Steer, "an odd thing")
	l := b.loop()
	if end, err = l.Run(context.Background(), plan.UserText("Go.")); err != nil || end.Reason != loop.Completed {
		t.Fatal(end, err)
	}
	got := fmt.Sprint(texts(l))
	if strings.Contains(got, "forbidden") || !strings.Contains(got, "[note: this is odd]") {
		t.Errorf("the model reads %s", got)
	}
	filtered := 0
	for _, ev := range b.j.events() {
		if ev.Type() == plan.TypeFiltered {
			filtered++
		}
	}
	if filtered != 3 {
		t.Errorf("%d filtered events, want 3", filtered)
	}
}
