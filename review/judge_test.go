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

// Every way to say the same command; the record and the claim may each use
// any of them.
func TestJudgeComparesCommands(t *testing.T) {
	t.Parallel()
	same := []string{
		"go test ./...", "  go  test\t./...\n", "cd sub && go test ./...", "cd sub; go test ./...", "cd sub\ngo test ./...",
		`cd "my dir" && go test ./...`, `cd 'my dir' &&go test ./...`, `cd my\ dir && cd .. && go test ./...`,
		`cd "$(git rev-parse --show-toplevel)" && go test ./...`, "cd $(pwd) && go test ./...", "cd && go test ./...",
		"CGO_ENABLED=0 go test ./...", `A="b c" B='d' C= go test ./...`, "env A=b go test ./...", "env A=b C=d go test ./...",
		"cd sub && A=b env C=d go test ./...", "A=b cd x && go test ./...", "A=$(date +%s) go test ./...",
	}
	for _, claim := range same {
		for _, record := range same {
			if j, d := review.Judge(doneWith(ran(claim, 0)), review.Evidence{Ran: []plan.RanCommand{ran(record, 0)}}); !j.Approved || d != nil {
				t.Errorf("%q claimed, %q ran: %+v", claim, record, d)
			}
		}
	}
	for _, other := range []string{
		"go test ./... | tail", "go test", "go test ./...; true", "go test ./... || true", "cd sub || go test ./...", "echo go test ./...",
		"env go test ./...", "cd a b && go test ./...", "cd sub", "A=b", `echo "cd x && go test ./..."`, "",
	} {
		if j, d := review.Judge(doneWith(ran("go test ./...", 0)), review.Evidence{Ran: []plan.RanCommand{ran(other, 0)}}); j.Approved || d == nil {
			t.Errorf("%q ran, and that proved %q", other, "go test ./...")
		}
	}
}

func TestJudgeDone(t *testing.T) {
	t.Parallel()
	met, unmet := plan.ListItem{Item: "a", Met: true}, plan.ListItem{Item: "b", Evidence: "x.go:1"}
	tests := map[string]struct {
		verdict  plan.Verdict
		evidence review.Evidence
		approved bool
		claims   int    // of the doubt; -1 for no doubt
		gap      string // in the first gap
	}{
		"claim ran":        {doneWith(ran("t", 0)), review.Evidence{Ran: []plan.RanCommand{ran("t", 0)}}, true, -1, ""},
		"expected to fail": {doneWith(ran("grep x", 1)), review.Evidence{Ran: []plan.RanCommand{ran("grep x", 1)}}, true, -1, ""},
		"claim did not run": {
			doneWith(ran("t", 0), ran("u", 0)),
			review.Evidence{Ran: []plan.RanCommand{ran("u", 0)}},
			false, 1,
			"Unproven: `t` is said to have exited with 0, but it did not run in this review.",
		},
		"claim ran otherwise":     {doneWith(ran("t", 0)), review.Evidence{Ran: []plan.RanCommand{ran("t", 1)}}, false, 1, "its last run in this review exited with 1"},
		"last run counts, worse":  {doneWith(ran("t", 0)), review.Evidence{Ran: []plan.RanCommand{ran("t", 0), ran("cd x && t", 2)}}, false, 1, "exited with 2"},
		"last run counts, better": {doneWith(ran("t", 0)), review.Evidence{Ran: []plan.RanCommand{ran("t", 2), ran("t", 0)}}, true, -1, ""},
		"a check is not a run":    {doneWith(ran("t", 0)), review.Evidence{Checks: []plan.CheckResult{check("t", 0, true)}}, false, 1, "did not run"},
		"nothing at all":          {doneWith(), review.Evidence{Baseline: []plan.CheckResult{check("t", 0, false)}}, false, 0, "Unproven: The reviewer said DONE, but no command and no check ran."},
		"blank claim only":        {doneWith(ran("  ", 0)), review.Evidence{}, false, 0, "Unproven"},
		"no claim, a check":       {doneWith(), review.Evidence{Checks: []plan.CheckResult{check("t", 0, false)}}, true, -1, ""},
		"no claim, a command":     {doneWith(), review.Evidence{Ran: []plan.RanCommand{ran("ls", 0)}}, true, -1, ""},
		"checklist met":           {plan.Verdict{Verdict: plan.Done, Checklist: []plan.ListItem{met}}, review.Evidence{Ran: []plan.RanCommand{ran("ls", 0)}}, true, -1, ""},
		"checklist unmet":         {plan.Verdict{Verdict: plan.Done, Checklist: []plan.ListItem{met, unmet}}, review.Evidence{Ran: []plan.RanCommand{ran("ls", 0)}}, false, -1, "A requirement is not met: b"},
		"missing":                 {plan.Verdict{Verdict: plan.Done, Missing: []plan.Missing{{Gap: "docs", Severity: plan.SeverityShould}}}, review.Evidence{Ran: []plan.RanCommand{ran("ls", 0)}}, false, -1, "docs"},
		"missing and unproven":    {plan.Verdict{Verdict: plan.Done, Missing: []plan.Missing{{Gap: "docs"}}}, review.Evidence{}, false, -1, "docs"},
		"required fails":          {doneWith(), review.Evidence{Checks: []plan.CheckResult{check("t", 1, true)}}, false, -1, "The check `t` is required and fails with exit code 1."},
		"required always failed": {doneWith(), review.Evidence{
			Checks: []plan.CheckResult{check("t", 1, true)}, Baseline: []plan.CheckResult{check("t", 1, true)},
		}, false, -1, "is required and fails"},
		"required at baseline": {doneWith(), review.Evidence{
			Checks: []plan.CheckResult{check("t", 1, false)}, Baseline: []plan.CheckResult{check("t", 1, true)},
		}, false, -1, "is required and fails"},
		"required did not run": {doneWith(), review.Evidence{
			Checks: []plan.CheckResult{check("u", 0, false)}, Baseline: []plan.CheckResult{check("t", 1, true)},
		}, false, -1, "The check `t` is required and did not run after the change."},
		"advisory fails as before": {doneWith(), review.Evidence{
			Ran: []plan.RanCommand{ran("ls", 0)}, Checks: []plan.CheckResult{check("t", 1, false)}, Baseline: []plan.CheckResult{check("t", 2, false)},
		}, true, -1, ""},
		"advisory fails, no baseline": {doneWith(), review.Evidence{Ran: []plan.RanCommand{ran("ls", 0)}, Checks: []plan.CheckResult{check("t", 1, false)}}, true, -1, ""},
		"only advisory, and it fails": {doneWith(), review.Evidence{Checks: []plan.CheckResult{check("t", 1, false)}}, false, 0, "nothing that ran shows it"},
		"advisory fails since": {doneWith(ran("t", 0)), review.Evidence{
			Ran: []plan.RanCommand{ran("t", 0)}, Checks: []plan.CheckResult{check("t", 127, false)}, Baseline: []plan.CheckResult{check("t", 0, false)},
		}, false, -1, "The check `t` passed before the change and fails now with exit code 127."},
		"later result counts":       {doneWith(), review.Evidence{Checks: []plan.CheckResult{check("t", 1, true), check("t", 0, true)}}, true, -1, ""},
		"required once":             {doneWith(), review.Evidence{Checks: []plan.CheckResult{check("t", 0, true), check("t", 1, false)}}, false, -1, "is required"},
		"out of time, no code":      {doneWith(), review.Evidence{Checks: []plan.CheckResult{{Check: plan.Check{Command: "t", Required: true}, TimedOut: true}}}, false, -1, "it ran out of time"},
		"broken check and unproven": {doneWith(ran("u", 0)), review.Evidence{Checks: []plan.CheckResult{check("t", 1, true)}}, false, -1, "The check `t`"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j, d := review.Judge(tt.verdict, tt.evidence)
			wellFormed(t, j)
			if j.Approved != tt.approved || (j.Verdict == plan.Done) != tt.approved {
				t.Errorf("%s, approved %v (%s); want approved %v", j.Verdict, j.Approved, j.Why, tt.approved)
			}
			if claims := claimsOf(d); claims != tt.claims {
				t.Errorf("doubt %+v; want %d claims", d, tt.claims)
			}
			if tt.approved {
				if len(j.Gaps) != 0 || len(j.Missing) != 0 {
					t.Errorf("approved with gaps %v", j.Gaps)
				}
				return
			}
			if len(j.Gaps) == 0 || !strings.Contains(j.Gaps[0].Gap, tt.gap) {
				t.Errorf("gaps %+v; want %q in the first", j.Gaps, tt.gap)
			}
			if d != nil {
				// What is still in doubt the second time is settled the same way.
				if diff := cmp.Diff(j, review.Final("text", nil, d, tt.verdict, tt.evidence)); diff != "" {
					t.Errorf("Final differs (-Judge +Final):\n%s", diff)
				}
			}
		})
	}
}

func claimsOf(d *review.Doubt) int {
	if d == nil {
		return -1
	}
	return len(d.Claims)
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

	j, d := review.Judge(plan.Verdict{Verdict: plan.NeedsFix, Missing: []plan.Missing{{Gap: "new", Severity: "should"}}}, ev)
	wellFormed(t, j)
	want := []plan.Gap{{ID: "G2", Gap: "new", Severity: "should", Status: plan.GapOpened}, {ID: "G1", Gap: "old", Severity: "must", Status: plan.GapClosed}}
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
		j, _ := review.Judge(doneWith(), review.Evidence{Checks: []plan.CheckResult{r}, Gaps: ledger})
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
			v, err := parse(tt.text)
			j := review.Final(tt.text, err, nil, v, review.Evidence{Gaps: ledger})
			wellFormed(t, j)
			if j.Verdict != plan.NeedsFix || j.Approved || !strings.Contains(j.Why, tt.why) {
				t.Errorf("%s, approved %v: %s", j.Verdict, j.Approved, j.Why)
			}
			if len(j.Gaps) != 1 || j.Gaps[0].ID != "G2" || !strings.Contains(j.Gaps[0].Gap, tt.gap) || len(j.Gaps[0].Gap) > 4200 || !utf8.ValidString(j.Gaps[0].Gap) {
				t.Errorf("gaps %+v", j.Gaps)
			}
		})
	}
	// A second answer that can be read and is not in doubt counts.
	j := review.Final("text", nil, nil, doneWith(ran("t", 0)), review.Evidence{Ran: []plan.RanCommand{ran("t", 0)}})
	if !j.Approved {
		t.Errorf("%+v", j)
	}
	j = review.Final("what is wrong", nil, nil, plan.Verdict{Verdict: plan.NeedsFix}, review.Evidence{})
	if !strings.Contains(j.Gaps[0].Gap, "what is wrong") {
		t.Errorf("%+v", j.Gaps)
	}
}

func TestLedger(t *testing.T) {
	t.Parallel()
	gap := func(id, text, severity string, status plan.GapStatus) plan.Gap {
		return plan.Gap{ID: id, Gap: text, Severity: severity, Status: status}
	}
	ledger := []plan.Gap{
		gap("G1", "No tests.", "must", plan.GapOpened),
		gap("G2", "no docs", "should", plan.GapOpened),
		gap("G7", "no help", "must", plan.GapOpened),
		gap("G7", "no help", "must", plan.GapClosed), // later entries count
	}
	tests := map[string]struct {
		gaps    []plan.Gap
		missing []plan.Missing
		all     bool
		want    []plan.Gap
	}{
		"nothing":              {nil, nil, true, nil},
		"first":                {nil, []plan.Missing{{Gap: " a "}, {Gap: "b", Severity: "should"}}, true, []plan.Gap{gap("G1", "a", "must", plan.GapOpened), gap("G2", "b", "should", plan.GapOpened)}},
		"unchanged":            {ledger, []plan.Missing{{ID: "G1", Gap: "No tests.", Severity: "must"}, {ID: "g2"}}, true, nil},
		"same words":           {ledger, []plan.Missing{{Gap: "no  TESTS", Severity: "must"}}, false, []plan.Gap{gap("G1", "no  TESTS", "must", plan.GapOpened)}},
		"reworded":             {ledger, []plan.Missing{{ID: "G1", Gap: "no unit tests"}}, false, []plan.Gap{gap("G1", "no unit tests", "must", plan.GapOpened)}},
		"closed":               {ledger, []plan.Missing{{ID: "G1"}}, true, []plan.Gap{gap("G2", "no docs", "should", plan.GapClosed)}},
		"not the whole":        {ledger, nil, false, nil},
		"reopened by id":       {ledger, []plan.Missing{{ID: "G7"}}, false, []plan.Gap{gap("G7", "no help", "must", plan.GapReopened)}},
		"reopened by words":    {ledger, []plan.Missing{{Gap: "No help!"}}, false, []plan.Gap{gap("G7", "No help!", "must", plan.GapReopened)}},
		"new number":           {ledger, []plan.Missing{{Gap: "x"}}, false, []plan.Gap{gap("G8", "x", "must", plan.GapOpened)}},
		"unknown id":           {ledger, []plan.Missing{{ID: "G3", Gap: "x"}}, false, []plan.Gap{gap("G8", "x", "must", plan.GapOpened)}},
		"unknown id, no words": {ledger, []plan.Missing{{ID: "G3"}, {Gap: " "}}, false, nil},
		"named twice":          {ledger, []plan.Missing{{Gap: "x"}, {Gap: "X."}, {ID: "G2"}, {Gap: "no docs"}}, false, []plan.Gap{gap("G8", "x", "must", plan.GapOpened)}},
		"other ids":            {[]plan.Gap{gap("A-1", "a", "must", plan.GapOpened), gap("", "", "", "")}, []plan.Missing{{Gap: "b"}, {Gap: "..."}}, false, []plan.Gap{gap("G1", "b", "must", plan.GapOpened), gap("G2", "...", "must", plan.GapOpened)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, review.Ledger(tt.gaps, tt.missing, tt.all)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestADoneThatRestsOnAFailedCheckContradictsItself(t *testing.T) {
	t.Parallel()
	v := plan.Verdict{Verdict: plan.Done, Commands: []plan.RanCommand{{Command: "cd . && go test ./...", ExitCode: 1}}}
	ev := review.Evidence{Ran: v.Commands, Checks: []plan.CheckResult{{Check: plan.Check{Command: "go test ./..."}}}}
	if j, _ := review.Judge(v, ev); j.Approved || j.Verdict != plan.NeedsFix {
		t.Errorf("judged %+v", j)
	}
	ev.Checks[0].Command = "go vet ./..."
	if j, d := review.Judge(v, ev); !j.Approved || d != nil {
		t.Errorf("a command that proves something by failing is judged %+v, %+v", j, d)
	}
}
