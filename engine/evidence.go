package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/lazy"
)

// reviewed is what a review has judged.
type reviewed struct {
	Tree string
	Open map[string]bool // ids of the gaps that it left open
}

// since is the change that the last review has not seen, "" before the first.
func (e *Engine) since(ctx context.Context) (string, error) {
	n := len(e.run.reviews)
	if n == 0 {
		return "", nil
	}
	diff, err := e.cfg.Snapshots.Diff(ctx, e.run.reviews[n-1].Tree, e.run.Tree())
	if err != nil {
		return "", &plan.Outage{Err: fmt.Errorf("compare the work with what was reviewed last: %w", err)}
	}
	if diff == "" {
		return "Nothing was changed since the last review.", nil
	}
	return diff, nil
}

// inspect records what can be noticed about the work without judging it. The
// same work is noticed the same way, so what is recorded is not looked for
// again.
func (e *Engine) inspect(ctx context.Context, diff string) error {
	if e.cfg.Inspect == nil || len(e.run.Findings) > 0 {
		return nil
	}
	work, err := e.cfg.Journal.Conversation(ctx, e.run.conv(plan.Implement))
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &JournalError{Err: fmt.Errorf("read what the implementer did: %w", err)}
	}
	in := plan.Inspection{
		Patch:    diff,
		Closing:  closing(work),
		Plan:     e.run.Plan(),
		Checks:   e.checks(),
		Baseline: e.run.Baseline,
		After:    e.run.Checks,
		Trees:    plan.Trees{Start: e.run.Origin(), Work: e.run.Tree()},
		Since:    e.run.toolsAt,
	}
	in.ToolsBefore, in.ToolsAfter = e.run.tools()
	findings, err := e.cfg.Inspect(ctx, in)
	if err != nil {
		return &plan.Outage{Err: fmt.Errorf("look at the work for what a review could overlook: %w", err)}
	}
	if f, ok := oldTests(work, in.Checks); ok {
		findings = append(findings, f)
	}
	events := make([]plan.Event, len(findings))
	for i, f := range findings {
		events[i] = e.event(plan.FindingMade{Finding: f})
	}
	return e.emit(ctx, events...)
}

// implementerClosing is what the implementer handed over last.
func (e *Engine) implementerClosing(ctx context.Context) (string, error) {
	work, err := e.cfg.Journal.Conversation(ctx, e.run.conv(plan.Implement))
	if err == nil {
		return closing(work), nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return "", &JournalError{Err: fmt.Errorf("read what the implementer said: %w", err)}
}

// recheckReason says why the work goes back to the implementer before it is reviewed,
// once in an attempt; "" where it does not.
func (e *Engine) recheckReason() string {
	if e.run.rechecked || e.run.phaseBegun || e.reviewsFirst() {
		return ""
	}
	for _, c := range failed(e.run.Checks) {
		stuck := slices.ContainsFunc(e.run.Baseline, func(base plan.CheckResult) bool {
			return base.Command == c.Command && base.TimedOut && c.TimedOut
		})
		if c.Required && !stuck { // what never ended is not the work's
			return fmt.Sprintf("the required check `%s` fails", firstLine(c.Command))
		}
	}
	return ""
}

// reviewsFirst reports whether the change was there before the run, and the run has
// not changed it yet.
func (e *Engine) reviewsFirst() bool {
	return e.run.Start.Aim == plan.AimReview && !e.run.implemented
}

// failed are the checks that fail.
func failed(checks []plan.CheckResult) []plan.CheckResult {
	return slices.DeleteFunc(slices.Clone(checks), func(c plan.CheckResult) bool { return !c.Fails() })
}

// lastVerdict is what the last review came to, nil before the first.
func (r *Run) lastVerdict() *plan.Judgement {
	if len(r.Verdicts) == 0 {
		return nil
	}
	return &r.Verdicts[len(r.Verdicts)-1]
}

// tools are the digests of the ignored files that a check may execute: the first
// that the run has on its machine, and the last.
func (r *Run) tools() (before, after map[string]string) {
	for _, s := range r.Snapshots[r.toolsFrom:] {
		if s.Tools == nil {
			continue
		}
		if before == nil {
			before = s.Tools
		}
		after = s.Tools
	}
	return before, after
}

// closing is the last thing that was said in a conversation.
func closing(work []plan.Event) string {
	for _, ev := range slices.Backward(work) {
		if m, ok := ev.Body.(plan.MessageEnd); ok && m.Role == plan.RoleAssistant && !m.Discarded {
			return m.Text()
		}
	}
	return ""
}

// testWords finds commands that test something by the words that are used for it.
var testWords = lazy.Regexp(
	`(?i)\b(test|tests|check|spec|verify|pytest|jest|vitest|tox|nox|ctest|rspec|phpunit|mocha)\b`,
)

// oldTests notes that the implementer changed something after it had last tested,
// or never tested. Changes that a command makes are not seen here; what the
// checks say is not touched by any of it.
func oldTests(work []plan.Event, checks []plan.Check) (plan.Finding, bool) {
	lastEdit, lastTest, file, command := -1, -1, "", ""
	started := map[string]plan.ToolStart{}
	for i, ev := range work {
		switch b := ev.Body.(type) {
		case plan.ToolStart:
			started[b.Call] = b
		case plan.ToolEnd:
			call := started[b.Call]
			if c := call.CommandLine(); b.ExitCode != nil && tests(c, checks) {
				lastTest, command = i, c
			}
			edited := slices.DeleteFunc(slices.Sorted(maps.Keys(b.Files)), isProse)
			if call.ChangesFiles() && !b.Error && len(edited) > 0 {
				lastEdit, file = i, edited[0]
			}
		}
	}
	switch {
	case lastEdit < 0 || lastTest > lastEdit:
		return plan.Finding{}, false
	case lastTest < 0:
		return plan.Finding{
			Kind: plan.FindStale,
			Text: "The implementer ran no test after it had changed the work.",
		}, true
	}
	return plan.Finding{
		Kind: plan.FindStale,
		Text: fmt.Sprintf(
			"The implementer's last test run (`%s`) is older than its last edit (%s).",
			firstLine(command),
			file,
		),
	}, true
}

// isProse reports whether a file is for people to read: tests say nothing of it.
func isProse(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".adoc":
		return true
	case "", ".rst", ".txt": // others of these are read by programs
		base := strings.ToUpper(path.Base(name))
		return strings.HasPrefix(base, "CHANGE") || strings.HasPrefix(base, "README")
	}
	return false
}

func tests(command string, checks []plan.Check) bool {
	for _, c := range checks {
		if strings.Contains(command, c.Command) {
			return true
		}
	}
	return testWords().MatchString(command)
}

// firstLine is for commands: that there is more is said, and blanks are kept.
func firstLine(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if more {
		line += " …"
	}
	return line
}

// stuck says why another cycle would lead nowhere, "" if it may lead somewhere.
func (e *Engine) stuck(changes []plan.Gap) string {
	for _, g := range changes {
		if g.Status == plan.GapReopened && e.run.reopened[g.ID] >= 1 {
			return fmt.Sprintf("the reviews do not converge: %s was closed and came back twice", g.ID)
		}
	}
	n := len(e.run.reviews)
	for i, r := range e.run.reviews[:max(n-1, 0)] {
		if r.Tree == e.run.Tree() && r.Tree != e.run.reviews[n-1].Tree {
			return fmt.Sprintf("the work does not converge: it is back at what review %d saw", i+1)
		}
	}
	if n < 2 {
		return ""
	}
	open := e.run.openAfter(changes)
	before, last := e.run.reviews[n-2].Open, e.run.reviews[n-1].Open
	if len(open) > 0 && len(last) > 0 && maps.Equal(open, before) && !maps.Equal(open, last) {
		return fmt.Sprintf(
			"the reviews do not converge: they go back and forth between %s and %s",
			ids(last),
			ids(open),
		)
	}
	return ""
}

// openAfter are the gaps that are open once the changes are made.
func (r *Run) openAfter(changes []plan.Gap) map[string]bool {
	open := map[string]bool{}
	for _, g := range slices.Concat(r.Gaps, changes) {
		if g.Open() {
			open[g.ID] = true
		} else {
			delete(open, g.ID)
		}
	}
	return open
}

func ids(set map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(set)), ", ")
}

func isJournal(err error) bool {
	var je *JournalError
	return errors.As(err, &je)
}
