package loop_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

const conversation = `
[[reply]]
user = 1
turn = 0
text = "Looking twice."
  [[reply.call]]
  name = "look"
  args = { n = 1 }
  [[reply.call]]
  name = "look"
  args = { n = 2 }
[[reply]]
user = 1
turn = 1
  [[reply.call]]
  name = "write"
  args = { n = 3 }
  [[reply.call]]
  name = "shell"
  args = { n = 4 }
  [[reply.call]]
  name = "nosuch"
[[reply]]
user = 1
turn = 2
text = "First part done."
[[reply]]
user = 2
turn = 0
text = "All done."
`

// TestResumeAtEveryCommit stops a conversation after each of its commits, as a
// kill would, and goes on from the journal alone. The model must end up having
// read the same conversation, byte for byte, wherever the cut was; what was
// started must end exactly once; and a tool whose effect is unknown must never
// run twice.
func TestResumeAtEveryCommit(t *testing.T) {
	t.Parallel()
	var effects int
	tools := []loop.Tool{
		look(),
		tool("write", plan.EffectVerifiable, true, func(context.Context, int) string { return "written" }),
		tool("shell", plan.EffectUnknown, true, func(context.Context, int) string { effects++; return "ran" }),
	}
	whole := setup(t, conversation, tools...)
	two := func(b *bench, past []plan.Event) *loop.Loop {
		t.Helper()
		l := b.loop(past...)
		for n, text := range []string{"Go.", "And the rest."} {
			var prompt []plan.Message
			if prompts(past) <= n {
				prompt = []plan.Message{plan.UserText(text)}
			} else if prompts(past) > n+1 {
				continue
			}
			if _, err := l.Run(context.Background(), prompt...); err != nil {
				t.Fatal(err)
			}
		}
		return l
	}
	want := two(whole, nil).Messages()
	bodies := requestBodies(whole)

	//nolint:paralleltest // the cuts count the effects of one tool
	for cut := range whole.j.commits {
		t.Run(fmt.Sprint("after commit ", cut+1), func(t *testing.T) {
			effects = 0
			b := setup(t, conversation, tools...)
			b.j.commits = slices.Clone(whole.j.commits[:cut+1])
			past := b.j.events()
			b.j.seq = int64(len(past))
			lost := effectIsOpen(past)
			if shellRan(past) {
				effects++
			}
			got := two(b, past).Messages()
			balanced(t, b.j.events())
			if effects > 1 {
				t.Errorf("the shell ran %d times", effects)
			}
			if lost {
				return // the model was told that the outcome is unknown, so the rest differs
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the conversation differs:\n%s", diff)
			}
			for _, body := range requestBodies(b) {
				if !slices.ContainsFunc(bodies, func(w []byte) bool { return bytes.Equal(w, body) }) {
					t.Errorf("a request of the resumed run was never made by the whole one:\n%s", body)
				}
			}
		})
	}
}

func TestALostCallIsReportedAsUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t, conversation, look(),
		tool("write", plan.EffectVerifiable, true, func(context.Context, int) string { return "written" }),
		tool("shell", plan.EffectUnknown, true, func(context.Context, int) string { return "ran" }))
	b.run("Go.")
	// Cut the journal where the shell had begun and not ended.
	events := b.j.events()
	at := slices.IndexFunc(events, func(ev plan.Event) bool {
		s, ok := ev.Body.(plan.ToolStart)
		return ok && s.Name == "shell"
	})
	again := setup(t, conversation, look(), b.cfg.Tools[1],
		tool("shell", plan.EffectUnknown, true, func(context.Context, int) string {
			t.Error("the shell ran again")
			return "ran"
		}))
	again.j.commits = [][]plan.Event{events[:at+1]}
	if _, err := again.loop(events[:at+1]...).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	results := again.results()
	if end := results[slices.IndexFunc(results, func(e plan.ToolEnd) bool { return e.Name == "shell" })]; end.Status != "unknown" || !end.Error {
		t.Errorf("the model reads %+v", end)
	}
	balanced(t, again.j.events())
}

func prompts(past []plan.Event) int {
	n := 0
	for _, ev := range past {
		if m, ok := ev.Body.(plan.MessageEnd); ok && m.Role == plan.RoleUser {
			n++
		}
	}
	return n
}

// effectIsOpen says whether a call that may not be run again was cut off.
func effectIsOpen(past []plan.Event) bool {
	open := false
	for _, ev := range past {
		switch b := ev.Body.(type) {
		case plan.ToolStart:
			open = open || b.Name != "look"
		case plan.ToolEnd:
			open = open && b.Name == "look"
		}
	}
	return open
}

func shellRan(past []plan.Event) bool {
	return slices.ContainsFunc(past, func(ev plan.Event) bool {
		b, ok := ev.Body.(plan.ToolEnd)
		return ok && b.Name == "shell"
	})
}

func requestBodies(b *bench) [][]byte {
	var out [][]byte
	for _, r := range b.server.Requests() {
		out = append(out, r.Body)
	}
	return out
}
