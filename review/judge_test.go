package review_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/review"
)

func ran(command string, code int) plan.RanCommand {
	return plan.RanCommand{Command: command, ExitCode: code}
}

func doneWith(commands ...plan.RanCommand) plan.Verdict {
	return plan.Verdict{Verdict: plan.Done, Commands: commands}
}

func check(command string, code int, required bool) plan.CheckResult {
	return plan.CheckResult{Check: plan.Check{Command: command, Required: required}, ExitCode: code}
}

// trial is a run of a line that the engine made to weigh a verdict.
func trial(command, on string, code int) plan.CheckResult {
	source := plan.CheckClaim
	return plan.CheckResult{Check: plan.Check{Command: command, Source: source}, Evidence: on, ExitCode: code}
}

func onWork(command string, code int) plan.CheckResult {
	return trial(command, plan.TreeReviewed, code)
}

func without(command string, code int) plan.CheckResult {
	return trial(command, plan.TreeCounter, code)
}

// with changes a result.
func with(r plan.CheckResult, do func(*plan.CheckResult)) plan.CheckResult {
	do(&r)
	return r
}

// proven is evidence that shows the line t.
func proven() review.Evidence {
	return review.Evidence{Trials: []plan.CheckResult{onWork("t", 0), without("t", 1)}}
}

func and(ev review.Evidence, do func(*review.Evidence)) review.Evidence {
	do(&ev)
	return ev
}

func TestJudgeDone(t *testing.T) {
	t.Parallel()
	met, unmet := plan.ListItem{Item: "a", Met: true}, plan.ListItem{Item: "b", Evidence: "x.go:1"}
	finding := []plan.Finding{{Kind: plan.FindGone, Path: "calc/add_test.go", Text: "calc/add_test.go was deleted.", Answer: true}}
	because := plan.Verdict{Verdict: plan.Done, Unchanged: "it only moves code"}
	noChange := plan.Verdict{Verdict: plan.Done, NoChange: "it works already"}
	passes := []plan.CheckResult{check("t", 0, true)}
	fails := []plan.CheckResult{check("f", 1, false)}
	alike := review.Evidence{Checks: passes, Trials: []plan.CheckResult{{Check: plan.Check{Command: "t"}, Evidence: plan.TreeCounter}}}
	hangs := func(r *plan.CheckResult) { r.TimedOut, r.Hung = true, true }
	hungOnce := review.Evidence{
		Checks: []plan.CheckResult{with(check("t", 124, true), func(r *plan.CheckResult) {
			hangs(r)
			r.Flaky = true
		})},
		Baseline: passes,
		Trials:   []plan.CheckResult{{Check: plan.Check{Command: "t"}, Evidence: plan.TreeCounter, ExitCode: 1}},
	}
	unnamed := review.Evidence{
		Checks: []plan.CheckResult{with(check("t", 0, true), func(r *plan.CheckResult) { r.Tests = &plan.TestReport{Passed: -1} })},
		Trials: []plan.CheckResult{{
			Check:    plan.Check{Command: "t"},
			Evidence: plan.TreeCounter,
			ExitCode: 1,
			Output:   "FAIL\tm [build failed]",
			Tests:    &plan.TestReport{},
		}},
	}
	failedOnce := and(hungOnce, func(e *review.Evidence) {
		e.Baseline = nil
		e.Checks = []plan.CheckResult{with(check("t", 1, false), func(r *plan.CheckResult) { r.Flaky = true })}
	})
	tests := map[string]struct {
		verdict  plan.Verdict
		evidence review.Evidence
		approved string           // what the approval rests on; "" is not approved
		doubt    review.DoubtKind // "" for none
		gap      string           // in the first gap
	}{
		"shown":                 {doneWith(ran("t", 0)), proven(), plan.EvidenceShown, "", ""},
		"nothing at all":        {doneWith(), review.Evidence{}, "", review.DoubtShown, "nothing that ran shows it"},
		"only a check, alike":   {doneWith(), alike, "", review.DoubtShown, "nothing tells the work"},
		"and why":               {because, alike, plan.EvidenceUnbroken, "", ""},
		"and why, insisted on":  {because, and(alike, func(e *review.Evidence) { e.Strict = true }), "", review.DoubtShown, "the settings insist"},
		"why, and nothing ran":  {because, review.Evidence{}, "", review.DoubtShown, "nothing that ran shows it"},
		"no change, no word":    {doneWith(ran("t", 0)), review.Evidence{Unchanged: true, Checks: passes}, "", review.DoubtShown, "no_change"},
		"no change, and why":    {noChange, review.Evidence{Unchanged: true, Checks: passes}, plan.EvidenceUnbroken, "", ""},
		"no change, no proof":   {noChange, review.Evidence{Unchanged: true}, "", review.DoubtShown, "nothing that ran"},
		"no_change of a change": {noChange, alike, "", review.DoubtShown, "nothing tells the work"},
		"checklist met":         {plan.Verdict{Verdict: plan.Done, Checklist: []plan.ListItem{met}, Commands: []plan.RanCommand{ran("t", 0)}}, proven(), plan.EvidenceShown, "", ""},
		"checklist unmet":       {plan.Verdict{Verdict: plan.Done, Checklist: []plan.ListItem{met, unmet}}, proven(), "", "", "A requirement is not met: b"},
		"must":                  {plan.Verdict{Verdict: plan.Done, Missing: []plan.Missing{{Gap: "docs"}}}, proven(), "", "", "docs"},
		"should":                {plan.Verdict{Verdict: plan.Done, Missing: []plan.Missing{{Gap: "docs", Severity: plan.SeverityShould}}, Commands: []plan.RanCommand{ran("t", 0)}}, proven(), plan.EvidenceShown, "", ""},
		"a finding":             {doneWith(ran("t", 0)), and(proven(), func(e *review.Evidence) { e.Findings = finding }), "", review.DoubtSilent, "calc/add_test.go was deleted."},
		"a finding, answered": {
			plan.Verdict{Verdict: plan.Done, Checklist: []plan.ListItem{{Item: "add_test.go is gone: right", Met: true}}, Commands: []plan.RanCommand{ran("t", 0)}},
			and(proven(), func(e *review.Evidence) { e.Findings = finding }), plan.EvidenceShown, "", "",
		},
		"a finding, answered in prose": {
			plan.Verdict{Verdict: plan.Done, Checklist: []plan.ListItem{{Item: "add_test.go is gone: right", Met: true, Prose: true}}, Commands: []plan.RanCommand{ran("t", 0)}},
			and(proven(), func(e *review.Evidence) { e.Findings = finding }), "", review.DoubtSilent, "was deleted",
		},
		"fails as before": {doneWith(ran("t", 0)), and(proven(), func(e *review.Evidence) { e.Checks, e.Baseline = fails, fails }), "", review.DoubtSilent, "The check `f` fails."},
		"cannot start, as before": {
			doneWith(ran("t", 0)), and(proven(), func(e *review.Evidence) {
				e.Checks = []plan.CheckResult{{Check: plan.Check{Command: "f"}, ExitCode: 127, NotStarted: "f: not found"}}
				e.Baseline = e.Checks
			}), "", review.DoubtSilent, "The check `f` could not start. The checklist does not say what was run in its place.",
		},
		"fails as before, answered": {
			plan.Verdict{Verdict: plan.Done, Checklist: []plan.ListItem{{Item: "f", Met: true, Evidence: "fails at the start too"}}, Commands: []plan.RanCommand{ran("t", 0)}},
			and(proven(), func(e *review.Evidence) { e.Checks, e.Baseline = fails, fails }), plan.EvidenceShown, "", "",
		},
		"required fails": {doneWith(), review.Evidence{Checks: []plan.CheckResult{check("t", 1, true)}}, "", "", "The check `t` is required and fails with exit code 1."},
		"required always failed": {doneWith(), review.Evidence{
			Checks: []plan.CheckResult{check("t", 1, true)}, Baseline: []plan.CheckResult{check("t", 1, true)},
		}, "", "", "is required and fails"},
		"required at baseline": {doneWith(), review.Evidence{
			Checks: []plan.CheckResult{check("t", 1, false)}, Baseline: []plan.CheckResult{check("t", 1, true)},
		}, "", "", "is required and fails"},
		"required and never starts": {doneWith(), review.Evidence{
			Checks:   []plan.CheckResult{{Check: plan.Check{Command: "t", Required: true}, ExitCode: 4, NotStarted: "No module named x"}},
			Baseline: []plan.CheckResult{{Check: plan.Check{Command: "t", Required: true}, ExitCode: 4, NotStarted: "No module named x"}},
		}, "", "", "could not start, before the work nor after it, so it says nothing of the work: No module named x"},
		"required did not run": {doneWith(), review.Evidence{
			Checks: []plan.CheckResult{check("u", 0, false)}, Baseline: []plan.CheckResult{check("t", 1, true)},
		}, "", "", "The check `t` is required and did not run after the change."},
		"advisory fails since": {doneWith(ran("t", 0)), review.Evidence{
			Checks: []plan.CheckResult{check("t", 127, false)}, Baseline: []plan.CheckResult{check("t", 0, false)},
		}, "", "", "The check `t` passed before the change and fails now with exit code 127."},
		"required once":                                 {doneWith(), review.Evidence{Checks: []plan.CheckResult{check("t", 0, true), check("t", 1, false)}}, "", "", "is required"},
		"hung once, and nothing claimed":                {doneWith(), hungOnce, plan.EvidenceShown, "", ""},
		"hung once, claimed":                            {doneWith(ran("t", 0)), hungOnce, plan.EvidenceShown, "", ""},
		"a check that names no test, and did not build": {doneWith(), unnamed, "", review.DoubtShown, "does not say that a test ran"},
		"failed once":                                   {doneWith(ran("t", 0)), failedOnce, "", review.DoubtShown, "nothing that ran shows it"},
		"hung once without the change": {
			doneWith(ran("t", 0)),
			review.Evidence{Trials: []plan.CheckResult{onWork("t", 0), with(without("t", 124), hangs), without("t", 1)}},
			plan.EvidenceShown, "", "",
		},
		"hung once on the work": {
			doneWith(ran("t", 0)),
			review.Evidence{Trials: []plan.CheckResult{with(onWork("t", 124), hangs), onWork("t", 0), without("t", 1)}},
			plan.EvidenceShown, "", "",
		},
		"out of time": {doneWith(), review.Evidence{Checks: []plan.CheckResult{{Check: plan.Check{Command: "t", Required: true}, TimedOut: true}}}, "", "", "it ran out of time"},
		"stuck before and after": {doneWith(), review.Evidence{
			Checks:   []plan.CheckResult{{Check: plan.Check{Command: "t", Required: true}, ExitCode: 124, TimedOut: true}},
			Baseline: []plan.CheckResult{{Check: plan.Check{Command: "t", Required: true}, ExitCode: 124, TimedOut: true}},
		}, "", "", "BLOCKED"},
		"required is flaky": {doneWith(), review.Evidence{Checks: []plan.CheckResult{with(check("t", 1, true), func(r *plan.CheckResult) { r.Flaky = true })}}, "", "", "passes only sometimes"},
		"as flaky as before": {doneWith(ran("l", 0)), review.Evidence{
			Checks:   []plan.CheckResult{with(check("t", 1, true), func(r *plan.CheckResult) { r.Flaky = true })},
			Baseline: []plan.CheckResult{with(check("t", 1, true), func(r *plan.CheckResult) { r.Flaky = true })},
			Trials:   []plan.CheckResult{onWork("l", 0), without("l", 1)},
		}, plan.EvidenceShown, "", ""},
		"a hang that came and went": {doneWith(ran("l", 0)), review.Evidence{
			Checks:   []plan.CheckResult{with(check("t", 124, true), func(r *plan.CheckResult) { r.Flaky, r.Hung, r.TimedOut = true, true, true })},
			Baseline: passes,
			Trials:   []plan.CheckResult{onWork("l", 0), without("l", 1)},
		}, plan.EvidenceShown, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, d := review.Judge(tt.verdict, tt.evidence)
			wellFormed(t, j)
			if j.Approved != (tt.approved != "") || j.Evidence != tt.approved || (j.Verdict == plan.Done) != j.Approved {
				t.Errorf("%s, approved %v as %q (%s); want %q", j.Verdict, j.Approved, j.Evidence, j.Why, tt.approved)
			}
			if kind := kindOf(d); kind != tt.doubt {
				t.Errorf("doubt %+v; want %q", d, tt.doubt)
			}
			if tt.approved != "" {
				if len(j.Gaps) != 0 || len(j.Missing) != 0 {
					t.Errorf("approved with gaps %v", j.Gaps)
				}
				return
			}
			if tt.gap == string(plan.CannotSay) {
				if j.Verdict != plan.CannotSay || len(j.Gaps) > 0 {
					t.Errorf("judged %+v", j)
				}
				return
			}
			if len(j.Gaps) == 0 || !strings.Contains(j.Gaps[0].Gap, tt.gap) {
				t.Errorf("gaps %+v; want %q in the first", j.Gaps, tt.gap)
			}
		})
	}
}

func kindOf(d *review.Doubt) review.DoubtKind {
	if d == nil {
		return ""
	}
	return d.Kind
}

// TestRemarksDoNotBlock: a NEEDS_FIX that names nothing which must be closed is
// asked about once, and is then a DONE with notes, on the same evidence.
func TestRemarksDoNotBlock(t *testing.T) {
	t.Parallel()
	v := plan.Verdict{
		Verdict:  plan.NeedsFix,
		Missing:  []plan.Missing{{Gap: "a comment", Severity: plan.SeverityShould}},
		Commands: []plan.RanCommand{ran("t", 0)},
		Notes:    []string{"slow"},
	}
	if _, d := review.Judge(v, proven()); kindOf(d) != review.DoubtSmall {
		t.Errorf("doubt %+v", d)
	}
	asked := []review.DoubtKind{review.DoubtSmall}
	j, d := review.Judge(v, and(proven(), func(e *review.Evidence) { e.AskedDoubts = asked }))
	if !j.Approved || d != nil {
		t.Errorf("repeated: %+v, %+v", j, d)
	}
	if diff := cmp.Diff([]string{"slow", "a comment"}, j.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if j, d := review.Judge(v, review.Evidence{AskedDoubts: asked}); j.Approved || kindOf(d) != review.DoubtShown {
		t.Errorf("repeated without evidence: %+v, %+v", j, d)
	}
}

// TestAGapOnOtherFiles: a NEEDS_FIX by commands that ran while files of the work
// stood changed is asked about once.
func TestAGapOnOtherFiles(t *testing.T) {
	t.Parallel()
	v := plan.Verdict{Verdict: plan.NeedsFix, Missing: []plan.Missing{{Gap: "it fails"}}, Commands: []plan.RanCommand{ran("t", 1)}}
	ev := review.Evidence{Calls: []review.Call{{Command: "t", ExitCode: 1, Altered: []string{"x.go"}}}}
	_, d := review.Judge(v, ev)
	if kindOf(d) != review.DoubtAltered || !strings.Contains(d.Claims[0], "x.go") {
		t.Errorf("doubt %+v", d)
	}
	ev.AskedDoubts = []review.DoubtKind{review.DoubtAltered}
	if j, d := review.Judge(v, ev); j.Verdict != plan.NeedsFix || d != nil {
		t.Errorf("repeated: %+v, %+v", j, d)
	}
	ev.AskedDoubts = nil
	ev.Calls = append(ev.Calls, review.Call{Command: "t", ExitCode: 1})
	if j, d := review.Judge(v, ev); j.Verdict != plan.NeedsFix || d != nil {
		t.Errorf("on the work as well: %+v, %+v", j, d)
	}
}

// wellFormed holds for every judgement.
func wellFormed(t *testing.T, j plan.Judgement) {
	t.Helper()
	if !strings.HasSuffix(j.Why, ".") || strings.Contains(j.Why, "\n") || strings.Count(j.Why, ". ") > 0 {
		t.Errorf("why is not one sentence: %q", j.Why)
	}
	if j.Missing == nil || j.Commands == nil {
		t.Errorf("missing %#v, commands %#v: they would be null in JSON", j.Missing, j.Commands)
	}
	for _, m := range j.Missing {
		if m.ID == "" || m.Gap == "" || m.Severity == "" {
			t.Errorf("missing %+v is not filled in", m)
		}
	}
}

func TestJudgeNeedsFixAndBlocked(t *testing.T) {
	t.Parallel()
	ledger := []plan.Gap{{ID: "G1", Gap: "old", Severity: "must", Status: plan.GapOpened}}
	ev := review.Evidence{Gaps: ledger, Text: "Look at main.go."}

	j, d := review.Judge(plan.Verdict{Verdict: plan.NeedsFix, Missing: []plan.Missing{{Gap: "new", Severity: "must"}}}, ev)
	wellFormed(t, j)
	want := []plan.Gap{{ID: "G2", Gap: "new", Severity: "must", Status: plan.GapOpened}, {ID: "G1", Gap: "old", Severity: "must", Status: plan.GapClosed}}
	if diff := cmp.Diff(want, j.Gaps); diff != "" || d != nil || j.Verdict != plan.NeedsFix {
		t.Errorf("%s, %v (-want +got):\n%s", j.Verdict, d, diff)
	}

	j, _ = review.Judge(plan.Verdict{Verdict: plan.NeedsFix}, ev)
	wellFormed(t, j)
	if len(j.Gaps) != 1 || !strings.Contains(j.Gaps[0].Gap, "Look at main.go.") || j.Gaps[0].Status != plan.GapOpened {
		t.Errorf("no list: %+v", j.Gaps)
	}

	ev.Checks = []plan.CheckResult{check("t", 1, true)}
	j, _ = review.Judge(plan.Verdict{Verdict: plan.NeedsFix, Missing: []plan.Missing{{ID: "G1", Gap: "old"}}}, ev)
	if len(j.Missing) != 2 || len(j.Gaps) != 1 || !strings.Contains(j.Gaps[0].Gap, "The check `t`") {
		t.Errorf("with a failing check: %+v, %+v", j.Missing, j.Gaps)
	}

	j, d = review.Judge(plan.Verdict{Verdict: plan.CannotSay, Commands: []plan.RanCommand{ran("never", 0)}}, ev)
	wellFormed(t, j)
	if j.Verdict != plan.CannotSay || j.Approved || d != nil || len(j.Gaps) != 0 {
		t.Errorf("blocked: %+v, %+v", j, d)
	}
}

// A check keeps its gap while its output changes, and gives it back when it
// passes.
func TestJudgeKeepsTheGapOfACheck(t *testing.T) {
	t.Parallel()
	var ledger []plan.Gap
	steps := []struct {
		code   int
		output string
		want   []string
	}{
		{1, "took 1s", []string{"G1 opened took 1s"}},
		{1, "took 1s", nil},
		{2, "took 2s", []string{"G1 opened took 2s"}},
		{0, "", []string{"G1 closed took 2s"}},
		{1, "took 3s", []string{"G1 reopened took 3s"}},
	}
	for i, s := range steps {
		r := check("t", s.code, true)
		r.Output = s.output
		ev := and(proven(), func(e *review.Evidence) { e.Checks, e.Gaps = []plan.CheckResult{r}, ledger })
		j, _ := review.Judge(doneWith(ran("t", 0)), ev)
		var got []string
		for _, g := range j.Gaps {
			lines := strings.Split(g.Gap, "\n")
			got = append(got, g.ID+" "+string(g.Status)+" "+lines[len(lines)-1])
		}
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
		ledger = append(ledger, j.Gaps...)
	}
}

func TestJudgeShowsTheEndOfAnOutput(t *testing.T) {
	t.Parallel()
	r := check("t", 1, true)
	r.Output = strings.Repeat("noise\n", 100) + strings.Repeat("é", 3000) + "\nlast line\n\n"
	j, _ := review.Judge(doneWith(), review.Evidence{Checks: []plan.CheckResult{r}})
	gap := j.Gaps[0].Gap
	if !strings.HasSuffix(gap, "last line") || len(gap) > 2200 || !utf8.ValidString(gap) || strings.Contains(gap, "noise") {
		t.Errorf("gap of %d bytes: %.80q…", len(gap), gap)
	}
}

func TestFinal(t *testing.T) {
	t.Parallel()
	long := "x" + strings.Repeat("é", 4000) + "\xff"
	ledger := []plan.Gap{{ID: "G1", Gap: "old", Severity: "must", Status: plan.GapOpened}}
	for name, tt := range map[string]struct{ text, why, gap string }{
		"empty":     {" \n", "The review came back empty.", "The review came back empty"},
		"malformed": {"It looks fine.", "The review could not be read: there is no JSON object", "It looks fine."},
		"long":      {long, "The review could not be read", "éé…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(tt.text)
			j := review.Final(tt.text, err, review.Evidence{Gaps: ledger})
			wellFormed(t, j)
			if j.Verdict != plan.NeedsFix || j.Approved || !strings.Contains(j.Why, tt.why) {
				t.Errorf("%s, approved %v: %s", j.Verdict, j.Approved, j.Why)
			}
			if len(j.Gaps) != 1 || j.Gaps[0].ID != "G2" || !strings.Contains(j.Gaps[0].Gap, tt.gap) || len(j.Gaps[0].Gap) > 4200 || !utf8.ValidString(j.Gaps[0].Gap) {
				t.Errorf("gaps %+v", j.Gaps)
			}
		})
	}
}

// TestOnlyWhatIsWrongGoesBack: beside what must be closed, what is only desirable is a
// note, and what is not clearly that stays a gap.
func TestOnlyWhatIsWrongGoesBack(t *testing.T) {
	t.Parallel()
	j, doubt := review.Judge(plan.Verdict{
		Verdict: plan.NeedsFix,
		Missing: []plan.Missing{
			{Gap: "crashes on empty input", Severity: plan.SeverityMust},
			{Gap: "another test", Severity: plan.SeverityShould},
			{Gap: "of no known kind", Severity: "blocker"},
		},
		Notes: []string{"a note"},
	}, review.Evidence{})
	var gaps []string
	for _, g := range j.Gaps {
		gaps = append(gaps, g.Gap)
	}
	if diff := cmp.Diff([]string{"crashes on empty input", "of no known kind"}, gaps); diff != "" || doubt != nil {
		t.Errorf("gaps (-want +got):\n%s, doubt %v", diff, doubt)
	}
	if diff := cmp.Diff([]string{"a note", "another test"}, j.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
