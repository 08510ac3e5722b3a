package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// failingChecks are the checks that do not pass after the change.
func failingChecks(ev Evidence) []plan.CheckResult {
	now, order := latestResults(ev.Checks)
	var out []plan.CheckResult
	for _, command := range order {
		if now[command].Fails() {
			out = append(out, now[command])
		}
	}
	return out
}

// brokenChecks makes a gap of every check that breaks the check rule: a required
// one that does not pass, or any that passed before and fails now. They come
// first in every list, so that a reviewer who names the same gap does not take
// its output away.
func brokenChecks(ev Evidence) []plan.Missing {
	now, order := latestResults(ev.Checks)
	base, before := latestResults(ev.Baseline)
	for _, command := range before {
		if _, ok := now[command]; !ok && base[command].Required {
			order = append(order, command)
		}
	}
	var out []plan.Missing
	for _, command := range order {
		r, ran := now[command]
		before, known := base[command]
		required := r.Required || before.Required
		switch {
		case !ran:
			out = append(out, checkGap(ev.Gaps, command, "is required and did not run after the change."))
		case passed(r):
		case r.Flaky && (r.Hung || r.TimedOut): // it hung, and passed at once when it ran again
		case r.Flaky && required && (!known || passed(before) && !before.Flaky):
			out = append(
				out,
				checkGap(
					ev.Gaps,
					command,
					"is required and passes only sometimes: it failed, and passed when it was run again at once. It "+
						"failed "+result(
						r,
					),
				),
			)
		case r.Flaky: // no regression: it is not known to fail
		case r.TimedOut && before.TimedOut: // see stuckChecks: no change can answer for that
		case required && r.NotStarted != "" && before.NotStarted != "":
			out = append(out, checkGap(ev.Gaps, command, "is required and could not start, before the work nor after "+
				"it, so it says nothing of the work: "+r.NotStarted+". What it needs has to be set up here, or it be "+
				"another check."))
		case required:
			out = append(out, checkGap(ev.Gaps, command, "is required and fails "+result(r)))
		case known && passed(before):
			out = append(out, checkGap(ev.Gaps, command, "passed before the change and fails now "+result(r)))
		}
	}
	return out
}

// stuckChecks are the required checks that came to no end before the work, and
// come to none after it.
func stuckChecks(ev Evidence) []string {
	now, order := latestResults(ev.Checks)
	base, _ := latestResults(ev.Baseline)
	return slices.DeleteFunc(order, func(command string) bool {
		r, before := now[command], base[command]
		return !r.Required && !before.Required || r.Flaky || !r.TimedOut || !before.TimedOut
	})
}

// latestResults is the last result of every command, and the commands in order. A
// command that is required once is required.
func latestResults(results []plan.CheckResult) (map[string]plan.CheckResult, []string) {
	by := make(map[string]plan.CheckResult, len(results))
	var order []string
	for _, r := range results {
		old, ok := by[r.Command]
		if !ok {
			order = append(order, r.Command)
		}
		r.Required = r.Required || old.Required
		by[r.Command] = r
	}
	return by, order
}

func passed(r plan.CheckResult) bool { return r.Passed() && !r.TimedOut }

// result says how a check failed, with the end of its output.
func result(r plan.CheckResult) string {
	text := fmt.Sprintf("with exit code %d", r.ExitCode)
	switch {
	case r.Hung:
		text += " (it hung)"
	case r.TimedOut:
		text += " (it ran out of time)"
	}
	if end := tail(r.Output); end != "" {
		return text + ":\n" + end
	}
	return text + "."
}

// tail is the end of an output: at most 20 lines and 2000 bytes.
func tail(output string) string {
	output = strings.TrimSpace(strings.ToValidUTF8(output, "\ufffd"))
	if lines := strings.Split(output, "\n"); len(lines) > 20 {
		output = strings.Join(lines[len(lines)-20:], "\n")
	}
	if n := len(output) - 2000; n > 0 {
		return strings.ToValidUTF8(output[n:], "")
	}
	return output
}

// checkGap names the gap that an earlier failure of the same check opened, so
// that a check keeps its gap although its output differs from run to run.
func checkGap(ledger []plan.Gap, command, says string) plan.Missing {
	name := fmt.Sprintf("The check `%s` ", command)
	m := mustClose(name + says)
	for _, g := range ledger {
		if strings.HasPrefix(g.Gap, name) {
			m.ID = g.ID
		}
	}
	return m
}
