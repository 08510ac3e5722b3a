package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
)

// one is a conversation with one call.
const one = `
[[reply]]
user = 1
turn = 0
  [[reply.call]]
  name = "%s"
  args = { n = 1 }
[[reply]]
user = 1
turn = 1
text = "Done."
[[reply]]
user = 2
text = "Heard."
`

// TestRecoveryMatrix is what becomes of a call, by its effect class and by how
// far the journal says that it got.
func TestRecoveryMatrix(t *testing.T) {
	t.Parallel()
	type row struct {
		tool   string // look is replay-safe, put verifiable, shell unknown
		reach  string // how far it got: called, asked, started, ended
		value  int    // of put's file: 0 before, 1 after
		status string
		says   string
		runs   int // how often it runs, or writes, in the new process
		waits  bool
	}
	for _, r := range []row{
		{tool: "look", reach: "called", says: "saw 1", runs: 1},
		{tool: "put", reach: "called", says: "1, it was 0", runs: 1},
		{tool: "shell", reach: "called", says: "ran 1", runs: 1},
		{tool: "shell", reach: "asked", waits: true},
		{tool: "put", reach: "asked", waits: true},
		{tool: "look", reach: "started", says: "saw 1", runs: 1},
		{tool: "put", reach: "started", says: "1, it was 0", runs: 1},
		{tool: "put", reach: "started", value: 1, says: "1, it was 0"},
		{tool: "put", reach: "started", value: 8, status: "conflict", says: "somebody else"},
		{tool: "shell", reach: "started", status: "unknown", says: "Check what it left behind"},
		{tool: "look", reach: "ended", says: "saw 1"},
		{tool: "put", reach: "ended", value: 1, says: "1, it was 0"},
		{tool: "shell", reach: "ended", says: "ran 1"},
	} {
		t.Run(fmt.Sprintf("%s %s %d", r.tool, r.reach, r.value), func(t *testing.T) {
			t.Parallel()
			file, runs := newCell(), 0
			file.value = r.value
			b := setup(t, fmt.Sprintf(one, r.tool),
				tool("look", plan.EffectReplay, false, func(_ context.Context, n int) string { runs++; return fmt.Sprintf("saw %d", n) }),
				file,
				tool("shell", plan.EffectUnknown, true, func(_ context.Context, n int) string { runs++; return fmt.Sprintf("ran %d", n) }))
			past := reached(t, r.tool, r.reach)
			b.j.commits = [][]plan.Event{past}
			l := b.loop(past...)
			end, err := l.Run(context.Background())
			if err != nil || (end.Reason == loop.Waiting) != r.waits {
				t.Fatalf("ended with %+v, %v", end, err)
			}
			if runs += file.writes; runs != r.runs {
				t.Errorf("it ran %d times, want %d", runs, r.runs)
			}
			balanced(t, b.j.events())
			if r.waits {
				return
			}
			if n := len(b.results()); n != 1 {
				t.Fatalf("%d results", n)
			}
			if got := b.results()[0]; got.Status != r.status || got.Error != (r.status != "") || !strings.Contains(got.Output, r.says) {
				t.Errorf("the model reads %+v", got)
			}
		})
	}
}

// reached is the journal of a process that died when its only call had come so
// far.
func reached(t *testing.T, name, reach string) []plan.Event {
	t.Helper()
	b := setup(t, fmt.Sprintf(one, name), look(), newCell(),
		tool("shell", plan.EffectUnknown, true, func(_ context.Context, n int) string { return fmt.Sprintf("ran %d", n) }))
	if reach == "asked" {
		b.cfg.Hooks.BeforeTool = func(context.Context, loop.ToolCall) loop.Decision { return loop.Decision{Verb: loop.Confirm} }
	}
	b.run("Go.")
	last := map[string]plan.EventType{
		"called": plan.TypeUsage, "asked": plan.TypeApprovalRequired, "started": plan.TypeToolStart, "ended": plan.TypeToolEnd,
	}[reach]
	var past []plan.Event
	for _, ev := range b.j.events() {
		if past = append(past, ev); ev.Type() == last {
			return past
		}
	}
	t.Fatalf("no %s", last)
	return nil
}

// TestAnOrphanIsAnsweredBeforeWhatIsSaidNext: a caller speaks to a
// conversation whose last call has no result.
func TestAnOrphanIsAnsweredBeforeWhatIsSaidNext(t *testing.T) {
	t.Parallel()
	past := reached(t, "shell", "started")
	b := setup(t, fmt.Sprintf(one, "shell"), look(), newCell(),
		tool("shell", plan.EffectUnknown, true, func(context.Context, int) string { t.Error("it ran again"); return "" }))
	b.j.commits = [][]plan.Event{past}
	end, err := b.loop(past...).Run(context.Background(), plan.UserText("And now?"))
	if err != nil || end.Text != "Heard." {
		t.Fatalf("ended with %+v, %v", end, err)
	}
	balanced(t, b.j.events())
	bodies := requestBodies(b)
	if len(bodies) != 1 {
		t.Fatalf("%d requests", len(bodies))
	}
	var sent struct{ Messages []struct{ Role string } }
	if err := json.Unmarshal(bodies[0], &sent); err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range sent.Messages {
		roles = append(roles, m.Role)
	}
	if diff := cmp.Diff([]string{"system", "user", "assistant", "tool", "user"}, roles); diff != "" {
		t.Error(diff)
	}
}
