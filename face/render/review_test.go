package render_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/host"
)

// reviewed is a review with one of each kind of result.
func reviewed() host.Reviewed {
	gap := func(id, severity, text string) plan.Gap {
		return plan.Gap{ID: id, Gap: text, Severity: severity, Status: plan.GapOpened}
	}
	return host.Reviewed{
		State:    plan.Exhausted,
		ExitCode: plan.ExitNotApproved,
		Verdict: &plan.Judgement{Verdict: plan.NeedsFix, Why: "a gap", Checklist: []plan.ListItem{
			{Item: "sums are right", Evidence: "b1: 3, not 4"},
			{Item: "a flag", Met: true, Evidence: "b2"},
		}},
		Files: []string{"b/first.go", "z.go"},
		Notes: []host.PlacedNote{
			{Note: "tidy\x1b[2J it"},
			{Note: "z.go is long", Place: host.Place{Path: "z.go"}},
		},
		Gaps: []host.PlacedGap{
			{Gap: gap("G1", plan.SeverityMust, "wrong\nsum"), Place: host.Place{Path: "a dir/x#1.go", Line: 7}},
			{Gap: gap("G2", plan.SeverityShould, "a test")},
		},
		Checks: []plan.CheckResult{
			{Check: plan.Check{Command: "make test", Required: true}, ExitCode: 2},
			{Check: plan.Check{Command: "true", Required: true}},
		},
	}
}

func TestReviewAsMarkdown(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := reviewed()
	r.Gaps = append(r.Gaps, host.PlacedGap{
		Gap:   plan.Gap{ID: "G3", Severity: plan.SeverityMust, Gap: "b.go:3: no sum"},
		Place: host.Place{Path: "b.go", Line: 3},
	})
	if err := render.Review(&out, render.FormatMarkdown, "v1", r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# Review: exhausted\n\na gap\n", "\n- **G1** (must) `a dir/x#1.go:7`: wrong",
		"\n- **G2** (should): a test\n- **G3** (must) `b.go:3`: no sum\n",
		"\n- FAIL `make test`  exit 2\n", "\n- PASS `true`\n", "## Notes\n\n- tidy",
		"## What was asked\n\n- [ ] sums are right (b1: 3, not 4)\n- [x] a flag (b2)\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
	if strings.ContainsRune(out.String(), '\x1b') {
		t.Errorf("a terminal would obey:\n%q", out.String())
	}
}

func TestReviewAsSARIF(t *testing.T) {
	t.Parallel()
	type result struct {
		Rule, Level, Text, URI string
		Line                   int
	}
	read := func(r host.Reviewed) (results []result, successful bool) {
		t.Helper()
		var out bytes.Buffer
		if err := render.Review(&out, render.FormatSARIF, "v1", r); err != nil {
			t.Fatal(err)
		}
		var log struct {
			Version string
			Runs    []struct {
				Invocations []struct{ ExecutionSuccessful bool }
				Results     []struct {
					RuleID, Level string
					Message       struct{ Text string }
					Locations     []struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI string }
							Region           struct{ StartLine int }
						}
					}
				}
			}
		}
		if err := json.Unmarshal(out.Bytes(), &log); err != nil || log.Version != "2.1.0" || len(log.Runs) != 1 {
			t.Fatalf("%v: %s", err, out.String())
		}
		for _, r := range log.Runs[0].Results {
			if len(r.Locations) != 1 {
				t.Fatalf("a result with %d places", len(r.Locations))
			}
			at := r.Locations[0].PhysicalLocation
			results = append(results, result{r.RuleID, r.Level, r.Message.Text, at.ArtifactLocation.URI, at.Region.StartLine})
		}
		return results, log.Runs[0].Invocations[0].ExecutionSuccessful
	}
	got, successful := read(reviewed())
	want := []result{
		{"must", "error", "G1: wrong\nsum", "a%20dir/x%231.go", 7},
		{"should", "warning", "G2: a test", "b/first.go", 1},
		{"check", "error", "The check `make test` fails with exit status 2.", "b/first.go", 1},
		{"note", "note", "tidy\x1b[2J it", "b/first.go", 1},
		{"note", "note", "z.go is long", "z.go", 1},
	}
	if diff := cmp.Diff(want, got); diff != "" || !successful {
		t.Errorf("successful: %v (-want +got):\n%s", successful, diff)
	}

	// A review that came to no verdict has no results, and says that it was none.
	parked := host.Reviewed{State: plan.Reviewing, Parked: &plan.Parked{Reason: plan.ParkLimit}, ExitCode: plan.ExitLimit}
	if got, successful := read(parked); len(got) != 0 || successful {
		t.Errorf("%v, successful: %v", got, successful)
	}
}
