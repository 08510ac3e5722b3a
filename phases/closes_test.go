package phases_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan"
)

// TestImplementClosesBesideItsLastCalls: a summary beside calls that all end well is the
// hand-over, in a retry too; a phase that only looks hands over what it says without calls.
func TestImplementClosesBesideItsLastCalls(t *testing.T) {
	t.Parallel()
	const scenario = `
[[reply]]
user = 1
turn = 0
text = "It says beta.\n\nLeft open:\n- the docs\n"
  [[reply.call]]
  name = "write"
  args = { path = "a.txt", content = "beta\n" }
  [[reply.call]]
  name = "read"
  args = { path = "a.txt" }
[[reply]]
user = 2
text = "G1: it says gamma.\n\nLeft open:\n"
  [[reply.call]]
  name = "edit"
  args = { path = "a.txt", old_string = "beta", new_string = "gamma" }
[[reply]]
text = "I looked: ` + "`a.txt:1`" + `."
`
	b := setup(t, scenario, map[string]string{})
	out := b.must(briefFor(plan.Implement, 1))
	if !strings.HasPrefix(out.Summary, "It says beta.") || len(b.requests()) != 1 || b.read("a.txt") != "beta\n" {
		t.Fatalf("%+v after %d requests", out, len(b.requests()))
	}
	again := briefFor(plan.Implement, 2)
	again.Gaps = []plan.Gap{{ID: "G1", Gap: "it does not say gamma", Severity: "must", Status: plan.GapOpened}}
	if out = b.must(again); !strings.HasPrefix(out.Summary, "G1:") || len(b.requests()) != 2 || b.read("a.txt") != "gamma\n" {
		t.Errorf("%+v after %d requests", out, len(b.requests()))
	}
	b.balanced()

	t.Run("not where a call fails", func(t *testing.T) {
		t.Parallel()
		b := setup(t, strings.Replace(scenario, `"read"`, `"list_dir"`, 1), nil)
		if out := b.must(briefFor(plan.Implement, 1)); out.Summary != "I looked: `a.txt:1`." || len(b.requests()) != 2 {
			t.Errorf("%+v after %d requests", out, len(b.requests()))
		}
	})
	t.Run("not in Explore", func(t *testing.T) {
		t.Parallel()
		b := setup(t, strings.Replace(scenario, `"write"`, `"grep"`, 1), map[string]string{"a.txt": "alpha\n"})
		if out := b.must(briefFor(plan.Explore, 1)); out.Report != "I looked: `a.txt:1`." || len(b.requests()) != 2 {
			t.Errorf("%+v after %d requests", out, len(b.requests()))
		}
	})
}
