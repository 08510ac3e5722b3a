package loop_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// user is a tool that calls others by name.
type user struct {
	loop.Tool
	others []loop.Tool
}

// used makes a dispatcher of tools, that stands inside another one.
func used(others ...loop.Tool) loop.Tool {
	return wrapped{user{
		Tool: fake{info: loop.Info{
			Spec: loop.Spec{
				Name:   "use",
				Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}}}`),
			},
			Effect: plan.EffectUnknown,
		}},
		others: others,
	}}
}

type wrapped struct{ loop.Tool }

func (w wrapped) Unwrap() loop.Tool { return w.Tool }

func (u user) Dispatch(args json.RawMessage) (loop.Tool, json.RawMessage, string) {
	var call struct {
		Name      string
		Arguments json.RawMessage
	}
	if err := json.Unmarshal(args, &call); err != nil {
		return nil, nil, err.Error()
	}
	for _, t := range u.others {
		if t.Info().Name == call.Name {
			return t, call.Arguments, ""
		}
	}
	return nil, nil, "there is no " + call.Name
}

func (u user) Named(name string) loop.Tool {
	for _, t := range u.others {
		if t.Info().Name == name {
			return t
		}
	}
	return nil
}

const uses = `
[[reply]]
turn = 0
  [[reply.call]]
  name = "use"
  args = { name = "put", arguments = { n = 1 } }
  [[reply.call]]
  name = "use"
  args = { name = "nothing", arguments = { n = 2 } }
  [[reply.call]]
  name = "use"
  args = { name = "put", arguments = { n = "many" } }
[[reply]]
turn = 1
text = "Done."
`

// TestACallOfADispatcherIsOneOfTheToolItMeans: hooks and the journal see that, and the model's
// own words stay as they are.
func TestACallOfADispatcherIsOneOfTheToolItMeans(t *testing.T) {
	t.Parallel()
	ran := 0
	put := tool("put", plan.EffectUnknown, false, func(context.Context, int) string {
		ran++
		return "put"
	})
	b := setup(t, uses, used(put))
	var seen []string
	b.cfg.Hooks.BeforeTool = func(_ context.Context, c loop.ToolCall) loop.Decision {
		seen = append(seen, c.Info.Name+" "+string(c.Args))
		return loop.Decision{Verb: loop.Pass}
	}
	b.run("go")
	balanced(t, b.j.events())
	if ran != 1 || !slices.Equal(seen, []string{`put {"n":1}`}) {
		t.Errorf("it ran %d times, and the hooks saw %q", ran, seen)
	}
	var started []string
	for _, ev := range b.j.events() {
		switch body := ev.Body.(type) {
		case plan.ToolStart:
			started = append(started, body.Name+" "+string(body.Args)+" "+body.Effect)
		case plan.MessageEnd:
			for _, c := range body.Calls() {
				if c.Name != "use" {
					t.Errorf("the model's call is recorded as one of %s", c.Name)
				}
			}
		}
	}
	if len(started) != 3 || !slices.Contains(started, `put {"n":1} unknown`) {
		t.Errorf("the journal has %q", started)
	}
	results := b.results()
	all := results[0].Output + results[1].Output + results[2].Output
	if !strings.Contains(all, "there is no nothing") || !strings.Contains(all, "n") {
		t.Errorf("%+v", results)
	}
}

// TestADispatchedCallIsNotRunTwice: a process that finds it begun and not ended says that its
// outcome is unknown; one that finds it waiting for a yes asks about the same call.
func TestADispatchedCallIsNotRunTwice(t *testing.T) {
	t.Parallel()
	ran := 0
	put := tool("put", plan.EffectUnknown, false, func(context.Context, int) string {
		ran++
		return "put"
	})
	b := setup(t, uses, used(put))
	b.run("go")
	events := b.j.events()
	at := slices.IndexFunc(events, func(ev plan.Event) bool {
		start, ok := ev.Body.(plan.ToolStart)
		return ok && start.Effect == plan.EffectUnknown
	})
	past := slices.Clone(events[:at+1])
	b.j = &journal{}
	b.cfg.Emit = b.j.emit
	if _, err := b.loop(past...).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if ran != 1 {
		t.Errorf("it ran %d times", ran)
	}
	if got := b.results()[0]; got.Name != "put" || got.Status != "unknown" {
		t.Errorf("%+v", got)
	}
}

const named = `
[[reply]]
turn = 0
  [[reply.call]]
  name = "put"
  args = { n = 1 }
  [[reply.call]]
  name = "gone"
  args = { n = 2 }
[[reply]]
turn = 1
text = "Done."
`

// TestAFoundToolIsCalledByItsName: a model that has read of a tool need not go through the one
// that leads to it.
func TestAFoundToolIsCalledByItsName(t *testing.T) {
	t.Parallel()
	ran := 0
	put := tool("put", plan.EffectUnknown, false, func(context.Context, int) string {
		ran++
		return "put"
	})
	b := setup(t, named, used(put))
	var seen []string
	b.cfg.Hooks.BeforeTool = func(_ context.Context, c loop.ToolCall) loop.Decision {
		seen = append(seen, c.Info.Name+" "+string(c.Args))
		return loop.Decision{Verb: loop.Pass}
	}
	b.run("go")
	balanced(t, b.j.events())
	if ran != 1 || !slices.Equal(seen, []string{`put {"n":1}`}) {
		t.Errorf("it ran %d times, and the hooks saw %q", ran, seen)
	}
}
