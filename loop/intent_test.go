package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// cell is a verifiable tool over one number that stands for a file. Its call
// puts n there if what was there is less.
type cell struct {
	fake
	value  int
	writes int
	inputs []loop.Input
}

func newCell() *cell {
	c := &cell{}
	c.fake = tool("put", plan.EffectVerifiable, true, nil).(fake)
	c.run = func(context.Context, loop.Input) (loop.Result, error) {
		return loop.Result{}, errors.New("a call with an intent is not run, it is applied")
	}
	return c
}

func (c *cell) Prepare(_ context.Context, in loop.Input) (plan.Intent, error) {
	c.inputs = append(c.inputs, in)
	var args struct{ N int }
	if err := json.Unmarshal(in.Args, &args); err != nil {
		return plan.Intent{}, err
	}
	return plan.Intent{
		Key: in.Key, Output: fmt.Sprintf("%d, it was %d", args.N, c.value),
		Files: []plan.FileChange{{Path: "cell", Before: fmt.Sprint(c.value), After: fmt.Sprint(args.N)}},
	}, nil
}

func (c *cell) Apply(_ context.Context, in loop.Input, intent plan.Intent) (loop.Result, error) {
	c.inputs = append(c.inputs, in)
	f := intent.Files[0]
	switch fmt.Sprint(c.value) {
	case f.After:
	case f.Before:
		if _, err := fmt.Sscan(f.After, &c.value); err != nil {
			return loop.Result{}, err
		}
		c.writes++
	default:
		return loop.Result{Output: "somebody else has changed it", Error: true, Status: "conflict"}, nil
	}
	return loop.Result{Output: intent.Output}, nil
}

const puts = `
[[reply]]
turn = 0
  [[reply.call]]
  name = "put"
  args = { n = 1 }
  [[reply.call]]
  name = "look"
  args = { n = 7 }
  [[reply.call]]
  name = "put"
  args = { n = 2 }
[[reply]]
turn = 1
  [[reply.call]]
  name = "put"
  args = { n = 3 }
[[reply]]
turn = 2
text = "Done."
`

// TestAVerifiableCallIsAppliedWhereverItStopped cuts a conversation after each
// commit, once before and once after the effect that was intended then. Every
// cut must come to the same conversation, the same requests and the same value,
// and each change is made once.
func TestAVerifiableCallIsAppliedWhereverItStopped(t *testing.T) {
	t.Parallel()
	file := newCell()
	whole := setup(t, puts, file, look())
	whole.run("Go.")
	want, bodies := whole.loop(whole.j.events()...).Messages(), requestBodies(whole)
	if file.value != 3 || file.writes != 3 {
		t.Fatalf("the value is %d after %d writes", file.value, file.writes)
	}
	for cut := 1; cut <= len(whole.j.commits); cut++ {
		for _, effect := range []bool{false, true} {
			b := setup(t, puts)
			b.j.commits = slices.Clone(whole.j.commits[:cut])
			past := b.j.events()
			again := newCell()
			again.value, again.writes = valueAfter(past, effect)
			b.cfg.Tools = []loop.Tool{again, look()}
			l := b.loop(past...)
			if _, err := l.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("after commit %d, effect %v", cut, effect)
			if again.value != 3 || again.writes != 3 {
				t.Errorf("%s: the value is %d after %d writes", name, again.value, again.writes)
			}
			if diff := cmp.Diff(want, l.Messages()); diff != "" {
				t.Errorf("%s: the conversation differs:\n%s", name, diff)
			}
			for _, body := range requestBodies(b) {
				if !slices.ContainsFunc(bodies, func(w []byte) bool { return string(w) == string(body) }) {
					t.Errorf("%s: a request was never made before:\n%s", name, body)
				}
			}
			balanced(t, b.j.events())
		}
	}
}

// valueAfter is what the journalled calls have put there; with effect, the one
// that was begun last is done as well.
func valueAfter(past []plan.Event, effect bool) (value, writes int) {
	for _, ev := range past {
		b, ok := ev.Body.(plan.ToolStart)
		if !ok || b.Name != "put" {
			continue
		}
		ended := slices.ContainsFunc(past, func(x plan.Event) bool {
			end, ok := x.Body.(plan.ToolEnd)
			return ok && end.Call == b.Call
		})
		if ended || effect {
			if _, err := fmt.Sscan(b.Intent.Files[0].After, &value); err != nil {
				panic(err)
			}
			writes++
		}
	}
	return value, writes
}

// TestIntentsCostNoCommits: the first intent is committed with the answer, each
// further one with the result before it.
func TestIntentsCostNoCommits(t *testing.T) {
	t.Parallel()
	b := setup(t, puts, newCell(), look())
	b.run("Go.")
	var got []string
	for _, commit := range b.j.commits {
		var types []string
		for _, ev := range commit {
			switch x := ev.Body.(type) {
			case plan.ToolStart:
				types = append(types, "start "+x.Name)
			case plan.ToolEnd:
				types = append(types, "end "+x.Name)
			case plan.MessageEnd:
				types = append(types, string(x.Role))
			}
		}
		got = append(got, strings.Join(types, ", "))
	}
	want := []string{"user", "assistant, start put", "end put, start look", "end look, start put", "end put", "assistant, start put", "end put", "assistant"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTheIntentIsWrittenFirst: when a tool runs, its intent is committed. It
// ends completed, failed with the error's text, or cancelled.
func TestTheIntentIsWrittenFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		cancel       bool // before the call starts
		err          error
		status, says string
		failed       bool
	}{
		{name: "completed", says: "ran"},
		{name: "failed", err: errors.New("the disk is gone"), says: "the disk is gone", failed: true},
		{name: "cancelled before it started", cancel: true, status: "cancelled", says: "nothing was done", failed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			ran := false
			var b *bench
			act := tool("act", plan.EffectUnknown, true, nil).(fake)
			act.run = func(_ context.Context, in loop.Input) (loop.Result, error) {
				ran = true
				if !slices.ContainsFunc(b.j.events(), func(ev plan.Event) bool {
					s, ok := ev.Body.(plan.ToolStart)
					return ok && s.Call == in.Call && s.Effect == plan.EffectUnknown
				}) {
					t.Error("it runs without a committed intent")
				}
				return loop.Result{Output: "ran"}, c.err
			}
			b = setup(t, fmt.Sprintf(one, "act"), act)
			if c.cancel {
				b.cfg.Hooks.BeforeTool = func(context.Context, loop.ToolCall) loop.Decision {
					cancel()
					return loop.Decision{Verb: loop.Pass}
				}
			}
			if _, err := b.loop().Run(ctx, plan.UserText("Go.")); (err != nil) != c.failed {
				t.Fatal(err)
			}
			if ran == c.cancel {
				t.Errorf("ran: %v", ran)
			}
			if r := b.results()[0]; r.Error != c.failed || r.Status != c.status || !strings.Contains(r.Output, c.says) {
				t.Errorf("the result is %+v", r)
			}
			balanced(t, b.j.events())
		})
	}
}

// TestWhatCannotBeRecordedIsNotDone: the run stops before the effect, and says
// why.
func TestWhatCannotBeRecordedIsNotDone(t *testing.T) {
	t.Parallel()
	file := newCell()
	b := setup(t, puts, file, look())
	b.j.fail = 2 // the commit of the answer and the first intent
	if _, err := b.loop().Run(context.Background(), plan.UserText("Go.")); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Fatalf("ended with %v", err)
	}
	if file.writes != 0 {
		t.Error("the call took place without its intent")
	}
	for _, ev := range b.j.events() {
		if ev.Type() == plan.TypeToolStart || ev.Type() == plan.TypeToolEnd {
			t.Errorf("recorded after the failure: %+v", ev.Body)
		}
	}
}

// TestWhatAnIntentIsKeyedBy: the same call has the same key in every process;
// another turn, tool, conversation, run or argument gives another one.
func TestWhatAnIntentIsKeyedBy(t *testing.T) {
	t.Parallel()
	keys := map[string]string{}
	seen := func(name string, change func(*loop.Config), scenario string) {
		file := newCell()
		b := setup(t, scenario, file, look())
		b.cfg.Run = "r1"
		change(&b.cfg)
		b.run("Go.")
		for _, in := range file.inputs {
			if was, ok := keys[in.Key]; ok && was != name+string(in.Args) {
				t.Errorf("%s%s has the key of %s", name, in.Args, was)
			}
			keys[in.Key] = name + string(in.Args)
		}
	}
	none := func(*loop.Config) {}
	seen("", none, puts)
	n := len(keys)
	seen("", none, puts)
	if n != 3 || len(keys) != n {
		t.Errorf("%d keys, then %d", n, len(keys))
	}
	seen("another run", func(c *loop.Config) { c.Run = "r2" }, puts)
	seen("another conversation", func(c *loop.Config) { c.Conv = "c2" }, puts)
}
