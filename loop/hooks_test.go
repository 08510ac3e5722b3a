package loop_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// TestALoopThatPanickedGoesNoFurther: how it stands is not known, so that it is
// to be restored from its events.
func TestALoopThatPanickedGoesNoFurther(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool, look())
	b.cfg.Hooks.TurnStart = func(context.Context, int) string { panic("boom") }
	l := b.loop()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = l.Run(context.Background(), plan.UserText("Go."))
	}()
	if _, err := l.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "a defect") {
		t.Errorf("it went on: %v", err)
	}
}

func TestATurnThatIsBlockedDoesNotRun(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool, look())
	b.cfg.Hooks = loop.Join(
		loop.Hooks{TurnStart: func(_ context.Context, turn int) string { return map[int]string{1: "the office is closed"}[turn] }},
		loop.Hooks{TurnStart: func(context.Context, int) string { return "" }},
	)
	end := b.run("Go.")
	if end.Reason != loop.Vetoed || end.Rejection != "the office is closed" || len(b.server.Requests()) != 1 {
		t.Errorf("%+v after %d requests", end, len(b.server.Requests()))
	}
	if got := turns(b.j.events()); len(got) != 1 {
		t.Errorf("turns: %q", got)
	}
	l := b.loop(b.j.events()...)
	if got := texts(l); got[len(got)-1] != "notice|[stopped: the office is closed]" {
		t.Errorf("the transcript ends with %q", got)
	}
	balanced(t, b.j.events())
	b.cfg.Hooks = loop.Hooks{}
	if end, err := b.loop(b.j.events()...).Run(context.Background()); err != nil || end.Text != "Done." {
		t.Errorf("let on, it came to %+v, %v", end, err)
	}
}

func TestHooksSeeTheWholeRequest(t *testing.T) {
	t.Parallel()
	b := setup(t, `
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
`, look())
	prompts := 0
	b.cfg.Hooks = loop.Hooks{
		TransformContext: func(_ context.Context, messages []plan.Message) []plan.Message {
			var out []plan.Message
			for _, m := range messages {
				if m.Role == plan.RoleExtension {
					m = plan.UserText("from a note: " + string(m.Data))
				}
				out = append(out, m)
			}
			return out
		},
		PrePrompt: func(_ context.Context, c loop.Call) loop.Call {
			prompts++
			c.Headers = map[string]string{"X-Plan-Turn": fmt.Sprint(prompts)}
			return c
		},
	}
	note := plan.Message{Role: plan.RoleExtension, Kind: "note", Data: []byte(`{"a":1}`)}
	if _, err := b.loop().Run(context.Background(), note, plan.UserText("Go.")); err != nil {
		t.Fatal(err)
	}
	for i, r := range b.server.Requests() {
		if want := fmt.Sprint(max(i, 1)); r.Header.Get("X-Plan-Turn") != want { // the first was made twice
			t.Errorf("request %d carries %q, want %q", i, r.Header.Get("X-Plan-Turn"), want)
		}
		if !strings.Contains(string(requestBodies(b)[i]), `from a note: {\"a\":1}`) {
			t.Errorf("request %d is %s", i, requestBodies(b)[i])
		}
	}
	if prompts != 2 {
		t.Errorf("%d requests were seen", prompts)
	}
}

func TestTheNextTurnGetsAnotherModelAndHistory(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool, look())
	b.cfg.Hooks.PrepareTurn = func(_ context.Context, turn int, n loop.Next) loop.Next {
		if turn == 1 {
			n.Model, n.Settings.Effort = "other", "low"
			n.Messages = append([]plan.Message{plan.UserText("Go, in short.")}, n.Messages[1:]...)
		}
		return n
	}
	b.cfg.Price = func(model string, _ plan.Usage) (float64, bool) { return map[string]float64{"other": 2}[model], true }
	b.run("Go.")
	bodies := requestBodies(b)
	if !strings.Contains(string(bodies[1]), `"model":"other"`) || !strings.Contains(string(bodies[1]), `"reasoning_effort":"low"`) || strings.Contains(string(bodies[1]), `"Go."`) {
		t.Errorf("the second request is %s", bodies[1])
	}
	var moved string
	var cost float64
	for _, ev := range b.j.events() {
		switch body := ev.Body.(type) {
		case plan.Request:
			moved = body.Moved
		case plan.UsageReport:
			cost += body.CostUSD
		}
	}
	if !strings.Contains(moved, "model") || cost != 2 {
		t.Errorf("moved: %q, cost %g", moved, cost)
	}
	if diff := cmp.Diff("|Go, in short.", texts(b.loop(b.j.events()...))[0]); diff != "" {
		t.Error("the journal keeps another history:", diff)
	}
}

// TestAModelThatPanicsHasFailed like any other: the events are balanced and the
// panic's words come back.
func TestAModelThatPanicsHasFailed(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool, look())
	b.cfg.Model = panicky{}
	_, err := b.loop().Run(context.Background(), plan.UserText("Go."))
	if err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v", err)
	}
	balanced(t, b.j.events())
}

type panicky struct{}

func (panicky) Generate(context.Context, loop.Call, func(loop.Delta)) (loop.Answer, error) {
	panic("boom")
}

func TestAGateThatCrashesIsClosed(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	b := setup(t, oneTool, tool("look", plan.EffectReplay, false, func(context.Context, int) string { ran.Add(1); return "" }))
	b.cfg.Hooks.BeforeTool = func(context.Context, loop.ToolCall) loop.Decision { panic("boom") }
	b.run("Go.")
	if got := b.results()[0]; got.Status != "refused" || !strings.Contains(got.Output, "boom") || ran.Load() != 0 {
		t.Errorf("%+v after %d runs", got, ran.Load())
	}
}

// TestKeysAreAskedForEachCall, and once more after one was not accepted.
func TestKeysAreAskedForEachCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		times  int
		source bool
		asked  []string // the refused keys it was told, in order
		calls  int
		ok     bool
	}{
		{"accepted", 0, 0, true, []string{"", ""}, 2, true},
		{"refused once", 401, 1, true, []string{"", "key1", ""}, 3, true},
		{"refused twice", 401, 2, true, []string{"", "key1"}, 2, false},
		{"forbidden", 403, 1, true, []string{""}, 1, false},
		{"no source", 401, 1, false, nil, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fault := ""
			if c.status > 0 {
				fault = fmt.Sprintf("[reply.fault]\nkind = \"status\"\nstatus = %d\ntimes = %d\n", c.status, c.times)
			}
			b := setup(t, "[[reply]]\nturn = 0\n"+fault+"[[reply.call]]\nname = \"look\"\nargs = { n = 1 }\n[[reply]]\nturn = 1\ntext = \"Done.\"\n", look())
			var asked []string
			if c.source {
				b.cfg.Key = func(_ context.Context, refused string) (string, error) {
					asked = append(asked, refused)
					return fmt.Sprint("key", len(asked)), nil
				}
			}
			keys := &keyed{Model: b.cfg.Model, key: b.server.Key()}
			b.cfg.Model = keys
			end, err := b.loop().Run(context.Background(), plan.UserText("Go."))
			if (err == nil) != c.ok || c.ok && end.Text != "Done." {
				t.Errorf("%+v, %v", end, err)
			}
			if diff := cmp.Diff(c.asked, asked); diff != "" || len(keys.seen) != c.calls {
				t.Errorf("%d calls; asked %s", len(keys.seen), diff)
			}
			for i, k := range keys.seen {
				if c.source && k != fmt.Sprint("key", i+1) {
					t.Errorf("call %d carries %q", i, k)
				}
			}
			for _, ev := range b.j.events() {
				if line, err := ev.AppendJSON(nil); err != nil || strings.Contains(string(line), "key1") {
					t.Errorf("the journal has %s, %v", line, err)
				}
			}
			balanced(t, b.j.events())
		})
	}
}

// keyed notes which keys it is called with, and calls a server that has one.
type keyed struct {
	loop.Model
	key  string
	seen []string
}

func (k *keyed) Generate(ctx context.Context, c loop.Call, live func(loop.Delta)) (loop.Answer, error) {
	k.seen = append(k.seen, c.Key)
	c.Key = k.key
	return k.Model.Generate(ctx, c, live)
}

func TestCallsCarryTheirOwnHeaders(t *testing.T) {
	t.Parallel()
	b := setup(t, oneTool, look())
	b.cfg.Headers, b.cfg.Metadata = map[string]string{"X-Plan-All": "a", "X-Plan-Turn": "none"}, map[string]string{"app": "test"}
	b.cfg.PerCall = func(_ context.Context, turn int) (map[string]string, map[string]string) {
		return map[string]string{"X-Plan-Turn": fmt.Sprint(turn)}, map[string]string{"turn": fmt.Sprint(turn)}
	}
	b.run("Go.")
	for i, r := range b.server.Requests() {
		if r.Header.Get("X-Plan-All") != "a" || r.Header.Get("X-Plan-Turn") != fmt.Sprint(i) || !strings.Contains(string(r.Body), fmt.Sprintf(`"metadata":{"app":"test","turn":"%d"}`, i)) {
			t.Errorf("request %d: %v\n%s", i, r.Header, r.Body)
		}
	}
}
