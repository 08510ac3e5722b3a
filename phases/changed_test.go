package phases_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan"
)

// TestALaterCycleIsToldWhatHasChanged: what a check's formatter made of a file that the
// implementer knows stands in the next prompt and counts as read, in one process. In
// another one the file has to be read again.
func TestALaterCycleIsToldWhatHasChanged(t *testing.T) {
	t.Parallel()
	const scenario = `
[[reply]]
user = 1
turn = 0
  [[reply.call]]
  name = "write"
  args = { path = "a.txt", content = "one\ntwo \nthree\n" }
  [[reply.call]]
  name = "write"
  args = { path = "b.txt", content = "as it stays\n" }
[[reply]]
user = 1
text = "done"
[[reply]]
user = 2
turn = 0
  [[reply.call]]
  name = "edit"
  args = { path = "a.txt", old_string = "two\nthree", new_string = "2\n3" }
  [[reply.call]]
  name = "bash"
  args = { command = "echo four >>a.txt" }
  [[reply.call]]
  name = "edit"
  args = { path = "a.txt", old_string = "four", new_string = "4" }
[[reply]]
user = 2
text = "done"
`
	for name, c := range map[string]struct {
		same bool
		told string
		want string
	}{
		"in one process": {same: true, told: "-two \n+two\n", want: "one\n2\n3\n4\n"},
		"in another":     {told: "a.txt has changed: read it again", want: "one\ntwo\nthree\nfour\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, scenario, nil)
			if c.same {
				b.process = b.start()
			}
			b.must(briefFor(plan.Implement, 1))
			b.write("a.txt", "one\ntwo\nthree\n") // a formatter
			second := briefFor(plan.Implement, 2)
			second.Gaps = []plan.Gap{{ID: "G1", Gap: "it does not work", Severity: plan.SeverityMust, Status: plan.GapOpened}}
			b.must(second)
			told := b.of(plan.Implement, 2)[0].users()[1]
			if !strings.Contains(told, c.told) || strings.Contains(told, "b.txt") || !strings.Contains(told, "\n<changed>\n") {
				t.Errorf("the second cycle is told\n%s", told)
			}
			if got := b.read("a.txt"); got != c.want {
				t.Errorf("the file has %q, want %q", got, c.want)
			}
			if again := b.of(plan.Implement, 2)[1].users(); len(again) != 2 || again[1] != told {
				t.Errorf("the prompt has changed to %q", again)
			}
		})
	}
}
