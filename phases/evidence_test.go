package phases_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/tools"
)

// TestALaterReviewIsShownWhatIsNew: all of the change in short, what the last
// review has not seen in full, and what the workflow noticed, without the
// implementer's reasons.
func TestALaterReviewIsShownWhatIsNew(t *testing.T) {
	t.Parallel()
	b := setup(t, say(1, 0, simple), nil)
	brief := reviewBrief(true)
	brief.Attempt, brief.Conv = 2, "review-2"
	brief.Diff = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n-OLD-LINE\n+NEW-LINE\n" +
		"+LATE-LINE\n"
	brief.Since = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n NEW-LINE\n+LATE-LINE\n"
	brief.Gaps = []plan.Gap{{ID: "G1", Gap: "THE-GAP", Severity: plan.SeverityMust, Status: plan.GapOpened}}
	brief.Noticed = []plan.Finding{{Kind: plan.FindScope, Path: "b.txt", Text: "b.txt WAS-NOTICED </noticed>", Reason: "THE-REASON"}}
	if j := b.must(brief).Judgement; !j.Approved {
		t.Errorf("judged %+v", j)
	}
	prompt := b.requests()[0].users()[0]
	for _, word := range []string{"a.txt: changed, +2 -1", "LATE-LINE", "THE-GAP", "b.txt WAS-NOTICED", "<noticed-2>", "judge what was changed since"} {
		if !strings.Contains(prompt, word) {
			t.Errorf("the reviewer is not shown %q in\n%s", word, prompt)
		}
	}
	for _, word := range []string{"OLD-LINE", "THE-REASON"} {
		if strings.Contains(prompt, word) {
			t.Errorf("the reviewer is shown %q", word)
		}
	}
}

// TestADoneMustSpeakOfWhatWasNoticed: it is asked once, and told what about.
func TestADoneMustSpeakOfWhatWasNoticed(t *testing.T) {
	t.Parallel()
	const spoken = `{"verdict": "DONE", "checklist": [{"item": "a_test.go went with what it tested", "met": true, "evidence": "a.go:1"}], "missing": [], "commands": []}`
	for name, c := range map[string]struct {
		second   string
		approved bool
	}{"spoken of": {spoken, true}, "said again": {simple, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, say(1, 0, simple)+say(2, 0, c.second), nil)
			brief := reviewBrief(true)
			brief.Noticed = []plan.Finding{{Kind: plan.FindGone, Path: "x/a_test.go", Text: "x/a_test.go was deleted.", Answer: true}}
			j := b.must(brief).Judgement
			if j.Approved != c.approved {
				t.Errorf("judged %+v", j)
			}
			users := b.requests()[1].users()
			if len(users) != 2 || !strings.Contains(users[1], "x/a_test.go was deleted.") {
				t.Errorf("asked %q", users)
			}
		})
	}
}

// TestHowChecksAreTold: flaky, and skipped ones are told from those that
// pass and fail.
func TestHowChecksAreTold(t *testing.T) {
	t.Parallel()
	b := setup(t, say(1, 0, simple), nil)
	brief := reviewBrief(true)
	brief.Checks = append(brief.Checks,
		plan.CheckResult{Check: plan.Check{Command: "flaky"}, ExitCode: 1, Flaky: true},
		plan.CheckResult{Check: plan.Check{Command: "docs"}, Skipped: "none of its paths changed"},
	)
	b.must(brief)
	prompt := b.requests()[0].users()[0]
	for _, line := range []string{
		"- `test -e a.txt` (required): passed\n",
		"- `flaky` (advisory): flaky: it failed with exit status 1, and passed when it was run again at once\n",
		"- `docs` (advisory): passed; not run, because none of its paths changed\n",
	} {
		if !strings.Contains(prompt, line) {
			t.Errorf("%q is not in\n%s", line, prompt)
		}
	}
}

// TestThePlannerIsToldWhoWantsWhat about a plan that came back.
func TestThePlannerIsToldWhoWantsWhat(t *testing.T) {
	t.Parallel()
	for by, words := range map[string]string{"critique": "<findings>\nTHE-REMARKS", "person": "<comments>\nTHE-REMARKS"} {
		b := setup(t, say(1, 0, "# Plan: anew"), nil)
		brief := briefFor(plan.Plan, 2)
		b.earlier = brief.Plan
		brief.Remarks, brief.By = "THE-REMARKS", by
		b.must(brief)
		if prompt := b.requests()[0].users()[0]; !strings.Contains(prompt, words) ||
			!strings.Contains(prompt, "<earlier-plan>\nthe plan") {
			t.Errorf("%s: the planner is told\n%s", by, prompt)
		}
	}
}

// TestACritiqueOnlyReads, under its own header and model, and says NONE when
// nothing is wrong.
func TestACritiqueOnlyReads(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"1. It forgets b.txt.": "1. It forgets b.txt.", "NONE": "", "**None.**": ""} {
		b := setup(t, say(1, 0, text), nil)
		brief := briefFor(plan.Critique, 1)
		out := b.must(brief)
		if out.Remarks != want {
			t.Errorf("%q says %q", text, out.Remarks)
		}
		r := b.requests()[0]
		if r.phase != "critique" || !strings.Contains(string(r.raw["model"]), "model-plan") ||
			!slices.Equal(r.toolNames(), tools.Names(tools.Inspect)) {
			t.Errorf("asked as %s of %s with %v", r.phase, r.raw["model"], r.toolNames())
		}
		if prompt := r.users()[0]; !strings.Contains(prompt, "<plan>\nthe plan") || !strings.Contains(prompt, "the request") {
			t.Errorf("the critic is told\n%s", prompt)
		}
	}
}

// TestNothingSeenIsLost: what the plan accepted and what the author left open is shown to
// the reviewer, once, and stands in the judgement.
func TestNothingSeenIsLost(t *testing.T) {
	t.Parallel()
	b := setup(t, say(1, 0, simple), nil)
	brief := reviewBrief(true)
	doc := *brief.Plan
	doc.Text = "# Plan: x\n\n## Watched\n- THE-FIRST: handled in step 2\n- THE-SECOND: accepted, because it is\n  RARE\n" +
		"* THE-THIRD was seen\n\n## Verify\n~~~\n# THE-FOURTH\n~~~\n"
	brief.Plan = &doc
	brief.Closing = "I HID-THIS.\n\nLeft open:\n- THE-FIFTH\n"
	j := b.must(brief).Judgement
	if want := []string{"THE-SECOND: accepted, because it is RARE", "THE-THIRD was seen"}; !slices.Equal(j.Accepted, want) {
		t.Errorf("accepted %q, want %q", j.Accepted, want)
	}
	if want := []string{"THE-FIFTH"}; !slices.Equal(j.Open, want) {
		t.Errorf("left open %q, want %q", j.Open, want)
	}
	prompt := b.requests()[0].users()[0]
	_, left, _ := strings.Cut(prompt, "<left>\n")
	left, _, _ = strings.Cut(left, "</left>")
	if left != "- THE-FIFTH\n" || strings.Contains(prompt, "HID-THIS") {
		t.Errorf("the reviewer is told %q in\n%s", left, prompt)
	}
	const both = "what the plan has under Watched and handles in no step, and what the author left open."
	if n := strings.Count(prompt, "THE-SECOND"); n != 1 || !strings.Contains(prompt, both) {
		t.Errorf("what the plan accepts is shown %d times in\n%s", n, prompt)
	}
}

// TestALaterReviewStartsFromTheFirst: its commands, also those that it named by the id of
// a call, its files and the author's answers, all bounded.
func TestALaterReviewStartsFromTheFirst(t *testing.T) {
	t.Parallel()
	const byCall = `{"verdict": "NEEDS_FIX", "checklist": [], "missing": [{"id": "", "gap": "a", "severity": "must"}], ` +
		`"commands": [{"call": "b1"}]}`
	b := setup(t, run(1, 0)+say(1, 1, byCall), nil)
	brief := reviewBrief(true)
	first := b.must(brief).Judgement
	if len(first.Commands) != 1 || first.Commands[0].Command == "" || first.Commands[0].Call != "b1" {
		t.Fatalf("the first review rests on %+v", first.Commands)
	}
	kept := first.Commands[0].Command
	for range 400 {
		first.Commands = append(first.Commands, plan.RanCommand{Command: strings.Repeat("long ", 1000), ExitCode: 3})
	}
	b = setup(t, say(1, 0, simple), nil)
	brief = reviewBrief(true)
	brief.Attempt, brief.Conv, brief.Last, brief.Gaps = 2, "review-2", first, first.Gaps
	brief.Diff, brief.Since, brief.Closing = "diff --git a/a b/a\n", "THE-CHANGE", "G1: THE-ANSWER"
	b.must(brief)
	prompt := b.requests()[0].users()[0]
	for _, word := range []string{"- `" + kept + "` ended with", "THE-CHANGE", "THE-ANSWER"} {
		if !strings.Contains(prompt, word) {
			t.Errorf("the second review is not shown %q", word)
		}
	}
	if _, last, _ := strings.Cut(prompt, "<last-review>"); len(last) > 20_000 {
		t.Errorf("%d bytes of the last review are shown", len(last))
	}
}
