package loop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// TestAToolErrorLeavesNothingOpen: the run cannot go on, but what was started
// ends, and calls that were not begun are said to be so.
func TestAToolErrorLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	gone := errors.New("the disk is gone")
	for _, c := range []struct {
		name   string
		serial bool
		status []string // of the calls, in call order
	}{
		{"one by one", true, []string{"", "", "cancelled"}},
		{"at the same time", false, nil}, // which of them is first is left open
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var ran atomic.Int32
			broken := tool("act", plan.EffectUnknown, c.serial, nil).(fake)
			broken.run = func(ctx context.Context, in loop.Input) (loop.Result, error) {
				ran.Add(1)
				if strings.Contains(string(in.Args), "2") {
					return loop.Result{}, gone
				}
				return loop.Result{Output: "ok"}, nil
			}
			b := setup(t, `
[[reply]]
  [[reply.call]]
  name = "act"
  args = { n = 1 }
  [[reply.call]]
  name = "act"
  args = { n = 2 }
  [[reply.call]]
  name = "act"
  args = { n = 3 }
`, broken)
			if _, err := b.loop().Run(context.Background(), plan.UserText("Go.")); !errors.Is(err, gone) {
				t.Fatalf("got %v", err)
			}
			balanced(t, b.j.events())
			if n := len(b.results()); n != 3 {
				t.Errorf("%d of 3 calls have a result", n)
			}
			if c.serial {
				var status []string
				for _, r := range b.results() {
					status = append(status, r.Status)
				}
				if diff := cmp.Diff(c.status, status); diff != "" || ran.Load() != 2 {
					t.Errorf("%d calls ran; their ends:\n%s", ran.Load(), diff)
				}
			}
			events := b.j.events()
			last, ok := events[len(events)-2].Body.(plan.TurnEnd)
			whole, ended := events[len(events)-1].Body.(plan.ConvEnd)
			if !ok || last.Reason != plan.EndError || !ended || whole.Reason != plan.EndError {
				t.Errorf("the journal ends with %+v", events[len(events)-1].Body)
			}
			// A process that goes on from here finds a conversation that is whole.
			if l := b.loop(events...); len(l.Messages()) != 3 || len(l.Messages()[2].Blocks) != 3 {
				t.Errorf("restored: %+v", l.Messages())
			}
		})
	}
}

// TestNothingIsRecordedAfterAFailedCommit: no process knows what the failed one
// left behind, so that even a journal which would take more gets no more.
func TestNothingIsRecordedAfterAFailedCommit(t *testing.T) {
	t.Parallel()
	const retried = `
[[reply]]
turn = 0
  [reply.fault]
  kind = "status"
  status = 500
  times = 1
  [[reply.call]]
  name = "look"
  args = { n = 1 }
[[reply]]
turn = 1
text = "Done."
`
	full := errors.New("disk full")
	for fail := 1; fail <= 5; fail++ {
		t.Run(fmt.Sprint("commit ", fail), func(t *testing.T) {
			t.Parallel()
			b := setup(t, retried, look())
			commits, after := 0, 0
			b.cfg.Emit = func(ctx context.Context, events ...plan.Event) error {
				if events[0].Live() {
					return b.j.emit(ctx, events...)
				}
				commits++
				switch {
				case commits == fail:
					return full
				case commits > fail:
					after++
				}
				return b.j.emit(ctx, events...)
			}
			l := b.loop()
			requests := 0
			if _, err := l.Run(context.Background(), plan.UserText("Go.")); !errors.Is(err, full) {
				t.Fatalf("got %v", err)
			}
			requests = len(b.server.Requests())
			if _, err := l.Run(context.Background(), plan.UserText("Again.")); !errors.Is(err, full) {
				t.Errorf("run again, it came to %v", err)
			}
			if after > 0 || len(b.server.Requests()) != requests {
				t.Errorf("%d commits and %d requests came after the failure", after, len(b.server.Requests())-requests)
			}
		})
	}
}

// TestReadersFindAListOfBlocks: a message without a word has none, not null.
func TestReadersFindAListOfBlocks(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{
		"an empty answer":       "kind = \"empty\"\ntimes = 0",
		"an answer that failed": "kind = \"status\"\nstatus = 401",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "[[reply]]\n[reply.fault]\n"+fault+"\n")
			_, _ = b.loop().Run(context.Background(), plan.UserText("Go."))
			seen := 0
			for _, ev := range b.j.events() {
				if ev.Type() != plan.TypeMessageEnd {
					continue
				}
				line, err := ev.AppendJSON(nil)
				if err != nil {
					t.Fatal(err)
				}
				if seen++; strings.Contains(string(line), `"blocks":null`) || !strings.Contains(string(line), `"blocks":[`) {
					t.Errorf("the journal has %s", line)
				}
			}
			if seen != 2 {
				t.Errorf("%d messages", seen)
			}
		})
	}
}
