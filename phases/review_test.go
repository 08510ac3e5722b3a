package phases_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// verdicts as a reviewer may write them.
const (
	claims  = `{"verdict": "DONE", "checklist": [], "missing": [], "commands": [{"command": "cat a.txt", "exit_code": 0}]}`
	simple  = `{"verdict": "DONE", "checklist": [], "missing": [], "commands": []}`
	lies    = `{"verdict": "DONE", "checklist": [], "missing": [], "commands": [{"command": "test -e b.txt", "exit_code": 0}]}`
	alike   = `{"verdict": "DONE", "checklist": [], "missing": [], "commands": [{"command": "true", "exit_code": 0}]}`
	because = `{"verdict": "DONE", "checklist": [], "missing": [], "commands": [{"command": "true", "exit_code": 0}],` +
		` "unchanged": "it only moves code"}`
	byID    = `{"verdict": "DONE", "checklist": [], "missing": [], "commands": [{"call": "b1"}]}`
	remarks = `{"verdict": "NEEDS_FIX", "checklist": [], "missing": [{"id": "", "gap": "a comment", "severity": "should"}],` +
		` "commands": [{"command": "cat a.txt", "exit_code": 0}]}`
	needs   = `{"verdict": "NEEDS_FIX", "checklist": [], "missing": [{"id": "", "gap": "it is wrong", "severity": "must"}], "commands": []}`
	blocked = `{"verdict": "BLOCKED", "checklist": [], "missing": [], "commands": []}`
)

// say is a reply; run is one that runs the command which claims names.
func say(user, turn int, text string) string {
	return fmt.Sprintf("[[reply]]\nuser = %d\nturn = %d\ntext = '%s'\n", user, turn, text)
}

func run(user, turn int) string {
	return fmt.Sprintf("[[reply]]\nuser = %d\nturn = %d\n[[reply.call]]\nname = \"bash\"\nargs = { command = \"cat a.txt\" }\n", user, turn)
}

var reviews = []struct {
	name, scenario string
	checked        bool // the workflow ran a check that passed
	want           plan.VerdictKind
	approved       bool
	asks           int
	told           string // in the second question
}{
	{"proven at once", run(1, 0) + say(1, 1, claims), false, plan.Done, true, 1, ""},
	{"proven without having run it", say(1, 0, claims), false, plan.Done, true, 1, ""},
	{"a check is proof enough", say(1, 0, simple), true, plan.Done, true, 1, ""},
	{"needs a fix", run(1, 0) + say(1, 1, needs), false, plan.NeedsFix, false, 1, ""},
	{"blocked", say(1, 0, blocked), false, plan.CannotSay, false, 1, ""},
	{"no verdict, then one", run(1, 0) + say(1, 1, "Looks good to me.") + say(2, 0, claims), false, plan.Done, true, 2, "could not be read"},
	{"no verdict twice", say(1, 0, "Looks good.") + say(2, 0, "Still good."), true, plan.NeedsFix, false, 2, "could not be read"},
	{"no verdict, then needs a fix", say(1, 0, "Hm.") + say(2, 0, needs), false, plan.NeedsFix, false, 2, "could not be read"},
	{"a false claim, then a true one", say(1, 0, lies) + run(2, 0) + say(2, 1, claims), false, plan.Done, true, 2, "it ended with 1"},
	{"a claim that stays false", say(1, 0, lies) + say(2, 0, lies), true, plan.NeedsFix, false, 2, "test -e b.txt"},
	{"alike with and without, then why", say(1, 0, alike) + say(2, 0, because), false, plan.Done, true, 2, "alike"},
	{"alike with and without", say(1, 0, alike) + say(2, 0, alike), false, plan.NeedsFix, false, 2, "does not count yet"},
	{"nothing is proven", say(1, 0, simple) + say(2, 0, simple), false, plan.NeedsFix, false, 2, "does not count yet"},
	{"a false claim, then a gap", say(1, 0, lies) + say(2, 0, needs), true, plan.NeedsFix, false, 2, "does not count yet"},
	{"a false claim, then no verdict", say(1, 0, lies) + say(2, 0, "Trust me.") + say(3, 0, "Trust "+
		"me."), true, plan.NeedsFix, false, 3, "does not count yet"},
	{"by the id of a call", run(1, 0) + say(1, 1, byID), false, plan.Done, true, 1, ""},
	{"remarks, then DONE", say(1, 0, remarks) + say(2, 0, claims), false, plan.Done, true, 2, "named nothing that must be closed"},
	{"remarks twice", say(1, 0, remarks) + say(2, 0, remarks), false, plan.Done, true, 2, "named nothing that must be closed"},
	{"empty, then a verdict", "[[reply]]\nabout = \"could not be read\"\ntext = '" + simple + "'\n[[reply]]\n[reply.fault]\nkind " +
		"= \"empty\"\ntimes = 0\n", true, plan.Done, true, 2, "could not be read"},
}

func reviewBrief(checked bool) plan.Brief {
	brief := briefFor(plan.Review, 1)
	if checked {
		brief.Checks = []plan.CheckResult{{Check: plan.Check{Command: "test -e a.txt", Required: true}}}
	}
	return brief
}

// TestChecksThatStandAsBefore: a reviewer is shown how checks stood before the work
// where that differs, and told so where it does not.
func TestChecksThatStandAsBefore(t *testing.T) {
	t.Parallel()
	for before, listed := range map[int]bool{0: false, 1: true} {
		b := setup(t, say(1, 0, simple), map[string]string{"a.txt": "alpha\n"})
		brief := reviewBrief(true)
		brief.Base = slices.Clone(brief.Checks)
		brief.Base[0].ExitCode = before
		b.must(brief)
		prompt := b.requests()[0].users()[0]
		line := "- `test -e a.txt` (required): passed"
		if listed {
			line += "; before the work began: failed with exit status 1"
		}
		if !strings.Contains(prompt, "where they stood otherwise then, it is said:") || !strings.Contains(prompt, line+"\n") {
			t.Errorf("with exit status %d before:\n%s", before, prompt)
		}
	}
}

// TestACheckThatFailsAsBefore: of one that fails in the very words in which it failed
// before the work, a reviewer is shown the last; of any other all that there is room for.
func TestACheckThatFailsAsBefore(t *testing.T) {
	t.Parallel()
	output := func(seconds, last string) string {
		return strings.Repeat("a frame of a trace\n", 100) + "THE-MIDDLE collected 30 items\n" + strings.Repeat("another frame\n", 60) +
			"Ran 3 tests in " + seconds + "s\n" + last + "\n"
	}
	check := plan.CheckResult{Check: plan.Check{Command: "make test"}, ExitCode: 1, Output: output("2.45", "FAILED (1)")}
	fewer := strings.Replace(check.Output, "30 items", "29 items", 1)
	for name, tt := range map[string]struct {
		before plan.CheckResult
		short  bool
	}{
		"with fewer tests":  {plan.CheckResult{Check: check.Check, ExitCode: 1, Output: fewer}, true},
		"in the same words": {plan.CheckResult{Check: check.Check, ExitCode: 1, Output: output("1.9", "FAILED (1)")}, true},
		"in other words":    {plan.CheckResult{Check: check.Check, ExitCode: 1, Output: output("2.45", "FAILED (2)")}, false},
		"by another status": {plan.CheckResult{Check: check.Check, ExitCode: 2, Output: check.Output}, false},
		"passed before":     {plan.CheckResult{Check: check.Check, Output: check.Output}, false},
	} {
		b := setup(t, say(1, 0, needs), nil)
		brief := briefFor(plan.Review, 1)
		brief.Checks, brief.Base = []plan.CheckResult{check}, []plan.CheckResult{tt.before}
		b.must(brief)
		prompt := b.requests()[0].users()[0]
		if strings.Contains(prompt, "THE-MIDDLE") == tt.short || !strings.Contains(prompt, "FAILED (1)") ||
			strings.Contains(prompt, "in the same words as before the work began") != tt.short {
			t.Errorf("%s:\n%s", name, prompt)
		}
	}
}

func TestReviewsAreAskedTwiceAtMost(t *testing.T) {
	t.Parallel()
	for _, c := range reviews {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, c.scenario, map[string]string{"a.txt": "alpha\n"})
			j := b.must(reviewBrief(c.checked)).Judgement
			if j.Verdict != c.want || j.Approved != c.approved || j.Why == "" {
				t.Errorf("judged %+v", j)
			}
			if !j.Approved && j.Verdict == plan.NeedsFix && len(j.Gaps) == 0 {
				t.Error("an implementer has nothing to go by")
			}
			sent := b.requests()
			users := sent[len(sent)-1].users()
			if len(users) != c.asks {
				t.Fatalf("asked %d times, want %d", len(users), c.asks)
			}
			if c.asks >= 2 && !strings.Contains(users[1], c.told) {
				t.Errorf("the second question is %q, want %q in it", users[1], c.told)
			}
			b.balanced()
		})
	}
}

// TestAReviewGoesOnAnywhere cuts the journal of every review at every event, as
// a kill between two commits would at most, and goes on from what is left. The
// judgement must be the same, no question may be asked twice, and no command
// may run again whose outcome is not known.
func TestAReviewGoesOnAnywhere(t *testing.T) {
	t.Parallel()
	for _, c := range reviews {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			whole := setup(t, c.scenario, map[string]string{"a.txt": "alpha\n"})
			want := whole.must(reviewBrief(c.checked)).Judgement
			bodies := map[string]bool{}
			for _, r := range whole.requests() {
				bodies[string(r.body)] = true
			}
			for cut := range whole.commits {
				b := setup(t, c.scenario, map[string]string{"a.txt": "alpha\n"})
				b.commits, b.seq = whole.commits[:cut:cut], whole.seq
				lost := commandIsOpen(b.events())
				out, err := b.run(reviewBrief(c.checked))
				b.balanced()
				prompts := 0
				for _, ev := range b.events() {
					if m, ok := ev.Body.(plan.MessageEnd); ok && m.Role == plan.RoleUser {
						prompts++
					}
				}
				if lost {
					// It is not known whether the command ran, and the reviewer may be
					// asked what the script has no answer to. What is claimed is run
					// again by the workflow in any case.
					if prompts > 3 {
						t.Errorf("cut %d: %+v after %d questions", cut, out, prompts)
					}
					continue
				}
				if err != nil || out.Judgement == nil {
					t.Fatalf("cut %d: %+v, %v", cut, out.Park, err)
				}
				if diff := cmp.Diff(want, out.Judgement); diff != "" {
					t.Errorf("cut %d (-whole +resumed):\n%s", cut, diff)
				}
				if prompts != c.asks {
					t.Errorf("cut %d: %d questions, want %d", cut, prompts, c.asks)
				}
				for _, r := range b.requests() {
					if !bodies[string(r.body)] {
						t.Errorf("cut %d: this request was never made by the whole one; it ends in\n%s", cut, r.last())
					}
				}
			}
		})
	}
}

// commandIsOpen says whether a command was begun whose end is not recorded.
func commandIsOpen(events []plan.Event) bool {
	open := false
	for _, ev := range events {
		switch ev.Body.(type) {
		case plan.ToolStart:
			open = true
		case plan.ToolEnd:
			open = false
		}
	}
	return open
}

// TestOnlyCommandsOfThisReviewCount: neither those of an earlier review nor
// those that failed to end.
func TestOnlyCommandsOfThisReviewCount(t *testing.T) {
	t.Parallel()
	b := setup(t, `
[[reply]]
attempt = 1
turn = 0
  [[reply.call]]
  name = "bash"
  args = { command = "cat a.txt" }
[[reply]]
attempt = 1
turn = 1
text = '`+needs+`'
[[reply]]
attempt = 2
user = 1
turn = 0
  [[reply.call]]
  name = "bash"
  args = { command = "cat a.txt; sleep 60", timeout_s = 1 }
[[reply]]
attempt = 2
text = '`+byID+`'
`, map[string]string{"a.txt": "alpha\n"})
	first := b.must(briefFor(plan.Review, 1)).Judgement
	brief := briefFor(plan.Review, 2)
	brief.Gaps = first.Gaps
	j := b.must(brief).Judgement
	if j.Approved || j.Verdict != plan.NeedsFix {
		t.Errorf("judged %+v", j)
	}
	if n := len(b.requests()[len(b.requests())-1].users()); n != 2 {
		t.Errorf("asked %d times", n)
	}
}
