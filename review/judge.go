package review

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
)

// Evidence is what is known of a review beside the reviewer's word.
type Evidence struct {
	// Ran are the commands that ran in this review with their exit codes, in
	// order, as the journal has them.
	Ran []plan.RanCommand
	// Empty are commands that passed in this review without running one test,
	// though they are there to run some. They prove nothing.
	Empty []string
	// Checks are the results after the latest implement, Baseline those from
	// before the first one. Where a command is there twice, the later counts.
	Checks   []plan.CheckResult
	Baseline []plan.CheckResult
	// Gaps is the ledger so far, open and closed.
	Gaps []plan.Gap
	// Findings are what the workflow itself noticed about the work.
	Findings []plan.Finding
	// Later says that an earlier review judged this work. New gaps that only
	// should be closed do not stand in the way then.
	Later bool
	// Text is the review itself: the gap of a NEEDS_FIX that names none.
	Text string
}

// maxText bounds a review that becomes a gap, in bytes.
const maxText = 4000

// Judge weighs a verdict against the evidence. Only a DONE is approved that
// names nothing missing and no requirement unmet, whose claimed commands ran
// in this review with the claimed exit codes, and with every check kept. One
// that claims no command needs a check or a command that ran.
//
// A doubt is given for a DONE that would be approved if what it claims were
// shown, and for a NEEDS_FIX of a later review that rests on small new gaps
// alone. The judgement beside it is the one to take if asking does not help.
//
// BLOCKED is passed on as it is. Everything else is judged NEEDS_FIX.
func Judge(v plan.Verdict, ev Evidence) (plan.Judgement, *Doubt) {
	broken := brokenChecks(ev)
	switch v.Verdict {
	case plan.CannotSay:
		why := "The reviewer says that the work cannot be verified here."
		return judgement(v, plan.CannotSay, why, v.Missing, ev.Gaps, false), nil
	case plan.Done:
		return judgeDone(v, ev, broken)
	}
	if _, blocking := split(v.Missing, ev); len(v.Missing) > 0 && len(blocking)+len(broken) == 0 {
		why := "The reviewer named only new gaps that should be closed, and in a later review these do not stand in the way."
		return judgement(v, plan.NeedsFix, why, v.Missing, ev.Gaps, true), &Doubt{Why: why, Small: true}
	}
	missing, all := v.Missing, true
	if len(missing) == 0 {
		missing, all = []plan.Missing{must(reviewGap("The review says NEEDS_FIX and lists no gap:", ev.Text))}, false
	}
	why := fmt.Sprintf("The reviewer found %s.", count(len(missing), "gap", "gaps"))
	return judgement(v, plan.NeedsFix, why, slices.Concat(broken, missing), ev.Gaps, all), nil
}

func judgeDone(v plan.Verdict, ev Evidence, broken []plan.Missing) (plan.Judgement, *Doubt) {
	small, contradicted := split(v.Missing, ev)
	for _, item := range v.Checklist {
		if !item.Met {
			contradicted = append(contradicted, must("A requirement is not met: "+item.Item))
		}
	}
	contradicted = append(contradicted, ownFailures(v, ev)...)
	d := doubt(v, ev)
	if d != nil && len(d.Claims) == 0 && len(broken) > 0 {
		d = nil // that nothing shows it is no news where a check shows the contrary
	}
	missing := slices.Concat(broken, contradicted, unproven(d))
	switch {
	case len(contradicted) > 0:
		why := fmt.Sprintf("The reviewer said DONE and named %s.", count(len(contradicted), "gap", "gaps"))
		return judgement(v, plan.NeedsFix, why, missing, ev.Gaps, d == nil), nil
	case len(broken) > 0:
		why := fmt.Sprintf("The reviewer said DONE, but %s.", count(len(broken), "check does not pass", "checks do not pass"))
		return judgement(v, plan.NeedsFix, why, missing, ev.Gaps, d == nil), nil
	case d != nil:
		return judgement(v, plan.NeedsFix, d.Why, missing, ev.Gaps, false), d
	}
	why := "The reviewer said DONE, and the record bears it out."
	if len(small) > 0 {
		why = fmt.Sprintf("The reviewer said DONE, and the record bears it out; %s that should be closed stays open.", count(len(small), "new gap", "new gaps"))
	}
	j := judgement(v, plan.Done, why, small, ev.Gaps, true)
	j.Approved = true
	return j, nil
}

// split parts what a review names into new gaps of a later review that only
// should be closed, and everything else, which stands in the way: otherwise a
// run would never end as long as somebody can think of an improvement.
func split(missing []plan.Missing, ev Evidence) (small, blocking []plan.Missing) {
	b := newBook(ev.Gaps)
	for _, m := range missing {
		if ev.Later && m.Severity == plan.SeverityShould && !b.knows(m) {
			small = append(small, m)
		} else {
			blocking = append(blocking, m)
		}
	}
	return small, blocking
}

// ownFailures are claims that a check failed. Some commands prove something by
// failing; a check is not one of them, so a DONE that rests on a failed one
// contradicts itself.
func ownFailures(v plan.Verdict, ev Evidence) []plan.Missing {
	decides := map[string]bool{}
	for _, c := range ev.Checks {
		decides[readLine(c.Command).text()] = true
	}
	var out []plan.Missing
	for _, c := range v.Commands {
		if c.ExitCode != 0 && decides[readLine(c.Command).text()] {
			out = append(out, must(fmt.Sprintf("The review itself says that the check `%s` ended with exit code %d.", c.Command, c.ExitCode)))
		}
	}
	return out
}

// Final judges the second answer of a reviewer whose first was malformed or in
// doubt; nobody is asked again. A text that could not be read (err from Parse)
// becomes a gap, and so does every claim of d that stays unproven. Whatever is
// not readable as something else counts as NEEDS_FIX, and closes no gap.
func Final(text string, err error, d *Doubt, v plan.Verdict, ev Evidence) plan.Judgement {
	if err == nil && (d == nil || d.Small) {
		if ev.Text == "" {
			ev.Text = text
		}
		j, _ := Judge(v, ev)
		return j
	}
	why, missing := "", unproven(d)
	switch {
	case err == nil:
		why = d.Why
	case strings.TrimSpace(text) == "":
		v, why = plan.Verdict{}, "The review came back empty."
		missing = []plan.Missing{must("The review came back empty: nothing says that the work is done.")}
	default:
		v, why = plan.Verdict{}, fmt.Sprintf("The review could not be read: %s.", reason(err))
		missing = []plan.Missing{must(reviewGap("The review could not be read as a verdict. It says:", text))}
	}
	return judgement(v, plan.NeedsFix, why, slices.Concat(brokenChecks(ev), missing), ev.Gaps, false)
}

// judgement puts the pieces together and gives every gap its id.
func judgement(v plan.Verdict, kind plan.VerdictKind, why string, missing []plan.Missing, ledger []plan.Gap, all bool) plan.Judgement {
	changes, named := settle(ledger, missing, all)
	return plan.Judgement{
		Verdict: kind, Why: why, Checklist: v.Checklist, Missing: named,
		Commands: append([]plan.RanCommand{}, v.Commands...), Gaps: changes,
	}
}

// brokenChecks, which come first in every list so that a reviewer who names the
// same gap does not take its output away, makes a gap of every check that breaks the check rule: a
// required one that does not pass, or any that passed before and fails now.
func brokenChecks(ev Evidence) []plan.Missing {
	now, order := latest(ev.Checks)
	base, before := latest(ev.Baseline)
	for _, command := range before {
		if _, ok := now[command]; !ok && base[command].Required {
			order = append(order, command)
		}
	}
	var out []plan.Missing
	for _, command := range order {
		r, ran := now[command]
		was, known := base[command]
		switch {
		case !ran:
			out = append(out, checkGap(ev.Gaps, command, "is required and did not run after the change."))
		case passed(r):
		case r.Flaky && (r.Required || was.Required):
			out = append(out, checkGap(ev.Gaps, command, "is required and passes only sometimes: it failed, and passed when it was run again at once. It failed "+result(r)))
		case r.Flaky: // shown, and no regression: it is not known to fail
		case r.Required || was.Required:
			out = append(out, checkGap(ev.Gaps, command, "is required and fails "+result(r)))
		case known && passed(was):
			out = append(out, checkGap(ev.Gaps, command, "passed before the change and fails now "+result(r)))
		}
	}
	return out
}

// latest is the last result of every command, and the commands in order. A
// command that is required once is required.
func latest(results []plan.CheckResult) (map[string]plan.CheckResult, []string) {
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
	said := fmt.Sprintf("with exit code %d", r.ExitCode)
	if r.TimedOut {
		said += " (it ran out of time)"
	}
	if end := tail(r.Output); end != "" {
		return said + ":\n" + end
	}
	return said + "."
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
	m := must(name + says)
	for _, g := range ledger {
		if strings.HasPrefix(g.Gap, name) {
			m.ID = g.ID
		}
	}
	return m
}

func must(gap string) plan.Missing {
	return plan.Missing{Gap: gap, Severity: plan.SeverityMust}
}

func unproven(d *Doubt) []plan.Missing {
	if d == nil {
		return nil
	}
	if len(d.Claims) == 0 {
		return []plan.Missing{must("Unproven: " + d.Why)}
	}
	var out []plan.Missing
	for _, c := range d.Claims {
		out = append(out, must("Unproven: "+c))
	}
	return out
}

// reviewGap is a review that becomes a gap as it stands.
func reviewGap(head, text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return strings.TrimRight(head, ":") + "."
	}
	return head + "\n" + cut(text, maxText)
}

// reason is why a text could not be read, without the operation.
func reason(err error) string {
	var pe *ParseError
	if errors.As(err, &pe) {
		return pe.Why
	}
	return err.Error()
}
