package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

// TestAStoppedCheckGetsASecondTry: where it passed before the change, or hung
// before it. What then passes is flaky, and still known to have been stopped.
func TestAStoppedCheckGetsASecondTry(t *testing.T) {
	t.Parallel()
	pass := plan.CheckResult{DurationMS: 7}
	fail := plan.CheckResult{ExitCode: 1, Output: "no"}
	late := plan.CheckResult{ExitCode: 124, TimedOut: true, Output: "late", Running: []string{"sleep"}}
	hung := plan.CheckResult{ExitCode: 124, TimedOut: true, Hung: true, Output: "hung", DurationMS: 9}
	flaky := func(r plan.CheckResult) plan.CheckResult {
		r.Flaky = true
		return r
	}
	with := func(r plan.CheckResult, tests int) plan.CheckResult {
		r.Tests = &plan.TestReport{Passed: tests}
		return r
	}
	type results = []plan.CheckResult
	cases := map[string]struct {
		tries results // in the order in which they are made
		want  results // before the change, and after it
		took  []int64 // what each try is told of the time before, in milliseconds
	}{
		"hangs once after the change":   {results{pass, hung, pass}, results{pass, flaky(hung)}, []int64{0, 7, 7}},
		"hangs always after the change": {results{pass, hung, hung}, results{pass, hung}, []int64{0, 7, 7}},
		"is late once":                  {results{pass, late, pass}, results{pass, flaky(late)}, []int64{0, 7, 7}},
		"hangs once before":             {results{hung, pass, pass}, results{flaky(hung), pass}, []int64{0, 0, 0}},
		"hangs now and then":            {results{hung, pass, hung, pass}, results{flaky(hung), flaky(hung)}, []int64{0, 0, 0, 0}},
		"hangs always":                  {results{hung, hung, hung}, results{hung, hung}, []int64{0, 0, 0}},
		"is late before":                {results{late, pass}, results{late, pass}, []int64{0, 0}},
		"failed before":                 {results{fail, fail, hung}, results{fail, hung}, []int64{0, 0, 0}},
		"runs less when it passes":      {results{pass, with(hung, 9), with(pass, 3)}, results{pass, with(flaky(hung), 3)}, []int64{0, 7, 7}},
		"fails once":                    {results{pass, fail, pass}, results{pass, flaky(fail)}, []int64{0, 7, 7}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			check := b.cfg.Required[0]
			check.Required = false // else it goes back to the implementer
			b.cfg.Required = []plan.Check{check}
			var took []int64
			b.checker.trial = func(tr plan.Trial) { took = append(took, tr.Took.Milliseconds()) }
			b.checker.check = func(context.Context, plan.Check) (plan.CheckResult, []plan.Blob, error) {
				return c.tries[len(b.checker.ran)-1], nil, nil
			}
			b.finish()
			var got []plan.CheckResult
			for _, ev := range b.events() {
				if end, ok := ev.Body.(plan.CheckEnd); ok {
					got = append(got, end.CheckResult)
				}
			}
			for i := range c.want {
				c.want[i].Check, c.want[i].Baseline = b.cfg.Required[0], i == 0
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.took, took); diff != "" {
				t.Errorf("time before (-want +got):\n%s", diff)
			}
			if n := strings.Count(strings.Join(b.checkLines(), "\n"), "check_start"); n != 2 {
				t.Errorf("%d checks begin; want 2", n)
			}
		})
	}
}
