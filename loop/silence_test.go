package loop_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// TestAnAnswerThatIsNone is asked for again, twice, in words that do not stay in
// the conversation.
func TestAnAnswerThatIsNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		blocks []plan.Block
		reason string
		told   bool // the requests that follow ask for more
	}{
		{"only reasoning", []plan.Block{thought("I should look.")}, "the model only reasoned and said nothing", true},
		{"reasoning and blanks", []plan.Block{thought("Hm."), {Type: plan.BlockText, Text: " \n"}}, "the model " +
			"only reasoned and said nothing", true},
		{"nothing", nil, "the model answered nothing", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, p := played(t, func(n int, _ loop.Call) (loop.Answer, error) {
				if n < 2 {
					return answered(c.blocks...), nil
				}
				return says("Done."), nil
			}, look())
			l := b.loop()
			if end, err := l.Run(context.Background(), plan.UserText("Go.")); err != nil || end.Text != "Done." {
				t.Fatalf("ended with %+v, %v", end, err)
			}
			var asked []string
			for _, call := range p.calls {
				last := call.Messages[len(call.Messages)-1]
				told := strings.Contains(last.Text(), "Call a tool now, or answer")
				asked = append(asked, fmt.Sprintf("%d %s %t", len(call.Messages), last.Role, told))
			}
			want := []string{"1 user false", "1 user false", "1 user false"}
			if c.told {
				want = []string{"1 user false", "2 user true", "2 user true"}
			}
			if diff := cmp.Diff(want, asked); diff != "" {
				t.Error(diff)
			}
			if n := len(l.Messages()); n != 2 {
				t.Errorf("the conversation has %d messages", n)
			}
			for _, r := range those[plan.Retry](b.j.events()) {
				if r.Reason != c.reason {
					t.Errorf("made again because %q", r.Reason)
				}
			}
			balanced(t, b.j.events())
		})
	}
}

func TestOnlyReasoningIsTheEndInTheEnd(t *testing.T) {
	t.Parallel()
	b, p := played(t, func(int, loop.Call) (loop.Answer, error) { return answered(thought("Hm.")), nil })
	if end := b.run("Go."); end.Reason != loop.Completed || end.Text != "" || len(p.calls) != 3 {
		t.Errorf("ended with %+v after %d calls", end, len(p.calls))
	}
	if got := p.calls[1].Messages[1].Text(); strings.Contains(got, "tool") {
		t.Errorf("without tools it is told %q", got)
	}
	balanced(t, b.j.events())
}

// TestAServerThatTakesNoSecondQuestion is asked again without it.
func TestAServerThatTakesNoSecondQuestion(t *testing.T) {
	t.Parallel()
	b, p := played(t, func(n int, call loop.Call) (loop.Answer, error) {
		switch {
		case n == 0:
			return answered(thought("Hm.")), nil
		case len(call.Messages) > 1:
			return loop.Answer{}, &loop.ModelError{Kind: loop.ErrRefused, Status: 400, Message: "roles must alternate"}
		}
		return says("Done."), nil
	})
	if end := b.run("Go."); end.Text != "Done." || len(p.calls) != 3 {
		t.Errorf("ended with %+v after %d calls", end, len(p.calls))
	}
	balanced(t, b.j.events())
}

// TestCallsInReasoning run where the answer is nothing else, and ends with them.
func TestCallsInReasoning(t *testing.T) {
	t.Parallel()
	const call = `<tool_call>{"name":"functions.look","arguments":{"n":7}}</tool_call>`
	for _, c := range []struct {
		name  string
		first loop.Answer
		ran   bool
	}{
		{"at the end", answered(thought("I need it.\n" + call)), true},
		{"in tokens of its own", answered(thought("I need it.\n[TOOL_CALLS]look{\"n\":7}")), true},
		{"before more of it", answered(thought(call + "\nBut no, I know enough.")), false},
		{"in code", answered(thought("It is `" + call + "`")), false},
		{"beside words", answered(thought(call), plan.Block{Type: plan.BlockText, Text: "It is done."}), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, _ := played(t, func(n int, _ loop.Call) (loop.Answer, error) {
				if n == 0 {
					return c.first, nil
				}
				return says("Done."), nil
			}, look())
			b.run("Go.")
			got := b.results()
			if c.ran != (len(got) == 1) || c.ran && got[0].Output != "saw 7" {
				t.Errorf("ran %+v", got)
			}
			balanced(t, b.j.events())
		})
	}
}

// TestSilence is met with more patience each time, and not for ever.
func TestSilence(t *testing.T) {
	t.Parallel()
	b, p := played(t, func(int, loop.Call) (loop.Answer, error) {
		return loop.Answer{}, &loop.ModelError{Kind: loop.ErrIdle, Message: "no byte for 15 minutes"}
	})
	_, err := b.loop().Run(context.Background(), plan.UserText("Go."))
	if me, ok := loop.AsModelError(err); !ok || me.Kind != loop.ErrIdle {
		t.Fatalf("failed with %v", err)
	}
	var patience []int
	for _, call := range p.calls {
		patience = append(patience, call.Patience)
	}
	if diff := cmp.Diff([]int{0, 1, 2}, patience); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(asked(t, p.calls[2]), "atience") {
		t.Error("it is written down")
	}
}

// TestAServerThatIsNotThere is given up soon before it ever answered, and later
// where it has.
func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	gone := &loop.ModelError{Kind: loop.ErrUnreachable, Message: "connection refused"}
	closed := &loop.ModelError{Kind: loop.ErrUnserved, Message: "EOF"}
	loading := &loop.ModelError{Kind: loop.ErrUnserved, Status: http.StatusServiceUnavailable}
	for _, c := range []struct {
		name        string
		fails       *loop.ModelError
		kind        loop.ErrorKind
		answers     int
		spent       plan.Usage
		least, most time.Duration
	}{
		{"never", gone, loop.ErrUnreachable, 0, plan.Usage{}, 5 * time.Second, 10 * time.Second},
		{"in this conversation", gone, loop.ErrUnreachable, 1, plan.Usage{}, time.Minute, 2 * time.Minute},
		{"earlier in the run", gone, loop.ErrUnreachable, 0, plan.Usage{Requests: 3}, time.Minute, 2 * time.Minute},
		{"closes at once", closed, loop.ErrUnreachable, 0, plan.Usage{}, 5 * time.Second, 10 * time.Second},
		{"closes after an answer", closed, loop.ErrUnserved, 1, plan.Usage{}, 3 * time.Minute, 5 * time.Minute},
		{"is loading", loading, loop.ErrUnserved, 0, plan.Usage{}, 3 * time.Minute, 5 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b, _ := played(t, func(n int, _ loop.Call) (loop.Answer, error) {
				if n < c.answers {
					return looks(n), nil
				}
				return loop.Answer{}, c.fails
			}, look())
			b.cfg.Spent = c.spent
			_, err := b.loop().Run(context.Background(), plan.UserText("Go."))
			if me, ok := loop.AsModelError(err); !ok || me.Kind != c.kind {
				t.Fatalf("failed with %v", err)
			}
			var waited time.Duration
			for _, d := range b.slept {
				waited += d
			}
			if waited < c.least || waited > c.most {
				t.Errorf("waited %s", waited)
			}
			balanced(t, b.j.events())
		})
	}
}

// TestAnAnswerWithoutAnEnd is made again with words that ask for less: once where
// it was too long, and as often as any other silence where it took too long.
func TestAnAnswerWithoutAnEnd(t *testing.T) {
	t.Parallel()
	for kind, want := range map[loop.ErrorKind]int{loop.ErrOverlong: 2, loop.ErrIdle: 3} {
		const bound = "says more than 8MiB"
		b, p := played(t, func(int, loop.Call) (loop.Answer, error) {
			return loop.Answer{}, &loop.ModelError{Kind: kind, Message: "given up", Bound: bound}
		})
		_, err := b.loop().Run(context.Background(), plan.UserText("Go."))
		if me, ok := loop.AsModelError(err); !ok || me.Kind != kind || len(p.calls) != want {
			t.Errorf("%s: failed with %v after %d requests, want %d", kind, err, len(p.calls), want)
		}
		for i, call := range p.calls {
			last := call.Messages[len(call.Messages)-1].Text()
			if told := strings.Contains(last, bound); told != (i > 0) {
				t.Errorf("%s: request %d ends with %q", kind, i, last)
			}
		}
		if n := len(those[plan.Retry](b.j.events())); n != want-1 {
			t.Errorf("%s: %d retries in the journal", kind, n)
		}
		balanced(t, b.j.events())
	}
}

// TestTooManyCalls: those over the bound are answered, and not run. They are no
// storm either: the model may send them again.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	const made, run = 2_000, 64
	b, p := played(t, func(n int, _ loop.Call) (loop.Answer, error) {
		if n > 0 {
			return says("Done."), nil
		}
		ans := loop.Answer{Message: plan.Message{Role: plan.RoleAssistant}, Stop: loop.StopTools}
		for i := range made {
			ans.Message.Blocks = append(ans.Message.Blocks, looks(i).Message.Blocks...)
		}
		return ans, nil
	}, look())
	if end := b.run("Go."); end.Text != "Done." {
		t.Fatalf("ended with %+v", end)
	}
	got := b.results()
	if len(got) != made {
		t.Fatalf("%d results", len(got))
	}
	size := 0
	results := p.calls[1].Messages[2].Blocks
	for i, b := range results {
		if ran := strings.HasPrefix(b.Text, "saw"); ran != (i < run) || b.Error == ran {
			t.Fatalf("call %d: %+v", i, b)
		}
		size += len(b.Text)
	}
	if !strings.Contains(results[run].Text, "more than 64 calls") || size > made*50 {
		t.Errorf("the model is told %q and so on, %d bytes", results[run].Text, size)
	}
	if len(p.calls) != 2 || len(those[plan.StormBroken](b.j.events())) > 0 {
		t.Errorf("%d requests, %d storms", len(p.calls), len(those[plan.StormBroken](b.j.events())))
	}
	balanced(t, b.j.events())
}
