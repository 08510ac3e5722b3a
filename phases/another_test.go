package phases_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
)

// TestAnotherPlan ends the conversation of the implementer that asks for one, whatever
// it called beside that, and also where the process died in between. It is had once.
func TestAnotherPlan(t *testing.T) {
	t.Parallel()
	const scenario = `
[[reply]]
turn = 0
  [[reply.call]]
  name = "write"
  args = { path = "new.txt", content = "begun\n" }
  [[reply.call]]
  name = "replan"
  args = { evidence = "there is no such table" }
  [[reply.call]]
  name = "replan"
  args = { evidence = "and once more" }
[[reply]]
turn = 1
text = "Done as far as it goes."
`
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		b := setup(t, scenario, map[string]string{"a.txt": "alpha\n"})
		if out := b.must(briefFor(plan.Implement, 1)); out.Replan != "there is no such table" {
			t.Fatalf("it came to %+v", out)
		}
		if n := len(b.requests()); n != 1 {
			t.Errorf("%d requests were made, want 1", n)
		}
		if b.read("new.txt") != "begun\n" {
			t.Error("what it had changed is gone")
		}
		ends := b.toolEnds()
		if len(ends) != 3 || ends[1].Error || !ends[2].Error || !strings.Contains(ends[2].Output, "Do what the request needs") {
			t.Errorf("the calls ended as %+v", ends)
		}
		b.balanced()

		// Each place in which a process can die once the wish is recorded.
		for cut := range b.commits {
			past := slices.Concat(b.commits[:cut+1]...)
			if !ended(past, plan.ReplanTool) {
				continue
			}
			later := setup(t, scenario, map[string]string{"a.txt": "alpha\n"})
			later.commits, later.seq = b.commits[:cut+1:cut+1], int64(len(past))
			brief := briefFor(plan.Implement, 1)
			brief.Asked = true
			if out := later.must(brief); out.Replan != "there is no such table" || len(later.requests()) != 0 {
				t.Errorf("after commit %d it came to %+v with %d requests", cut, out, len(later.requests()))
			}
		}
	})
	t.Run("not twice in a run", func(t *testing.T) {
		t.Parallel()
		b := setup(t, scenario, map[string]string{"a.txt": "alpha\n"})
		brief := briefFor(plan.Implement, 2)
		brief.Asked = true
		out := b.must(brief)
		if out.Replan != "" || out.Summary != "Done as far as it goes." {
			t.Errorf("it came to %+v", out)
		}
		if end := b.toolEnds()[1]; !end.Error || !strings.Contains(end.Output, "once in a run. Do what the request needs") {
			t.Errorf("it was told %+v", end)
		}
	})
	t.Run("and the reviewer sees both", func(t *testing.T) {
		t.Parallel()
		b := setup(t, "[[reply]]\ntext = '{\"verdict\": \"BLOCKED\"}'\n", nil)
		brief := briefFor(plan.Review, 1)
		brief.Earlier, brief.Replan = &plan.PlanDoc{Version: 1, Text: "the first plan"}, "there is no such table"
		b.must(brief)
		sent := b.of(plan.Review, 1)[0].users()[0]
		for _, want := range []string{"<plan>\nthe plan\n", "<earlier-plan>\nthe first plan\n", "there is no such table", "one side's word"} {
			if !strings.Contains(sent, want) {
				t.Errorf("it is not told %q", want)
			}
		}
	})
}

// TestTheDirectWayHasAWayBack: no words of a request say for sure that it is small, so the
// implementer who has looked can ask for a plan, and is told so.
func TestTheDirectWayHasAWayBack(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\n  [[reply.call]]\n  name = \"replan\"\n  args = { evidence = \"ninety callers\" }\n", nil)
	brief := briefFor(plan.Implement, 1)
	direct := phases.DirectPlan()
	brief.Plan = &direct
	if out := b.must(brief); out.Replan != "ninety callers" {
		t.Errorf("it came to %+v", out)
	}
	_, told, _ := strings.Cut(b.requests()[0].users()[0], "<plan>")
	if told, _, _ = strings.Cut(told, "</plan>"); !strings.Contains(told, "ask for a plan with `replan`") {
		t.Errorf("it is told %q", told)
	}
}
