package loop_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// TestAModelClosesBesideItsCalls: words that close are the last ones where every call beside them
// ends well, also for a process that goes on after any commit. Else, and where a
// person has said more, the conversation goes on.
func TestAModelClosesBesideItsCalls(t *testing.T) {
	t.Parallel()
	const scenario = `
[[reply]]
user = 1
turn = 0
text = "It is built.\nOver."
  [[reply.call]]
  name = "look"
  args = { n = 1 }
  [[reply.call]]
  name = "try"
  args = { n = 2 }
[[reply]]
text = "Mended. Over."
`
	type world struct {
		*bench
		mail loop.Queue
	}
	begin := func(t *testing.T, fails bool, said ...loop.LetterKind) *world {
		t.Helper()
		w := &world{}
		try := tool("try", plan.EffectReplay, true, nil).(fake)
		try.run = func(context.Context, loop.Input) (loop.Result, error) {
			for _, kind := range said {
				w.mail.Put(kind, "and this")
			}
			if fails {
				return loop.Failed("it is red"), nil
			}
			return loop.Result{Output: "it is green"}, nil
		}
		w.bench = setup(t, scenario, look(), try)
		w.cfg.Closes = func(text string) bool { return strings.HasSuffix(text, "\nOver.") }
		w.cfg.Mail = &w.mail
		return w
	}
	t.Run("well", func(t *testing.T) {
		t.Parallel()
		w := begin(t, false)
		end := w.run("Go.")
		if end.Reason != loop.Completed || end.Text != "It is built.\nOver." || len(w.server.Requests()) != 1 {
			t.Fatalf("%+v after %d requests", end, len(w.server.Requests()))
		}
		balanced(t, w.j.events())
		for _, cut := range cuts(t, w.j.commits) {
			past := slices.Concat(w.j.commits[:cut+1]...)
			later := begin(t, false)
			later.j.commits, later.j.seq = slices.Clone(w.j.commits[:cut+1]), int64(len(past))
			again, err := later.loop(past...).Run(context.Background())
			if err != nil || again.Reason != end.Reason || again.Text != end.Text || len(later.server.Requests()) > 1 {
				t.Errorf("after commit %d it came to %+v, %v", cut, again, err)
			}
			balanced(t, later.j.events())
		}
	})
	t.Run("with a call that fails", func(t *testing.T) {
		t.Parallel()
		w := begin(t, true)
		if end := w.run("Go."); end.Text != "Mended. Over." || len(w.server.Requests()) != 2 {
			t.Errorf("%+v after %d requests", end, len(w.server.Requests()))
		}
	})
	t.Run("where a person has said more", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []loop.LetterKind{loop.Steer, loop.FollowUp} {
			w := begin(t, false, kind)
			if end := w.run("Go."); end.Text != "Mended. Over." || len(w.server.Requests()) != 2 {
				t.Errorf("%s: %+v after %d requests", kind, end, len(w.server.Requests()))
			}
		}
	})
	t.Run("where nothing closes", func(t *testing.T) {
		t.Parallel()
		w := begin(t, false)
		w.cfg.Closes = nil
		if end := w.run("Go."); end.Text != "Mended. Over." || len(w.server.Requests()) != 2 {
			t.Errorf("%+v after %d requests", end, len(w.server.Requests()))
		}
	})
}
