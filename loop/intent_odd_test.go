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

// cutIn returns the events up to the first start of a call of a tool.
func cutIn(t *testing.T, events []plan.Event, name string) []plan.Event {
	t.Helper()
	at := slices.IndexFunc(events, func(ev plan.Event) bool {
		s, ok := ev.Body.(plan.ToolStart)
		return ok && s.Name == name
	})
	if at < 0 {
		t.Fatalf("no call of %s was begun", name)
	}
	return slices.Clone(events[:at+1])
}

// TestWhatTheIntentDoesNotFit: an intent that is another call's, a class that
// was unknown when the call was begun, or a tool that cannot apply it, makes a
// lost call unknown. Nothing is guessed.
func TestWhatTheIntentDoesNotFit(t *testing.T) {
	t.Parallel()
	plain := tool("put", plan.EffectVerifiable, true, func(context.Context, int) string { return "ran" })
	for name, c := range map[string]struct {
		change func(*plan.ToolStart)
		tool   loop.Tool
	}{
		"another call's intent": {change: func(s *plan.ToolStart) { s.Intent.Key = "00" }},
		"other arguments":       {change: func(s *plan.ToolStart) { s.Args = json.RawMessage(`{"n":5}`) }},
		"no intent":             {change: func(s *plan.ToolStart) { s.Intent = nil }},
		"unknown when begun":    {change: func(s *plan.ToolStart) { s.Effect = plan.EffectUnknown }},
		"a tool that cannot":    {change: func(*plan.ToolStart) {}, tool: plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, puts, newCell(), look())
			b.run("Go.")
			past := cutIn(t, b.j.events(), "put")
			start := past[len(past)-1].Body.(plan.ToolStart)
			intent := *start.Intent
			start.Intent = &intent
			c.change(&start)
			past[len(past)-1].Body = start
			file := newCell()
			again := setup(t, puts, file, look())
			if c.tool != nil {
				again.cfg.Tools[0] = c.tool
			}
			again.j.commits = [][]plan.Event{past}
			if _, err := again.loop(past...).Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			if end := again.results()[0]; end.Status != "unknown" || !end.Error || !strings.Contains(end.Output, "Check what it left behind") {
				t.Errorf("the model reads %+v", end)
			}
			if c.tool == nil && file.writes != 2 {
				t.Errorf("%d of the 2 other calls took place", file.writes)
			}
			balanced(t, again.j.events())
		})
	}
}

// TestIdsThatAreUsedAgain: an id within one answer gets another name, one of
// an earlier turn stays; either way each call has its own result.
func TestIdsThatAreUsedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, puts, newCell(), look())
	answers := []loop.Answer{
		{Stop: loop.StopTools, Message: plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{
			{Type: plan.BlockToolCall, Call: "x", Name: "put", Args: `{"n":1}`},
			{Type: plan.BlockToolCall, Call: "x", Name: "put", Args: `{"n":2}`},
			{Type: plan.BlockToolCall, Call: "", Name: "look", Args: `{"n":3}`},
		}}},
		{Stop: loop.StopTools, Message: plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{
			{Type: plan.BlockToolCall, Call: "x", Name: "put", Args: `{"n":4}`},
		}}},
		{Stop: loop.StopEnd, Message: plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{{Type: plan.BlockText, Text: "Done."}}}},
	}
	b.cfg.Model = &said{answers: answers}
	b.run("Go.")
	var got []string
	for _, r := range b.results() {
		got = append(got, r.Call+": "+r.Output)
	}
	want := []string{"x: 1, it was 0", "x_0_2: 2, it was 1", "call_0_2: saw 3", "x: 4, it was 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	balanced(t, b.j.events())

	// A process that dies in the second use of the id must not take it for
	// the first one.
	past := b.j.events()
	at := slices.IndexFunc(past, func(ev plan.Event) bool {
		s, ok := ev.Body.(plan.ToolStart)
		return ok && s.Call == "x" && *ev.Turn == 1
	})
	file := newCell()
	file.value = 2
	again := setup(t, puts, file, look())
	again.cfg.Model = &said{answers: answers[2:]}
	again.j.commits = [][]plan.Event{past[:at+1]}
	l := again.loop(past[:at+1]...)
	if _, err := l.Run(context.Background()); err != nil || file.value != 4 || file.writes != 1 {
		t.Errorf("the value is %d after %d writes, %v", file.value, file.writes, err)
	}
	if diff := cmp.Diff(b.loop(b.j.events()...).Messages(), l.Messages()); diff != "" {
		t.Error(diff)
	}
}

// said is a model that gives the same answers to everybody.
type said struct {
	answers []loop.Answer
	n       int
}

func (m *said) Generate(context.Context, loop.Call, func(loop.Delta)) (loop.Answer, error) {
	m.n++
	return m.answers[m.n-1], nil
}

// TestASecretInArguments: the journal does not get it, and neither does the
// call, whose outcome cannot be told.
func TestASecretInArguments(t *testing.T) {
	t.Parallel()
	var ran []string
	write := tool("put", plan.EffectVerifiable, true, nil).(fake)
	write.info.Schema = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	write.run = func(_ context.Context, in loop.Input) (loop.Result, error) {
		ran = append(ran, string(in.Args))
		return loop.Result{Output: "put"}, nil
	}
	file := newCell()
	file.fake = write
	b := setup(t, `
[[reply]]
turn = 0
text = "The key is sk-123."
  [[reply.call]]
  name = "put"
  args = { text = "sk-123" }
[[reply]]
turn = 1
text = "Done."
`, file)
	b.cfg.Redact = strings.NewReplacer("sk-123", "[secret]").Replace
	b.run("Go.")
	if diff := cmp.Diff([]string{`{"text":"[secret]"}`}, ran); diff != "" {
		t.Error(diff)
	}
	for _, ev := range b.j.events() {
		line, err := ev.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(line), "sk-123") {
			t.Errorf("recorded: %s", line)
		}
		if s, ok := ev.Body.(plan.ToolStart); ok && (s.Effect != plan.EffectUnknown || s.Intent != nil) {
			t.Errorf("the intent is %+v", s)
		}
	}
	for _, body := range requestBodies(b) {
		if strings.Contains(string(body), "sk-123") {
			t.Errorf("sent: %s", body)
		}
	}
}

// TestALostCallInAStoppedRun: a caller who stops the run while it is being resumed
// is not told that nothing was done.
func TestALostCallInAStoppedRun(t *testing.T) {
	t.Parallel()
	b := setup(t, puts, newCell(), look())
	b.run("Go.")
	past := cutIn(t, b.j.events(), "put")
	again := setup(t, puts, newCell(), look())
	again.j.commits = [][]plan.Event{past}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := again.loop(past...).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	var got []string
	for _, r := range again.results() {
		got = append(got, r.Status)
	}
	if diff := cmp.Diff([]string{"unknown", "cancelled", "cancelled"}, got); diff != "" {
		t.Error(diff)
	}
	balanced(t, again.j.events())
}

// TestAnIntentThatCannotBeWorkedOut: the call is run all the same, and counts
// as unknown.
func TestAnIntentThatCannotBeWorkedOut(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(){"a panic": func() { panic("oh") }, "an error": func() {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := &stubborn{fake: tool("put", plan.EffectVerifiable, true, func(_ context.Context, n int) string { return fmt.Sprint(n) }).(fake), prepare: prepare}
			b := setup(t, puts, broken, look())
			b.run("Go.")
			for _, ev := range b.j.events() {
				if s, ok := ev.Body.(plan.ToolStart); ok && s.Name == "put" && (s.Effect != plan.EffectUnknown || s.Intent != nil) {
					t.Errorf("the intent is %+v", s)
				}
			}
			if r := b.results()[0]; r.Error || r.Output != "1" {
				t.Errorf("the model reads %+v", r)
			}
		})
	}
}

// stubborn cannot say what it is going to do.
type stubborn struct {
	fake
	prepare func()
}

func (s *stubborn) Prepare(context.Context, loop.Input) (plan.Intent, error) {
	s.prepare()
	return plan.Intent{}, errors.New("who knows")
}

func (s *stubborn) Apply(context.Context, loop.Input, plan.Intent) (loop.Result, error) {
	return loop.Result{}, errors.New("there was no intent")
}
