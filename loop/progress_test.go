package loop_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

const repeating = `
[[reply]]
  [[reply.call]]
  name = "look"
  args = { n = 1 }
`

// TestAStormIsBroken lets a model make the same call for ever: it is asked to
// think again, once, and then the loop ends and says so. A process that takes
// over at any commit comes to the same end. It makes no difference whether the
// call brings nothing new or cannot run at all.
func TestAStormIsBroken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]string{
		"it sees the same":       "name = \"look\"\nargs = { n = 1 }",
		"it is not offered":      "name = \"write\"\nargs = { n = 1 }",
		"its arguments are bad":  "name = \"look\"\nargs = { n = \"one\" }",
		"its arguments are none": "name = \"look\"\nraw = '{\"n\" 1}'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			aStormIsBroken(t, "[[reply]]\n[[reply.call]]\n"+c+"\n")
		})
	}
}

func aStormIsBroken(t *testing.T, scenario string) {
	t.Helper()
	b := setup(t, scenario, look())
	end := b.run("Go.")
	if end.Reason != loop.Stuck || !strings.Contains(end.Text, "no progress") {
		t.Fatalf("ended with %+v", end)
	}
	var actions []string
	for _, ev := range b.j.events() {
		if s, ok := ev.Body.(plan.StormBroken); ok {
			actions = append(actions, s.Action)
		}
	}
	if len(actions) != 2 || actions[0] != "reflect" || actions[1] != "stop" {
		t.Errorf("the storm breaker did %q", actions)
	}
	balanced(t, b.j.events())
	for cut := range b.j.commits {
		again := setup(t, scenario, look())
		again.j.commits = append([][]plan.Event(nil), b.j.commits[:cut+1]...)
		past := again.j.events()
		got, err := again.loop(past...).Run(context.Background())
		if err != nil || got.Reason != loop.Stuck || got.Text != end.Text {
			t.Errorf("after commit %d it ends with %+v, %v", cut+1, got, err)
		}
		if diff := cmp.Diff(b.results(), again.results(), cmpopts.IgnoreFields(plan.ToolEnd{}, "DurationMS")); diff != "" {
			t.Errorf("after commit %d the calls end in another way:\n%s", cut+1, diff)
		}
		balanced(t, again.j.events())
	}
	// A word from outside makes it try again.
	got, err := b.loop(b.j.events()...).Run(context.Background(), plan.UserText("Once more."))
	if err != nil || got.Reason != loop.Stuck || len(b.server.Requests()) < 8 {
		t.Errorf("after a new prompt: %+v, %v, %d requests", got, err, len(b.server.Requests()))
	}
}

// TestACommandIsKnownByItsTool: of what category a tool is says that it runs commands,
// whatever it is called; those that do nothing are one and the same call.
func TestACommandIsKnownByItsTool(t *testing.T) {
	t.Parallel()
	const scenario = `
[[reply]]
turn = 0
  [[reply.call]]
  name = "sh_1"
  args = { command = "true" }
[[reply]]
turn = 1
  [[reply.call]]
  name = "sh_1"
  args = { command = "echo one" }
[[reply]]
turn = 2
  [[reply.call]]
  name = "sh_1"
  args = { command = "echo two" }
[[reply]]
text = "done"
`
	for category, want := range map[loop.Category]string{loop.CategoryExec: "storm", loop.CategoryRead: ""} {
		b := setup(t, scenario, fake{
			info: loop.Info{
				Spec: loop.Spec{
					Name:   "sh_1",
					Schema: []byte(`{"type":"object","properties":{"command":{"type":"string"}}}`),
				},
				Effect:   plan.EffectUnknown,
				Writes:   true,
				Category: category,
			},
			run: func(_ context.Context, in loop.Input) (loop.Result, error) {
				return loop.Result{Output: string(in.Args)}, nil
			},
		})
		b.run("Go.")
		ends := b.results()
		if len(ends) != 3 || ends[2].Status != want {
			t.Errorf("of the category %s the third command ended as %+v", category, ends)
		}
	}
}

// TestARefusalStaysSaid: the answer to a call that cannot run still says why
// once it has come too often, and other calls that fail are told apart.
func TestARefusalStaysSaid(t *testing.T) {
	t.Parallel()
	b := setup(t, `
[[reply]]
turn = 0
  [[reply.call]]
  name = "write"
  args = { n = 1 }
  [[reply.call]]
  name = "write"
  args = { n = 2 }
  [[reply.call]]
  name = "write"
  args = { n = 1.0 }
  [[reply.call]]
  name = "write"
  args = { n = 1 }
[[reply]]
turn = 1
text = "Done."
`, look())
	b.cfg.Refuse = func(string) string { return "Writing is for later." }
	b.run("Go.")
	var got []string
	for _, end := range b.results() {
		got = append(got, end.Status)
		if !strings.HasPrefix(end.Output, "Writing is for later.") {
			t.Errorf("the model reads %q", end.Output)
		}
	}
	if strings.Join(got, " ") != "refused refused refused storm" {
		t.Errorf("the calls ended %q", got)
	}
	balanced(t, b.j.events())
}

func TestCallsAreUnderstood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ reply, output string }{
		"another name":    {"[[reply.call]]\nname = \"Look\"\nargs = { n = 1 }", "saw 1"},
		"repaired":        {"[[reply.call]]\nname = \"look\"\nraw = '{\"n\": 1'", "The arguments were repaired before the call ran:"},
		"written as text": {"text = '''I will look.\n\n<tool_call>{\"name\": \"look\", \"arguments\": {\"n\": 1}}</tool_call>'''", "saw 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, "[[reply]]\nturn = 0\n"+c.reply+"\n[[reply]]\nturn = 1\ntext = \"Done.\"\n", look())
			if end := b.run("Go."); end.Text != "Done." {
				t.Errorf("ended with %+v", end)
			}
			got := b.results()
			if len(got) != 1 || got[0].Error || got[0].Name != "look" || !strings.HasPrefix(got[0].Output, c.output) {
				t.Errorf("the model reads %+v", got)
			}
			balanced(t, b.j.events())
		})
	}
}
