package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// noteFewerTests notes checks that pass and mean less than before: their test runners, by
// what they say themselves, ran fewer tests, or none.
func (w Work) noteFewerTests() []plan.Finding {
	now, order := latestResults(w.After)
	base, _ := latestResults(w.Baseline)
	var out []plan.Finding
	for _, command := range order {
		r := EffectiveResult(now[command])
		if !passed(r) || r.Skipped != "" || r.Evidence != "" || r.Source == plan.CheckSetup {
			continue
		}
		before, known := base[command]
		text := nothingRan(r.Tests)
		if text == "" && known {
			text = fewerTests(before.Tests, r.Tests)
		}
		if text != "" {
			out = append(out, plan.Finding{
				Kind:   plan.FindFewer,
				Path:   command,
				Answer: true,
				Text:   fmt.Sprintf("The check `%s` passes, but %s.", command, text),
			})
		}
	}
	return out
}

// nothingRan says that a report is about no test; "" where it is about some, or
// there is none.
func nothingRan(now *plan.TestReport) string {
	switch {
	case now == nil || now.Ran():
		return ""
	case now.Skipped > 0:
		return fmt.Sprintf("by its own report (%s) it ran no test: it skipped all %d", runners(now), now.Skipped)
	}
	return fmt.Sprintf("by its own report (%s) it ran no test", runners(now))
}

// fewerTests says in what a report tells of less than the one before the change, ""
// for nothing. What either does not count is not compared.
func fewerTests(before, now *plan.TestReport) string {
	if before != nil && now != nil && now.Silent > before.Silent {
		return fmt.Sprintf(
			"%s of it passed without naming a test, which was so of %d before the change",
			count(now.Silent, "package", "packages"),
			before.Silent,
		)
	}
	if !before.Ran() {
		return ""
	}
	if now == nil {
		return fmt.Sprintf(
			"it says nothing of the tests that it ran before the change (%s, by %s)",
			tests(before),
			runners(before),
		)
	}
	var silent []string
	for _, name := range before.Runners {
		if !slices.Contains(now.Runners, name) {
			silent = append(silent, name)
		}
	}
	counted := before.Passed >= 0 && before.Failed >= 0
	recounted := now.Passed >= 0 && now.Failed >= 0
	switch {
	case len(silent) > 0:
		return fmt.Sprintf("%s reported of tests before the change, and says nothing now", strings.Join(silent, ", "))
	case counted && !recounted:
		return fmt.Sprintf("it ran %s before the change, and does not name its tests any more", tests(before))
	case counted && now.Passed+now.Failed < before.Passed+before.Failed:
		return fmt.Sprintf("it ran %s before the change, and runs %s now", tests(before), tests(now))
	case before.Skipped >= 0 && now.Skipped > before.Skipped:
		return fmt.Sprintf(
			"it skips %s, and skipped %d before the change",
			count(now.Skipped, "test", "tests"),
			before.Skipped,
		)
	}
	return ""
}

// tests is how many tests a report is about.
func tests(r *plan.TestReport) string {
	if r.Passed < 0 || r.Failed < 0 {
		return "tests"
	}
	return count(r.Passed+r.Failed, "test", "tests")
}

func runners(r *plan.TestReport) string { return strings.Join(r.Runners, ", ") }
