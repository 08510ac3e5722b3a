package phases

import (
	"fmt"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
	"github.com/plan-engine/plan/review"
)

// diffLimit is how much of a diff a reviewer is shown, in bytes; the rest can
// be read in the tree.
const diffLimit = 60_000

// changeText shows the change: all of it in the first review, later in short,
// with what is new in full.
func changeText(b plan.Brief) string {
	const rest = "read the files themselves"
	switch {
	case b.Diff == "":
		return "Nothing was changed in the tree."
	case b.Since == "":
		return "All changes since the start of the work:\n\n" + fence("diff", "", cut(b.Diff, diffLimit, rest))
	}
	return "All changes since the start of the work, in short; `git diff` shows them in full:\n\n" +
		fence("diff-summary", "", cut(review.Summary(b.Diff), diffLimit/4, rest)) +
		"\n\nWhat was changed since the last review:\n\n" + fence("diff", "", cut(b.Since, diffLimit, rest))
}

// noticedText shows what the workflow noticed. Reasons are the implementer's
// words and stay out.
func noticedText(findings []plan.Finding) string {
	if len(findings) == 0 {
		return ""
	}
	text, answer := "", false
	for _, f := range findings {
		text += "- " + f.Text + "\n"
		answer = answer || f.Answer
	}
	words := "The workflow noticed this about the change, without judging it. Look into each: is it right, and does the request need it?"
	if answer {
		words += " A DONE needs an item in the checklist for each test that is gone or no longer runs and for each change to what decides about the work; name the path and say why it is right."
	}
	return words + "\n\n" + fence("noticed", "", text)
}

// gapText shows the gaps that earlier reviews named, and what a later review is
// for.
func gapText(gaps []plan.Gap) string {
	if len(gaps) == 0 {
		return ""
	}
	text := ""
	for _, g := range gaps {
		text += fmt.Sprintf("- %s, %s (%s): %s\n", g.ID, g.Status, g.Severity, g.Gap)
	}
	return "An earlier review of this work named gaps. Check for each open one whether it is really closed now, and use its id if it is not. Beyond that, judge what was changed since. A new gap stands in the way only as a `must`: something that makes the work wrong, and not something that could be better.\n\n" +
		fence("known-gaps", "", text)
}

var (
	goRan      = lazy.Regexp(`(?m)^(?:ok|FAIL)\s.*$`)
	rustRan    = lazy.Regexp(`test result: ok\. [1-9]`)
	rustRanNot = lazy.Regexp(`test result: ok\. 0 passed`)
)

// testsNothing reports whether a command that passed says that its filter left
// no test to run. Some test programs take that for a success.
func testsNothing(output string) bool {
	const none = "[no tests to run]"
	if strings.Contains(output, none) {
		for _, line := range goRan().FindAllString(output, -1) {
			if !strings.Contains(line, none) && !strings.Contains(line, "[no test files]") {
				return false
			}
		}
		return true
	}
	if strings.Contains(output, "testing: warning: no tests to run") { // of the one package in the directory
		return len(goRan().FindAllString(output, -1)) == 1
	}
	return rustRanNot().MatchString(output) && !rustRan().MatchString(output)
}
