package batch_test

import (
	"bytes"
	"encoding/xml"
	"html"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/internal/planted"
	"github.com/plan-engine/plan/internal/sanitize"
)

func hostile() batch.Report {
	const evil = "<script>alert(1)</script> | `x` \x1b[31m ]]>\x00"
	return batch.Report{
		ID: "B", Created: time.Unix(0, 0), Name: evil, Counts: map[batch.JobState]int{batch.JobDone: 1, batch.JobFailed: 1},
		Jobs: []batch.JobReport{
			{
				ID:      "a",
				State:   batch.JobDone,
				Outcome: plan.Approved,
				Repo:    evil,
				Request: evil,
				Diff:    "+" + evil,
				Verdict: "DONE",
				Priced:  true,
				CostUSD: 0.5,
			},
			{
				ID: "b", State: batch.JobFailed, Outcome: plan.Exhausted, Why: evil, VerdictWhy: evil,
				Checks: []plan.CheckResult{
					{Check: plan.Check{Command: evil}, ExitCode: 1},
				}, Gaps: []plan.Gap{{ID: "G1", Gap: evil, Status: plan.GapOpened}},
			},
			{ID: "c", State: batch.JobQueued},
		},
	}
}

func TestEveryFormatMakesForeignTextHarmless(t *testing.T) {
	t.Parallel()
	for _, format := range batch.Formats() {
		var b bytes.Buffer
		if err := hostile().Write(&b, format); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if strings.Contains(text, "\x1b") || strings.Contains(text, "\x00") && format != "html" {
			t.Errorf("%s has control characters", format)
		}
		if format != "text" && format != "json" && strings.Contains(text, "<script>alert") {
			t.Errorf("%s has a script of somebody else's", format)
		}
		if format == "html" && (strings.Contains(text, "http://") || strings.Contains(text, "https://")) {
			t.Error("the page needs something beside itself")
		}
	}
	if err := hostile().Write(new(bytes.Buffer), "pdf"); err == nil || !strings.Contains(err.Error(), "junit") {
		t.Errorf("an unknown format: %v", err)
	}
}

func TestAPriceThatNobodyKnowsIsNotZero(t *testing.T) {
	t.Parallel()
	priced, free := batch.JobReport{Priced: true, Tokens: 10, CostUSD: 0.5}, batch.JobReport{Tokens: 10}
	for want, r := range map[string]batch.Report{
		"$0.0000":                  {Jobs: []batch.JobReport{{ID: "not begun"}}},
		"$0.5000":                  {CostUSD: 0.5, Jobs: []batch.JobReport{priced}},
		"unpriced":                 {Jobs: []batch.JobReport{free}},
		"$0.5000 + unpriced calls": {CostUSD: 0.5, Jobs: []batch.JobReport{priced, free}},
	} {
		if got := r.Cost(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		for _, format := range []string{"text", "markdown", "html"} {
			var b bytes.Buffer
			if err := r.Write(&b, format); err != nil || !strings.Contains(html.UnescapeString(b.String()), want) {
				t.Errorf("%s does not say %s: %v", format, want, err)
			}
		}
	}
}

func TestJUnitCountsWhatItHolds(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := hostile().Write(&b, "junit"); err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	if err := xml.Unmarshal(b.Bytes(), &suite); err != nil || suite.Tests != 3 || suite.Failures != 1 || suite.Skipped != 1 {
		t.Errorf("%+v, %v in %s", suite, err, b.String())
	}
}

// TestNothingInAReportActs: whatever stands in whichever field, no format that is for
// people has anything that acts on a terminal or is not seen.
func TestNothingInAReportActs(t *testing.T) {
	t.Parallel()
	const nasty = "a\x1b]0;PWNED\x07b\x1b[2Jc\u200bd\u202ee\u2066f\U000e0041g\u0085h\x9bi\rj\ufeffk"
	var r batch.Report
	planted.Fill(reflect.ValueOf(&r).Elem(), nasty)
	for _, format := range []string{"text", "markdown", "junit", "html"} {
		var out bytes.Buffer
		if err := r.Write(&out, format); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); sanitize.Text(text) != text {
			t.Errorf("%s: %q", format, text)
		}
	}
	if text := batch.PublishBody(nasty, nil, nasty, nasty); sanitize.Text(text) != text {
		t.Errorf("what is published: %q", text)
	}
}
