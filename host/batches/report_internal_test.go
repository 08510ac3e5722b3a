package batches

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

func TestARecordHoldsTheLatestWordAndNoParkedTime(t *testing.T) {
	t.Parallel()
	at := func(seconds int64, body plan.Body) plan.Event {
		return plan.Event{Time: time.Unix(1000+seconds, 0), Body: body}
	}
	check := func(command string, code int, baseline bool) plan.CheckEnd {
		return plan.CheckEnd{CheckResult: plan.CheckResult{
			Check:    plan.Check{Command: command},
			ExitCode: code,
			Baseline: baseline,
		}}
	}
	trial := check("trial", 0, false)
	trial.Evidence = "with"
	var r record
	for _, ev := range []plan.Event{
		at(0, plan.RunStart{}),
		at(1, check("never again", 1, true)),
		at(2, check("test", 1, true)),
		at(3, check("lint", 1, false)),
		at(4, check("test", 1, false)),
		at(5, plan.GapChange{Gap: plan.Gap{ID: "G1", Gap: "it is wrong", Severity: "must", Status: plan.GapOpened}}),
		at(6, plan.Parked{}),
		at(600, plan.Unparked{}),
		at(601, check("test", 0, false)),
		at(602, trial),
		at(603, plan.GapChange{Gap: plan.Gap{ID: "G1", Status: plan.GapClosed}}),
		at(604, plan.VerdictGiven{Judgement: plan.Judgement{Verdict: plan.Done}}),
	} {
		r.observe(ev)
	}
	if want := 10 * time.Second; r.worked != want {
		t.Errorf("it worked for %s, want %s", r.worked, want)
	}
	codes := map[string]int{}
	for _, c := range r.checks() {
		codes[c.Command] = c.ExitCode
	}
	if diff := gocmp.Diff(map[string]int{"test": 0, "lint": 1}, codes); diff != "" {
		t.Errorf("the latest checks (-want +got):\n%s", diff)
	}
	gaps := []plan.Gap{{ID: "G1", Gap: "it is wrong", Severity: "must", Status: plan.GapClosed}}
	if diff := gocmp.Diff(gaps, r.gaps); diff != "" {
		t.Errorf("the gaps (-want +got):\n%s", diff)
	}
	if got := r.verdict.Word(); got != "DONE, not approved" {
		t.Errorf("the verdict is %q", got)
	}
}
