package review

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/oneline"
)

// Call is a command that ran in a review, as the journal has it.
type Call struct {
	ID       string // as it was shown to the reviewer: b1, b2, …
	Key      string // as the model's server named it
	Command  string
	ExitCode int
	// Altered names files of the reviewed snapshot that stood changed in the
	// review's layer meanwhile.
	Altered []string
}

// ClaimedLine is a claimed command line that can be run again.
type ClaimedLine struct {
	Command  string
	ExitCode int // that it is claimed to end with
}

// ClaimedLines are the claimed lines that have to be run again, without repetitions. A
// claim that names one of the engine's own checks needs no other run.
func ClaimedLines(v plan.Verdict, ev Evidence) []ClaimedLine {
	var out []ClaimedLine
	for _, c := range claims(v, ev) {
		if _, own := ev.check(c.Command); c.Command != "" && !own && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// claims are the claimed lines. One that names a call which is not in the
// record has no command.
func claims(v plan.Verdict, ev Evidence) []ClaimedLine {
	var out []ClaimedLine
	for _, c := range v.Commands {
		if call := strings.TrimSpace(c.Call); call != "" {
			i := slices.IndexFunc(ev.Calls, func(r Call) bool { return r.ID == call || r.Key == call })
			if i < 0 {
				out = append(out, ClaimedLine{ExitCode: c.ExitCode})
				continue
			}
			// The id names what ran, with what it came to.
			c.Command, c.ExitCode = ev.Calls[i].Command, ev.Calls[i].ExitCode
		}
		if command := strings.TrimSpace(c.Command); command != "" {
			out = append(out, ClaimedLine{Command: command, ExitCode: c.ExitCode})
		}
	}
	return out
}

// check finds the engine's own result of a line, by its words.
func (ev Evidence) check(command string) (plan.CheckResult, bool) {
	words := strings.Fields(command)
	for _, c := range slices.Backward(ev.Checks) {
		if slices.Equal(strings.Fields(c.Command), words) {
			return c, true
		}
	}
	return plan.CheckResult{}, false
}

// trials are the runs of a line on a tree, in order. A run that had to be stopped
// says nothing beside one that came to its end.
func (ev Evidence) trials(command, on string) []plan.CheckResult {
	var out, ended []plan.CheckResult
	for _, t := range ev.Trials {
		if t.Command != command || t.Evidence != on || t.Cancelled {
			continue
		}
		out = append(out, t)
		if !t.TimedOut {
			ended = append(ended, t)
		}
	}
	if len(ended) > 0 {
		return ended
	}
	return out
}

// claimsThatHold are the claimed commands without those that ended otherwise when they
// were run alone: an approval does not rest on them.
func claimsThatHold(v plan.Verdict, ev Evidence) []plan.RanCommand {
	out := []plan.RanCommand{}
	for _, l := range claims(v, ev) {
		if runs := ev.trials(l.Command, plan.TreeReviewed); len(runs) > 0 && runs[len(runs)-1].ExitCode != l.ExitCode {
			continue
		}
		if l.Command != "" {
			out = append(out, plan.RanCommand{Command: l.Command, ExitCode: l.ExitCode})
		}
	}
	return out
}

// claimWeight is what a line that was run again is worth.
type claimWeight int

const (
	unproven  claimWeight = iota // it is not known how it ends by itself
	unbroken                     // it ends as claimed
	shown                        // it ends as claimed, and otherwise without the work
	objection                    // it ends otherwise than claimed
)

// weigh says what a claimed line is worth, and why it is worth no more than
// that.
func (ev Evidence) weigh(l ClaimedLine) (claimWeight, string) {
	if l.Command == "" {
		return unproven, "A claim names a call that is not in the record of this review."
	}
	if own, ok := ev.check(l.Command); ok {
		if endedBySelf(own) && own.ExitCode != l.ExitCode && !own.Flaky {
			return objection, fmt.Sprintf(
				"`%s` is said to have ended with %d, but it is one of the workflow's own checks, and that ended with "+
					"%d.",
				shortened(l.Command),
				l.ExitCode,
				own.ExitCode,
			)
		}
		return ev.weighCheck(own)
	}
	onWork := ev.trials(l.Command, plan.TreeReviewed)
	if len(onWork) == 0 {
		return unproven, fmt.Sprintf("`%s` was not run again: %s.", shortened(l.Command), ev.limits())
	}
	return ev.compare(l, onWork)
}

// compare weighs a line by how it ended on the work and without it.
func (ev Evidence) compare(l ClaimedLine, onWork []plan.CheckResult) (claimWeight, string) {
	first, last := onWork[0], onWork[len(onWork)-1]
	name := fmt.Sprintf("`%s`", shortened(l.Command))
	switch {
	case first.ExitCode != last.ExitCode:
		return unproven, fmt.Sprintf(
			"%s ended with %d and then with %d when it was run alone, so it proves nothing.",
			name,
			first.ExitCode,
			last.ExitCode,
		)
	case !endedBySelf(last):
		return unproven, fmt.Sprintf("%s, run alone on the work, %s", name, endedHow(last))
	case last.ExitCode != l.ExitCode && ev.ranAltered(l):
		return unproven, fmt.Sprintf(
			"%s ran while files of the work stood changed in your copy (%s), so it says nothing about the work. "+
				"Alone it %s",
			name,
			strings.Join(ev.altered(l), ", "),
			endedHow(last),
		)
	case last.ExitCode != l.ExitCode:
		return objection, fmt.Sprintf(
			"%s is said to have ended with %d. Run alone on the work as it is, it %s",
			name,
			l.ExitCode,
			endedHow(last),
		)
	case last.Tests != nil && !last.Tests.Ran():
		return unproven, fmt.Sprintf("%s ended as claimed, but by its own report it ran no test.", name)
	case len(last.Wrote) > 0:
		return unproven, fmt.Sprintf(
			"%s writes to files of the work (%s), so it does not speak of the work as it is.",
			name,
			strings.Join(last.Wrote, ", "),
		)
	}
	without := ev.trials(l.Command, plan.TreeCounter)
	if len(without) == 0 {
		return unbroken, ""
	}
	if why := ev.whyIndistinct(l.Command, last, without); why != "" {
		return unbroken, why
	}
	return shown, ""
}

// noTestCount reports whether a test runner ran that does not say how many tests it
// ran: it may have been told to run none.
func noTestCount(r plan.CheckResult) bool {
	return r.Tests != nil && r.Tests.Passed <= 0 && r.Tests.Failed <= 0
}

// notBuilt reports whether go could not build what it was to test.
func notBuilt(r plan.CheckResult) bool {
	return strings.Contains(r.Output, "[build failed]") || strings.Contains(r.Output, "[setup failed]")
}

// weighCheck weighs one of the engine's own checks, which has to pass.
func (ev Evidence) weighCheck(c plan.CheckResult) (claimWeight, string) {
	c = EffectiveResult(c)
	name := fmt.Sprintf("`%s`", shortened(c.Command))
	switch {
	case !passed(c):
		return unproven, fmt.Sprintf("%s does not pass.", name)
	case c.Flaky:
		return unproven, fmt.Sprintf("%s passes only sometimes.", name)
	case c.Tests != nil && !c.Tests.Ran():
		return unproven, fmt.Sprintf("%s passes, but by its own report it ran no test.", name)
	}
	without := ev.trials(c.Command, plan.TreeCounter)
	if len(without) == 0 {
		return unbroken, ""
	}
	if why := ev.whyIndistinct(c.Command, c, without); why != "" {
		return unbroken, why
	}
	return shown, ""
}

// whyIndistinct says why what a line came to without the work is not told apart from
// what it came to on it; "" where it is.
func (ev Evidence) whyIndistinct(command string, onWork plan.CheckResult, without []plan.CheckResult) string {
	name, last := fmt.Sprintf("`%s`", shortened(command)), without[len(without)-1]
	ranNone := onWork.Tests.Ran() && last.Tests != nil && !last.Tests.Ran()
	switch {
	case noTestCount(onWork) && notBuilt(last):
		return fmt.Sprintf(
			"%s does not say that a test ran on the work, and without the change it cannot be built: claim a line "+
				"that names the tests it runs.",
			name,
		)
	case ranNone:
		return ""
	case without[0].ExitCode != last.ExitCode:
		return fmt.Sprintf("%s ends now so and now otherwise without the change.", name)
	case last.ExitCode == onWork.ExitCode:
		return fmt.Sprintf("%s ends with %d on the work and without the change alike.", name, last.ExitCode)
	case endedBySelf(last), notThere(last) && ev.namesAdded(command, last):
		return ""
	}
	return fmt.Sprintf("%s could not be tried without the change: it %s", name, endedHow(last))
}

// namesAdded reports whether a line, or what it said, names a file that the
// change adds.
func (ev Evidence) namesAdded(command string, r plan.CheckResult) bool {
	return slices.ContainsFunc(ev.Created, func(file string) bool {
		return strings.Contains(command, path.Base(file)) || strings.Contains(r.Output, path.Base(file))
	})
}

// EffectiveResult is the result of a check as it counts. One that had to be stopped, and
// passed when it was run again at once, has passed: a hang now and then is not
// the work's.
func EffectiveResult(r plan.CheckResult) plan.CheckResult {
	if r.Flaky && (r.Hung || r.TimedOut) {
		r.ExitCode, r.Flaky, r.Hung, r.TimedOut = 0, false, false, false
	}
	return r
}

// endedBySelf reports whether a command came to its own end: no time limit, no
// signal, and it could be run at all.
func endedBySelf(r plan.CheckResult) bool {
	return !r.TimedOut && !r.Hung && !bySignal(r) && !notThere(r)
}

// bySignal: shells report 128 plus the signal's number, of which there are 64.
func bySignal(r plan.CheckResult) bool { return r.ExitCode > 128 && r.ExitCode <= 128+64 }

// notThere: what shells report for a command that cannot be run or found.
func notThere(r plan.CheckResult) bool { return r.ExitCode == 126 || r.ExitCode == 127 }

// endedHow says how a command ended, with the end of its output.
func endedHow(r plan.CheckResult) string {
	var how string
	switch {
	case r.Hung:
		how = "hung"
	case r.TimedOut:
		how = "ran out of time"
	case bySignal(r):
		how = fmt.Sprintf("was ended by signal %d", r.ExitCode-128)
	case notThere(r):
		how = fmt.Sprintf("could not be run (%d)", r.ExitCode)
	default:
		how = fmt.Sprintf("ended with %d", r.ExitCode)
	}
	if end := tail(r.Output); end != "" {
		return how + ":\n" + end
	}
	return how + "."
}

// ranAltered reports whether a line ended as claimed in this review only while
// files of the work stood changed.
func (ev Evidence) ranAltered(l ClaimedLine) bool {
	found := false
	for _, c := range ev.Calls {
		if strings.TrimSpace(c.Command) != l.Command || c.ExitCode != l.ExitCode {
			continue
		}
		if len(c.Altered) == 0 {
			return false
		}
		found = true
	}
	return found
}

// altered are the files that stood changed while a line ran.
func (ev Evidence) altered(l ClaimedLine) []string {
	var out []string
	for _, c := range ev.Calls {
		if strings.TrimSpace(c.Command) == l.Command {
			out = append(out, c.Altered...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// limits says why a line may not have been run again.
func (ev Evidence) limits() string {
	if ev.Limit == "" {
		return "nothing could run it"
	}
	return ev.Limit
}

func shortened(command string) string { return oneline.CutBytes(strings.TrimSpace(command), 200) }

// proof is what a DONE rests on.
type proof struct {
	best       claimWeight
	line       string   // that shows it
	objections []string // claims that are false
	why        []string // why lines prove nothing, or not enough
}

// prove weighs every claimed line and every check.
func (ev Evidence) prove(v plan.Verdict) proof {
	var p proof
	take := func(w claimWeight, line, why string) {
		switch {
		case w == objection:
			p.objections = append(p.objections, why)
			return
		case w > p.best:
			p.best, p.line = w, line
		}
		if why != "" && !slices.Contains(p.why, why) {
			p.why = append(p.why, why)
		}
	}
	for _, l := range claims(v, ev) {
		w, why := ev.weigh(l)
		take(w, l.Command, why)
	}
	for _, c := range ev.Checks {
		w, why := ev.weighCheck(c)
		take(w, c.Command, why)
	}
	return p
}
