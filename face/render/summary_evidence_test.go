package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
)

// TestSummaryOfEvidence: what was noticed in the last review stands there with
// the reason that a person gave, and a plan that waits stands there whole.
func TestSummaryOfEvidence(t *testing.T) {
	t.Parallel()
	tl := &Tally{}
	for _, body := range []plan.Body{
		plan.StateChange{From: plan.Implementing, To: plan.Reviewing},
		plan.FindingMade{Finding: plan.Finding{Kind: plan.FindScope, Path: "old.go", Text: "old.go was changed."}},
		plan.StateChange{From: plan.Implementing, To: plan.Reviewing},
		plan.FindingMade{Finding: plan.Finding{Kind: plan.FindScope, Path: "a.go", Text: "a.go was changed.", Reason: "a.go holds the helper"}},
		plan.FindingMade{Finding: plan.Finding{Kind: plan.FindScope, Path: "b.go", Text: "b.go was changed."}},
		plan.FindingMade{Finding: plan.Finding{Kind: plan.FindScope, Path: "c.go", Text: "c.go was changed."}},
		plan.FindingMade{Finding: plan.Finding{Kind: plan.FindStale, Text: "The last test run is old."}},
		plan.VerdictGiven{Judgement: plan.Judgement{Verdict: plan.Done, Approved: true, Checklist: []plan.ListItem{{Item: "c.go is needed", Met: true}}}},
		plan.PlanMade{PlanDoc: plan.PlanDoc{Version: 1, Text: "# The plan\n\nall of it\x1b[2J"}},
	} {
		tl.Add(plan.Event{Run: "R1", Body: body})
	}
	text := func() string {
		var out bytes.Buffer
		WriteSummary(&out, tl, Options{Width: func() int { return 100 }})
		return out.String()
	}
	for _, want := range []string{
		"noticed   a.go was changed.\n            why: a.go holds the helper\n            b.go was changed.\n            nobody gave a reason\n",
		"c.go was changed.\n            why: review: c.go is needed\n            The last test run is old.\n",
	} {
		if !strings.Contains(text(), want) {
			t.Errorf("%q is not in\n%s", want, text())
		}
	}
	if got := text(); strings.Contains(got, "old.go") || strings.Contains(got, "all of it") {
		t.Errorf("it says too much:\n%s", got)
	}
	tl.Add(plan.Event{Body: plan.Parked{Reason: plan.ParkApproval, Waiting: []plan.WaitingCall{{Call: "plan-1", Name: plan.PlanTool}}}})
	for _, want := range []string{"\n  # The plan\n", "\n  all of it", "plan approve R1\n", "plan deny R1 --comment TEXT\n"} {
		if got := text(); !strings.Contains(got, want) || strings.Contains(got, "\x1b") {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// TestSummaryOfLinesThatWereTakenBack: a line that was run to weigh an approval which does
// not rest on it is not told as if it did.
func TestSummaryOfLinesThatWereTakenBack(t *testing.T) {
	t.Parallel()
	tl := &Tally{}
	ended := func(command, evidence string, code int) plan.CheckEnd {
		return plan.CheckEnd{CheckResult: plan.CheckResult{
			Check:    plan.Check{Command: command},
			Evidence: evidence,
			ExitCode: code,
		}}
	}
	for _, body := range []plan.Body{
		plan.StateChange{From: plan.Implementing, To: plan.Reviewing},
		ended("go vet", "", 0),
		ended("./probe", plan.TreeReviewed, 1),
		ended("./held", plan.TreeReviewed, 0),
		ended("./held", plan.TreeCounter, 1),
		ended("go vet", plan.TreeCounter, 0),
		plan.VerdictGiven{Judgement: plan.Judgement{
			Verdict:  plan.Done,
			Approved: true,
			Evidence: "shown",
			Commands: []plan.RanCommand{{Command: "./held"}},
		}},
	} {
		tl.Add(plan.Event{Run: "R1", Body: body})
	}
	var out bytes.Buffer
	WriteSummary(&out, tl, Options{Width: func() int { return 100 }})
	for _, want := range []string{
		"./probe: exit 1 on the work; the verdict does not rest on it\n",
		"./held: exit 0 on the work, 1 without the change\n",
		"go vet: exit 0 on the work, 0 without the change\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// What a person can decide about a run that is parked is said as commands.
func TestWhatAParkedRunWaitsFor(t *testing.T) {
	t.Parallel()
	call := plan.WaitingCall{Call: "k1", Name: "bash", Digest: "d"}
	for _, c := range []struct {
		waiting []plan.WaitingCall
		want    []string
	}{
		{[]plan.WaitingCall{call}, []string{"plan approve R1 --show\n", "plan approve R1\n", "plan deny R1 --reason TEXT\n"}},
		{[]plan.WaitingCall{call, {Call: "k2", Name: "bash"}}, []string{"plan approve R1 CALL\n", "plan deny R1 CALL --reason TEXT\n"}},
		{[]plan.WaitingCall{{Call: "k1", Question: "which?"}}, []string{"plan tell R1 TEXT\n"}},
	} {
		tl := &Tally{}
		tl.Add(plan.Event{Run: "R1", Body: plan.RunStart{Request: "x"}})
		tl.Add(plan.Event{Run: "R1", Body: plan.Parked{Reason: plan.ParkApproval, Waiting: c.waiting}})
		var out bytes.Buffer
		WriteSummary(&out, tl, Options{Width: func() int { return 100 }})
		for _, want := range append(c.want, "plan resume R1\n") {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in\n%s", want, out.String())
			}
		}
	}
}
