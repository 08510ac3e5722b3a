package phases

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/sanitize"
	"github.com/plan-engine/plan/loop"
)

// plan runs the Plan phase. Its exit is a plan that is whole.
func (ph *Phases) plan(ctx context.Context, b plan.Brief, s *session) (out plan.Outcome, err error) {
	text, err := s.handOver(
		ctx,
		ph.planText(b, s),
		after(b, ph.opening(b, "plan", map[string]string{
			"REPORT":   reported(b),
			"PLACES":   s.ofReport(ctx, b.Report),
			"PREVIOUS": strings.TrimSpace(siblingPlan(b) + "\n\n" + earlierPlan(b)),
			"CHECKS":   ph.knownChecks(),
			"FORM":     ph.planForm(),
		})),
	)
	if err != nil {
		return out, err
	}
	out.Plan, err = ph.document(ctx, text)
	return out, err
}

// document is a plan as it is kept.
func (ph *Phases) document(ctx context.Context, text string) (*plan.PlanDoc, error) {
	doc := ParsePlan(text)
	var err error
	if doc.Files, err = ph.cfg.Hashes(ctx, slices.Sorted(maps.Keys(doc.Files))); err != nil {
		return nil, fmt.Errorf("hash the files that the plan names: %w", err)
	}
	doc.Base = ph.cfg.Base
	return &doc, nil
}

// implement runs the Implement phase. Its exit is the end of the conversation:
// what counts is the tree.
func (ph *Phases) implement(ctx context.Context, b plan.Brief, s *session) (out plan.Outcome, err error) {
	prompt, err := ph.implementPrompt(ctx, b, s)
	if err != nil {
		return out, err
	}
	if err := s.ask(ctx, 0, prompt); err != nil {
		return out, err
	}
	n := 1
	if s.recorded > n && s.recordedPromptIs(n, closingCut) ||
		s.recorded <= n && s.end.Cut && s.end.Reason == loop.Completed {
		if err := s.ask(ctx, n, plan.UserText(closingCut)); err != nil {
			return out, err
		}
		n++
	}
	if len(b.Failed) > 0 {
		if err := s.ask(ctx, n, plan.UserText(s.withChanges(recheckPrompt(b.Failed), n))); err != nil {
			return out, err
		}
	}
	return plan.Outcome{Summary: s.end.Text}, nil
}

// implementPrompt is what an attempt of Implement begins with.
func (ph *Phases) implementPrompt(ctx context.Context, b plan.Brief, s *session) (plan.Message, error) {
	if goesOn(b) {
		prompt, err := ph.retryPrompt(ctx, b)
		return plan.UserText(s.withChanges(prompt, 0)), err
	}
	if b.Plan == nil {
		prompt, err := ph.takeOverPrompt(ctx, b)
		return after(b, prompt), err
	}
	return after(b, ph.opening(b, "implement", map[string]string{
		"TASK":   "Carry out this plan.",
		"PLAN":   fence("plan", "", b.Plan.Text),
		"PLACES": s.ofPlan(ctx, *b.Plan),
		"CHECKS": baselineText(b.Checks),
	})), nil
}

// withChanges is the n-th prompt of an attempt, with what has become of the files that
// the conversation was shown: by checks, or by a person.
func (s *session) withChanges(prompt string, n int) string {
	if n < s.recorded {
		return prompt // it was said
	}
	changed := s.files.Changed()
	if changed == "" {
		return prompt
	}
	return strings.TrimSuffix(prompt, "\n") + "\n\nThis was not done by you:\n\n" + fence("changed", "", changed) + "\n"
}

// closingCut is what an implementer is told whose last words were cut off.
const closingCut = "Your answer was cut off by the output limit. If work is left, go on with it; then close, in a " +
	"few sentences."

// retryPrompt goes back to the implementer with what the review found, and what
// it found it by.
func (ph *Phases) retryPrompt(ctx context.Context, b plan.Brief) (string, error) {
	if b.Last != nil && b.Last.Why == plan.WhyUnread {
		return unreadPrompt, nil
	}
	gaps, err := ph.openGaps(ctx, b)
	if err != nil {
		return "", err
	}
	return compose(ph.cfg.Kit.Prompts["retry"], map[string]string{
		"ATTEMPT": fmt.Sprint(b.Attempt),
		"GAPS":    gaps,
		"CHECKS":  failingText(b),
	}), nil
}

// openGaps are the gaps that are open, with what their review found them by.
func (ph *Phases) openGaps(ctx context.Context, b plan.Brief) (string, error) {
	last, err := ph.earlierReview(ctx, b)
	if err != nil || last == "" {
		return gapList(b.Gaps), err
	}
	return gapList(b.Gaps) + "\n\nThe reviewer rests that on these commands, and on files that it made for them:\n\n" +
		last, nil
}

// takeOverPrompt gives a change that was there before the run to an implementer, with
// what its review found: that stands in the place of a plan.
func (ph *Phases) takeOverPrompt(ctx context.Context, b plan.Brief) (plan.Message, error) {
	gaps, err := ph.openGaps(ctx, b)
	if err != nil {
		return plan.Message{}, err
	}
	return ph.opening(b, "implement", map[string]string{
		"TASK": "Close the gaps that a review found in a change.",
		"PLAN": "There is no plan, and none can be asked for: what is said of one below falls away. The change is " +
			"in the tree already; you did not write it. An independent reviewer looked at it and named these gaps. " +
			"Close each of them with the smallest change, and leave the rest as it is:\n\n" + gaps,
		"PLACES": "",
		"CHECKS": failingText(b),
	}), nil
}

// unreadPrompt goes back to the implementer with work that would be approved, had the
// person not said something more.
const unreadPrompt = "An independent reviewer found nothing that keeps your work from being approved. Meanwhile the " +
	"person who asked for it has said something more, which you have not read. It is part of the request.\n\n" +
	"If it follows here as guidance, do what it asks now, with the smallest change, and run the Verify commands " +
	"again. If nothing follows, change nothing, and say in one line that you are ready: it then comes as the next " +
	"message. Leave what already works as it is. Hand over a short summary of what you did for it.\n"

// recheckPrompt tells the implementer, before a review is paid for, which
// required checks fail.
func recheckPrompt(failed []plan.CheckResult) string {
	return "The workflow ran the required checks on your changes, and not all of them pass. Without that there is " +
		"no review:\n\n" +
		fence(
			"checks",
			"",
			checkList(failed, checkTail),
		) +
		"\n\nMend the cause with the smallest change, run them again yourself, and hand over your summary anew. " +
		"If a check fails for a reason that is not your change's, say which and how that can be seen.\n"
}

// goesOn says whether the conversation is that of an earlier attempt. After
// another plan it is a new one.
func goesOn(b plan.Brief) bool {
	return slices.ContainsFunc(b.Past, func(ev plan.Event) bool { return ev.Attempt < b.Attempt })
}

// instructions are the repository's own words, as data.
func (ph *Phases) instructions() string {
	var parts []string
	for _, in := range ph.cfg.Instructions {
		parts = append(parts, fence("repository-instructions", fmt.Sprintf("path=%q", in.Path), in.Text))
	}
	return strings.Join(parts, "\n\n")
}

// gapList shows the gaps that are open.
func gapList(gaps []plan.Gap) string {
	var b strings.Builder
	for _, g := range gaps {
		if !g.Open() {
			continue
		}
		again := ""
		if g.Status == plan.GapReopened {
			again = ", was closed before and is back"
		}
		fmt.Fprintf(
			&b,
			"- %s (%s%s): %s\n",
			g.ID,
			g.Severity,
			again,
			strings.ReplaceAll(strings.TrimSpace(g.Gap), "\n", "\n  "),
		)
	}
	return fence("gaps", "", b.String())
}

// checkTail is how much output of a check is shown in a prompt, in bytes.
const checkTail = 4000

// baselineTail is the same for a check that fails before the work begins.
const baselineTail = 400

// sameTail is the same after the work, for one that fails as it did before.
const sameTail = 300

// knownChecks tells phases that come before the baseline which commands decide.
func (ph *Phases) knownChecks() string {
	if ph.cfg.Checks == nil {
		return ""
	}
	var b strings.Builder
	for _, c := range ph.cfg.Checks() {
		kind := "advisory"
		if c.Required {
			kind = "required"
		}
		why := ""
		if c.Why != "" {
			why = "; it cannot start on this machine as it is, so do not try it: " + c.Why
		}
		fmt.Fprintf(&b, "- `%s` (%s%s)\n", c.Command, kind, why)
	}
	if b.Len() == 0 {
		return ""
	}
	return "The workflow itself runs these commands before and after the change: required ones must pass, and none " +
		"that passes before may fail after. A plan that verifies by one of them says it in the same words, so that " +
		"it runs once.\n\n" +
		fence("checks", "", b.String())
}

// baselineText tells how the checks stood before anything was changed.
func baselineText(checks []plan.CheckResult) string {
	if len(checks) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(
		"The workflow ran these checks on the tree as it is now, and will run them again when you are done. None " +
			"that passes now may fail then.\n\n",
	)
	b.WriteString(fence("checks", "", checkList(checks, baselineTail)))
	return b.String()
}

// failingText tells which checks fail after the last attempt.
func failingText(b plan.Brief) string {
	if !slices.ContainsFunc(b.Checks, func(c plan.CheckResult) bool { return !c.Passed() }) {
		return ""
	}
	return "These are the workflow's own checks on your last attempt:\n\n" + fence(
		"checks",
		"",
		checksSince(b.Base, b.Checks),
	)
}

// checkList is a line for each check, with so many bytes of the output of those that
// failed; 0 for none.
func checkList(checks []plan.CheckResult, tail int) string {
	var b strings.Builder
	for _, c := range checks {
		b.WriteString(checkLine(c, "", tail))
	}
	return b.String()
}

// checkLine is one of them, with what is to be added to how it stands. Of its output most is
// the end, where tests say what failed. One that could not start has said why.
func checkLine(c plan.CheckResult, more string, tail int) string {
	kind := "advisory"
	if c.Required {
		kind = "required"
	}
	line := fmt.Sprintf("- `%s` (%s): %s%s\n", c.Command, kind, checkWord(c), more)
	if tail > 0 && !c.Passed() && c.NotStarted == "" {
		output := sanitize.Text(withoutCoverage(c.Output)) // checks of some repositories colour it in any case
		line += indent(cutTo(output, tail/3, tail-tail/3, "the workflow kept the rest"))
	}
	return line
}

// checkWord says how a check stands, and how much that is worth.
func checkWord(c plan.CheckResult) string {
	word := "passed"
	switch {
	case c.Flaky && c.Passed():
		word = "flaky: it failed before the work and passes now, though no file was changed"
	case c.Flaky && c.TimedOut:
		word = "flaky: it " + stopWord(c) + ", and passed when it was run again at once"
	case c.Flaky:
		word = fmt.Sprintf(
			"flaky: it failed with exit status %d, and passed when it was run again at once",
			c.ExitCode,
		)
	case c.TimedOut:
		word = stopWord(c)
	case c.NotStarted != "" && !c.Passed():
		word = fmt.Sprintf(
			"could not start, and says nothing of the tree (exit status %d): %s",
			c.ExitCode,
			c.NotStarted,
		)
	case !c.Passed():
		word = fmt.Sprintf("failed with exit status %d", c.ExitCode)
	}
	if c.Skipped != "" {
		word += "; not run, because " + c.Skipped
	}
	return word
}

// stopWord says why a check was stopped.
func stopWord(c plan.CheckResult) string {
	if c.Hung {
		return "hung, and was stopped"
	}
	return "ran out of time"
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}
