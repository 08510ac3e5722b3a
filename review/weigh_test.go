package review_test

import (
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/review"
)

// TestWhatALineIsWorth: only one that ends as claimed on the work and otherwise
// without it shows anything.
func TestWhatALineIsWorth(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		claim    plan.RanCommand
		trials   []plan.CheckResult
		evidence review.Evidence
		want     review.DoubtKind // "" is approved
		says     string           // in the doubt
	}{
		"told apart":           {ran("t", 0), []plan.CheckResult{onWork("t", 0), without("t", 1)}, review.Evidence{}, "", ""},
		"fails as it should":   {ran("t", 2), []plan.CheckResult{onWork("t", 2), without("t", 0)}, review.Evidence{}, "", ""},
		"alike":                {ran("t", 0), []plan.CheckResult{onWork("t", 0), without("t", 0)}, review.Evidence{}, review.DoubtShown, "without the change alike"},
		"false":                {ran("t", 0), []plan.CheckResult{onWork("t", 1), onWork("t", 1)}, review.Evidence{}, review.DoubtClaims, "it ended with 1"},
		"now so, now so":       {ran("t", 0), []plan.CheckResult{onWork("t", 1), onWork("t", 0)}, review.Evidence{}, review.DoubtShown, "ended with 1 and then with 0"},
		"so and so without":    {ran("t", 0), []plan.CheckResult{onWork("t", 0), without("t", 1), without("t", 0)}, review.Evidence{}, review.DoubtShown, "now so and now otherwise"},
		"twice without":        {ran("t", 0), []plan.CheckResult{onWork("t", 0), without("t", 1), without("t", 1)}, review.Evidence{}, "", ""},
		"not run again":        {ran("t", 0), nil, review.Evidence{Limit: "only the first 8"}, review.DoubtShown, "only the first 8"},
		"not tried without":    {ran("t", 0), []plan.CheckResult{onWork("t", 0)}, review.Evidence{}, review.DoubtShown, ""},
		"by a signal":          {ran("t", 0), []plan.CheckResult{onWork("t", 0), without("t", 139)}, review.Evidence{}, review.DoubtShown, "signal 11"},
		"by no signal":         {ran("t", 0), []plan.CheckResult{onWork("t", 0), without("t", 255)}, review.Evidence{}, "", ""},
		"not found without":    {ran("t", 0), []plan.CheckResult{onWork("t", 0), without("t", 127)}, review.Evidence{Created: []string{"bin/u"}}, review.DoubtShown, "could not be run"},
		"what the change adds": {ran("bin/u x", 0), []plan.CheckResult{onWork("bin/u x", 0), without("bin/u x", 127)}, review.Evidence{Created: []string{"bin/u"}}, "", ""},
		"hung without": {
			ran("t", 0),
			[]plan.CheckResult{onWork("t", 0), with(without("t", 124), func(r *plan.CheckResult) { r.TimedOut = true })},
			review.Evidence{},
			review.DoubtShown, "ran out of time",
		},
		"runs no test": {
			ran("t", 0),
			[]plan.CheckResult{with(onWork("t", 0), func(r *plan.CheckResult) { r.Tests = &plan.TestReport{Runners: []string{"go"}} }), without("t", 1)},
			review.Evidence{},
			review.DoubtShown, "it ran no test",
		},
		"does not say that it runs one": {
			ran("t", 0),
			[]plan.CheckResult{
				with(onWork("t", 0), func(r *plan.CheckResult) { r.Tests = &plan.TestReport{Runners: []string{"go"}, Passed: -1} }),
				with(without("t", 1), func(r *plan.CheckResult) { r.Output = "FAIL\tm [build failed]\n" }),
			},
			review.Evidence{},
			review.DoubtShown, "does not say that a test ran",
		},
		"runs no test without": {
			ran("t", 0),
			[]plan.CheckResult{
				with(onWork("t", 0), func(r *plan.CheckResult) { r.Tests = &plan.TestReport{Runners: []string{"go"}, Passed: 1} }),
				with(without("t", 0), func(r *plan.CheckResult) { r.Tests = &plan.TestReport{Runners: []string{"go"}} }),
			},
			review.Evidence{},
			"", "",
		},
		"writes to the work": {
			ran("t", 0),
			[]plan.CheckResult{with(onWork("t", 0), func(r *plan.CheckResult) { r.Wrote = []string{"x.go"} }), without("t", 1)},
			review.Evidence{},
			review.DoubtShown, "writes to files of the work (x.go)",
		},
		"ran on other files": {
			ran("t", 0),
			[]plan.CheckResult{onWork("t", 1), onWork("t", 1)},
			review.Evidence{Calls: []review.Call{{ID: "b1", Command: "t", Altered: []string{"x.go"}}}},
			review.DoubtShown, "stood changed in your copy (x.go)",
		},
		"ran on both": {
			ran("t", 0),
			[]plan.CheckResult{onWork("t", 1), onWork("t", 1)},
			review.Evidence{Calls: []review.Call{{ID: "b1", Command: "t", Altered: []string{"x.go"}}, {ID: "b2", Command: "t"}}},
			review.DoubtClaims, "",
		},
		"by its id": {
			plan.RanCommand{Call: "b2"},
			[]plan.CheckResult{onWork("t", 3), without("t", 0)},
			review.Evidence{Calls: []review.Call{{ID: "b1", Command: "u"}, {ID: "b2", Command: "t", ExitCode: 3}}},
			"", "",
		},
		"by the server's id": {
			plan.RanCommand{Call: "call_9"},
			[]plan.CheckResult{onWork("t", 0), without("t", 1)},
			review.Evidence{Calls: []review.Call{{ID: "b1", Key: "call_9", Command: "t"}}},
			"", "",
		},
		"by no id": {plan.RanCommand{Call: "b7"}, nil, review.Evidence{}, review.DoubtShown, "not in the record"},
		"a check's own words": {
			ran("go  test", 0), nil,
			review.Evidence{Checks: []plan.CheckResult{check("go test", 1, false)}, Baseline: []plan.CheckResult{check("go test", 1, false)}},
			review.DoubtClaims, "one of the workflow's own checks, and that ended with 1",
		},
		"a check tells": {
			ran("t", 0),
			[]plan.CheckResult{{Check: plan.Check{Command: "t"}, Evidence: plan.TreeCounter, ExitCode: 1}},
			review.Evidence{Checks: []plan.CheckResult{check("t", 0, true)}},
			"", "",
		},
		"a check, unclaimed": {
			ran("  ", 0),
			[]plan.CheckResult{{Check: plan.Check{Command: "t"}, Evidence: plan.TreeCounter, ExitCode: 1}},
			review.Evidence{Checks: []plan.CheckResult{check("t", 0, true)}},
			"", "",
		},
		"a flaky check": {
			ran("  ", 0),
			[]plan.CheckResult{{Check: plan.Check{Command: "t"}, Evidence: plan.TreeCounter, ExitCode: 1}},
			review.Evidence{Checks: []plan.CheckResult{with(check("t", 0, true), func(r *plan.CheckResult) { r.Flaky = true })}},
			review.DoubtShown, "only sometimes",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.evidence.Trials = tt.trials
			v := doneWith(tt.claim)
			for _, c := range tt.evidence.Checks {
				v.Checklist = append(v.Checklist, plan.ListItem{Item: "the check `" + c.Command + "`", Met: true})
			}
			j, d := review.Judge(v, tt.evidence)
			wellFormed(t, j)
			if j.Approved != (tt.want == "") || j.Approved != (d == nil) || j.Approved && j.Evidence != plan.EvidenceShown {
				t.Fatalf("approved %v as %q (%s), doubt %+v", j.Approved, j.Evidence, j.Why, d)
			}
			if d == nil {
				return
			}
			if d.Kind != tt.want || !strings.Contains(review.Reask(nil, d), tt.says) {
				t.Errorf("doubt %s:\n%s\nwant %s with %q", d.Kind, review.Reask(nil, d), tt.want, tt.says)
			}
			tt.evidence.AskedDoubts = []review.DoubtKind{d.Kind}
			again, d := review.Judge(v, tt.evidence)
			if again.Approved || again.Verdict != plan.NeedsFix || d != nil || len(again.Gaps) == 0 {
				t.Errorf("asked before: %+v, doubt %+v", again, d)
			}
		})
	}
}

// TestAnApprovalNamesWhatItRestsOn: a claimed line that ended otherwise when it was run
// alone, and so counts for nothing, is none of the approval's; one that names a call says
// what ran.
func TestAnApprovalNamesWhatItRestsOn(t *testing.T) {
	t.Parallel()
	v := doneWith(ran("probe", 0), plan.RanCommand{Call: "b2"})
	j, d := review.Judge(v, review.Evidence{
		Trials: []plan.CheckResult{onWork("probe", 1), onWork("probe", 1), onWork("t", 0), without("t", 1)},
		Calls: []review.Call{
			{ID: "b1", Command: "probe", Altered: []string{"x.go"}},
			{ID: "b2", Command: "t"},
		},
	})
	if d != nil || !j.Approved || len(j.Commands) != 1 || j.Commands[0] != ran("t", 0) {
		t.Errorf("approved %v by %v, doubt %+v", j.Approved, j.Commands, d)
	}
}
