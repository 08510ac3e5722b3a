package phases

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

func TestWordsOnAGap(t *testing.T) {
	t.Parallel()
	const closing = `I looked at both.

- **G1**: mended in calc.go:3;
  ` + "`go test ./...`" + ` shows it.
- G2 is mistaken: the request says so.

## G12
Another one.

It speaks of G1 again in passing.
`
	for id, want := range map[string]string{
		"G1":  "- **G1**: mended in calc.go:3;\n`go test ./...` shows it.",
		"g2":  "- G2 is mistaken: the request says so.",
		"G12": "## G12\nAnother one.",
		"G3":  "",
	} {
		if diff := cmp.Diff(want, wordsOn(id, closing)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

// TestAnswersAreThoseToOpenGaps: nothing else of the author's words is heard.
func TestAnswersAreThoseToOpenGaps(t *testing.T) {
	t.Parallel()
	gaps := []plan.Gap{
		{ID: "G1", Gap: "a", Status: plan.GapOpened},
		{ID: "G2", Gap: "b", Status: plan.GapClosed},
		{ID: "G3", Gap: "c", Status: plan.GapReopened},
	}
	text := answersText(gaps, "SECRET reasoning.\nG1: mistaken, run `x`.\nG2: CLOSED words.\n\nMORE reasoning.\n")
	if !strings.Contains(text, "- G1: mistaken, run `x`.") || strings.Contains(text, "reasoning") || strings.Contains(text, "CLOSED") {
		t.Errorf("the reviewer hears %q", text)
	}
	if got := answersText(gaps, "All is well."); got != "" {
		t.Errorf("no answer is told as %q", got)
	}
}

func TestOpenPoints(t *testing.T) {
	t.Parallel()
	for closing, want := range map[string][]string{
		"Done.":                                                    nil,
		"Done.\nLeft open: nothing.":                               nil,
		"Done.\n\n**Left open:** None":                             nil,
		"Done.\nLeft open: the docs":                               {"the docs"},
		"Done.\n\n## Left open\n\n- the docs\n* a flag\n":          {"the docs", "a flag"},
		"Left open:\n- one\n## Other\n- two":                       {"one"},
		"What was left open before: see above":                     nil,
		"Left open: No test runs on Windows here, so none was run": {"No test runs on Windows here, so none was run"},
	} {
		if diff := cmp.Diff(want, openPoints(closing)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", closing, diff)
		}
	}
}
