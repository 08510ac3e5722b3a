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

// tooLong is how a server refuses; window 0 stands for one that does not say.
func tooLong(window int64) error {
	return &loop.ModelError{Kind: loop.ErrTooLong, Status: 400, Message: "the prompt is too long", Window: window}
}

// narrow plays a server with a window that the settings do not know. It looks
// until it has seen many pages.
func narrow(window int64, named bool) func(int, loop.Call) (loop.Answer, error) {
	return func(_ int, call loop.Call) (loop.Answer, error) {
		if len(call.Tools) == 0 {
			return says("Known: pages were read."), nil
		}
		size := sizeOf(call)
		switch {
		case size > window && named:
			return loop.Answer{}, tooLong(window)
		case size > window:
			return loop.Answer{}, tooLong(0)
		}
		ans := says("Done.")
		if n := countCalls(call.Messages); n < 24 {
			ans = looks(n)
		}
		ans.Usage.Input = size
		return ans, nil
	}
}

// countCalls is the number of the next call: ids outlive what is taken out.
func countCalls(messages []plan.Message) int {
	next := 0
	for _, m := range messages {
		for _, b := range m.Blocks {
			var n int
			if _, err := fmt.Sscanf(b.Call, "call%d", &n); err == nil {
				next = max(next, n+1)
			}
		}
	}
	return next
}

// page is a tool that shows something large.
func page(bytes int) loop.Tool {
	return tool("look", plan.EffectReplay, false, func(_ context.Context, n int) string {
		line := fmt.Sprintf("line of page %d\n", n)
		return strings.Repeat(line, bytes/len(line))
	})
}

// TestAWindowIsLearntFromARefusal: a conversation that a server finds too long
// goes on with less history, whether or not the server says how much it takes,
// and so does a process that takes over at any commit.
func TestAWindowIsLearntFromARefusal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		says  bool
		level loop.Level
		how   string
	}{
		{"it says", true, loop.CompactSafe, plan.WindowSaid},
		{"it does not say", false, loop.CompactSafe, plan.WindowGuessed},
		{"it says, with summaries", true, loop.CompactFull, plan.WindowSaid},
		{"it does not say, with summaries", false, loop.CompactFull, plan.WindowGuessed},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const window = 12_000
			fresh := func() (*bench, *player) {
				b, p := played(t, narrow(window, c.says), page(6000))
				b.cfg.Compaction = c.level
				return b, p
			}
			b, p := fresh()
			var told []string
			b.cfg.LearnWindow = func(model string, window int64) { told = append(told, fmt.Sprint(model, " ", window)) }
			l := b.loop()
			end, err := l.Run(context.Background(), plan.UserText("Read it all, please."))
			if err != nil || end.Reason != loop.Completed || end.Text != "Done." {
				t.Fatalf("ended with %+v, %v", end, err)
			}
			events := b.j.events()
			balanced(t, events)
			starts := those[plan.CompactionStart](events)
			if len(starts) == 0 || starts[0].Learnt != c.how || starts[0].Window > window+window/4 || starts[0].Window < window/2 {
				t.Errorf("learnt %+v", starts)
			}
			if retries := those[plan.Retry](events); len(retries) == 0 || len(retries) > 3 || retries[0].Status != 400 ||
				!strings.Contains(retries[0].Reason, "history was made shorter: the model server answered 400: the prompt is too long") {
				t.Errorf("made again: %+v", retries)
			}
			if c.says != (len(told) == 1 && told[0] == "m 12000") {
				t.Errorf("told on: %q", told)
			}
			sent := map[string]bool{}
			for _, call := range p.calls {
				sent[asked(t, call)] = true
			}
			for _, cut := range cuts(t, b.j.commits) {
				again, q := fresh()
				again.j.commits = append([][]plan.Event(nil), b.j.commits[:cut+1]...)
				l2 := again.loop(again.j.events()...)
				if _, err := l2.Run(context.Background()); err != nil {
					t.Fatalf("after commit %d: %v", cut+1, err)
				}
				if diff := cmp.Diff(l.Messages(), l2.Messages()); diff != "" {
					t.Fatalf("after commit %d the conversation differs:\n%s", cut+1, diff)
				}
				for _, call := range q.calls {
					if !sent[asked(t, call)] {
						t.Errorf("after commit %d a request is new", cut+1)
					}
				}
				balanced(t, again.j.events())
			}
		})
	}
}

// TestWhatTheModelHasNotSeenIsShortened where nothing else makes a request fit,
// whether or not the window is known before.
func TestWhatTheModelHasNotSeenIsShortened(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		window int64 // as the settings know it
		calls  int
	}{
		"it is known":  {8000, 2},
		"it is learnt": {0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, p := played(t, func(n int, call loop.Call) (loop.Answer, error) {
				switch {
				case n == 0:
					return looks(1), nil
				case sizeOf(call) > 5000:
					return loop.Answer{}, tooLong(0)
				}
				return says("Done."), nil
			}, page(60_000))
			b.cfg.Window = c.window
			if end := b.run("Go."); end.Text != "Done." {
				t.Fatalf("ended with %+v", end)
			}
			last := p.calls[len(p.calls)-1].Messages
			shown := last[len(last)-1].Blocks[0]
			if !strings.Contains(shown.Text, "to see the whole, read path \"blob:") || shown.Blob == "" {
				t.Errorf("the model reads %.300q", shown.Text)
			}
			if len(p.calls) != c.calls {
				t.Errorf("%d calls, want %d", len(p.calls), c.calls)
			}
			balanced(t, b.j.events())
		})
	}
}

// TestARequestThatStaysTooLong is given up, with the server's words.
func TestARequestThatStaysTooLong(t *testing.T) {
	t.Parallel()
	stays := func(n int, _ loop.Call) (loop.Answer, error) {
		if n < 8 {
			return looks(n), nil
		}
		return loop.Answer{}, tooLong(0)
	}
	for _, c := range []struct {
		name  string
		level loop.Level
		calls int
	}{
		{"after three times", loop.CompactSafe, 12},
		{"at once, where nothing may be changed", loop.CompactOff, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, p := played(t, stays, page(30_000))
			b.cfg.Compaction = c.level
			_, err := b.loop().Run(context.Background(), plan.UserText("Go."))
			if me, ok := loop.AsModelError(err); !ok || me.Kind != loop.ErrTooLong {
				t.Fatalf("failed with %v", err)
			}
			if len(p.calls) > c.calls || c.level == loop.CompactOff && len(p.calls) != c.calls {
				t.Errorf("%d calls, want %d", len(p.calls), c.calls)
			}
			balanced(t, b.j.events())
			if turns := those[plan.TurnEnd](b.j.events()); turns[len(turns)-1].Reason != plan.EndError {
				t.Errorf("the last turn ended as %+v", turns[len(turns)-1])
			}
		})
	}
	t.Run("where nothing can be made shorter", func(t *testing.T) {
		t.Parallel()
		b, p := played(t, func(int, loop.Call) (loop.Answer, error) { return loop.Answer{}, tooLong(0) })
		_, err := b.loop().Run(context.Background(), plan.UserText(strings.Repeat("a long request ", 3000)))
		if me, ok := loop.AsModelError(err); !ok || me.Kind != loop.ErrTooLong || len(p.calls) != 1 {
			t.Fatalf("failed with %v after %d calls", err, len(p.calls))
		}
		balanced(t, b.j.events())
	})
}

// TestAGoodTurnAllowsToMakeItShorterAgain: three refusals in a row are the end,
// not three in a conversation.
func TestAGoodTurnAllowsToMakeItShorterAgain(t *testing.T) {
	t.Parallel()
	refused := 0
	b, _ := played(t, func(n int, call loop.Call) (loop.Answer, error) {
		next := countCalls(call.Messages)
		switch {
		case next >= 30:
			return says("Done."), nil
		case next%5 == 4 && refused < next/5+1:
			refused++
			return loop.Answer{}, tooLong(0)
		}
		return looks(next), nil
	}, page(9000))
	if end := b.run("Go."); end.Text != "Done." || refused < 5 {
		t.Errorf("ended with %+v after %d refusals", end, refused)
	}
	balanced(t, b.j.events())
}

// TestTheAnswerMakesRoom: where the room that is asked for the answer is what
// does not fit, the history stays as it is.
func TestTheAnswerMakesRoom(t *testing.T) {
	t.Parallel()
	b, p := played(t, func(n int, call loop.Call) (loop.Answer, error) {
		if n == 0 {
			return loop.Answer{}, tooLong(8192)
		}
		return says("Done."), nil
	})
	b.cfg.Settings.MaxOutputTokens = 8000
	if end := b.run(strings.Repeat("word ", 2000)); end.Text != "Done." {
		t.Fatalf("ended with %+v", end)
	}
	if got := p.calls[1].Settings.MaxOutputTokens; got >= 6000 || got < 4000 {
		t.Errorf("room for %d tokens is asked", got)
	}
	if len(compactions(b.j.events())) != 0 || len(those[plan.Retry](b.j.events())) != 1 {
		t.Error("the history was touched")
	}
	balanced(t, b.j.events())
}

// TestAWindowThatBecomesKnown counts from the next request on.
func TestAWindowThatBecomesKnown(t *testing.T) {
	t.Parallel()
	b, p := played(t, func(n int, _ loop.Call) (loop.Answer, error) { return looks(n), nil }, page(6000))
	b.cfg.Limits.Turns = 20
	b.cfg.WindowOf = func(model string) int64 {
		if model != "m" || len(p.calls) < 12 {
			return 0
		}
		return 16_000
	}
	if end := b.run("Go."); end.Limit == nil || end.Limit.Kind != "turns" {
		t.Fatalf("ended with %+v", end)
	}
	got := those[plan.CompactionStart](b.j.events())
	if len(got) == 0 || got[0].Window != 16_000 || got[0].Learnt != "" {
		t.Errorf("compactions: %+v", got)
	}
}
