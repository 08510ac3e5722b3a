package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/plan-engine/plan"
)

// Changes knows what differs between two trees.
type Changes interface {
	// Touches reports whether a path that one of the globs fits differs.
	Touches(ctx context.Context, from, to string, globs []string) (bool, error)
}

// Baselines remembers, over runs, how checks stood on a tree.
type Baselines interface {
	// Recall returns what the check said of the tree as it is now, if that is
	// known. Blobs hold output that was cut.
	Recall(ctx context.Context, c plan.Check) (plan.CheckResult, []plan.Blob, bool)
	// Keep remembers a result for the tree as it is now. What cannot be
	// remembered is found out again.
	Keep(ctx context.Context, res plan.CheckResult, blobs []plan.Blob)
}

// check runs every check that this attempt has no result of yet. The baseline
// is taken once, before the first implement; of a change that was there before the
// run, on the tree without it.
func (e *Engine) check(ctx context.Context, baseline bool) error {
	if err := e.dropChecks(ctx); err != nil {
		return err
	}
	done := map[string]bool{}
	for _, c := range e.run.Checks {
		done[c.Command] = !baseline
	}
	if baseline {
		if e.run.implemented {
			return nil
		}
		if err := e.setUp(ctx); err != nil {
			return err
		}
		for _, c := range e.run.Baseline {
			done[c.Command] = true
		}
	}
	list := e.checks()
	if baseline {
		list = append(slices.Clone(list), e.verifying()...)
	}
	for _, c := range list {
		if done[c.Command] {
			continue
		}
		done[c.Command] = true
		if err := e.resolveCheck(ctx, c, baseline); err != nil {
			return err
		}
	}
	return nil
}

// setUp runs the command that makes the checks possible, once in a run. Checks
// that fail for want of it would say nothing about the work.
func (e *Engine) setUp(ctx context.Context) error {
	if e.cfg.Setup == "" || e.run.setUps[e.cfg.Setup] {
		return nil
	}
	res, _, err := e.runCheck(ctx, plan.Check{Command: e.cfg.Setup, Source: plan.CheckSetup}, true)
	if err == nil && !res.Passed() {
		err = setupFailed(res)
	}
	if err != nil || e.run.convCount > 0 {
		return err
	}
	return e.snapPrepared(ctx)
}

// setupFailed is the error for a setup that did not pass.
func setupFailed(res plan.CheckResult) error {
	return &plan.Outage{
		Err: fmt.Errorf(
			"the setup command %q ended with exit code %d, so the checks would say nothing; mend it or remove "+
				"checks.setup. It said:\n%s",
			res.Command,
			res.ExitCode,
			res.Output,
		),
	}
}

// dropChecks ends the checks in which a process died and which are not run any
// more, because the run goes on with others.
func (e *Engine) dropChecks(ctx context.Context) error {
	now := map[string]bool{e.cfg.Setup: true, e.run.chosenSetup(): true}
	for _, c := range slices.Concat(e.checks(), e.verifying()) {
		now[c.Command] = true
	}
	return e.emit(ctx, e.run.endOpen(plan.EndCancelled, func(b plan.Body) bool {
		c, ok := b.(plan.CheckStart)
		return ok && !now[c.Command]
	})...)
}

// checks lists the commands that decide in this run.
func (e *Engine) checks() []plan.Check {
	if len(e.cfg.Required) > 0 {
		return e.cfg.Required
	}
	return append(e.verifying(), e.detected()...)
}

// verifying are the commands by which the plan wants the work verified. They are tried
// before it in any case: one that passes there already, or cannot start, shows nothing.
func (e *Engine) verifying() []plan.Check {
	var out []plan.Check
	if doc := e.run.Plan(); doc != nil {
		for _, cmd := range doc.Verify {
			out = append(out, plan.Check{Command: cmd, Source: plan.CheckPlan})
		}
	}
	return out
}

// detected are the checks that advise. What the repository seemed to have before the
// work is what counts after it: nothing compares with a check of which that is not known.
func (e *Engine) detected() []plan.Check {
	detected := e.cfg.Detected()
	if !e.run.implemented {
		return detected
	}
	seems := func(c plan.Check) bool { return c.Source == plan.CheckDetected }
	detected = slices.DeleteFunc(slices.Clone(detected), seems)
	for _, base := range e.run.Baseline {
		if seems(base.Check) {
			detected = append(detected, base.Check)
		}
	}
	return detected
}

// resolveCheck finds out how a check stands, with as little work as that takes:
// the result may be known from another run, or be the baseline's still.
func (e *Engine) resolveCheck(ctx context.Context, c plan.Check, baseline bool) error {
	if !baseline {
		if res, ok, err := e.untouched(ctx, c); err != nil || ok {
			return e.tellCheck(ctx, res, nil, err)
		}
	}
	remember := baseline && e.cfg.Baselines != nil && !e.reviewsFirst() // what is remembered is of the work tree
	if remember {
		if res, blobs, ok := e.cfg.Baselines.Recall(ctx, c); ok {
			res.Check, res.Baseline, res.Cached = c, true, true
			return e.tellCheck(ctx, res, blobs, nil)
		}
	}
	res, blobs, err := e.runCheck(ctx, c, baseline)
	if err == nil && remember && !res.Flaky && !res.TimedOut && res.NotStarted == "" {
		e.cfg.Baselines.Keep(ctx, res, blobs)
	}
	return err
}

// untouched is the result of a check that has nothing to do with what changed:
// it stands as it stood before the work.
func (e *Engine) untouched(ctx context.Context, c plan.Check) (plan.CheckResult, bool, error) {
	if len(c.Paths) == 0 || e.cfg.Changes == nil {
		return plan.CheckResult{}, false, nil
	}
	for _, base := range e.run.Baseline {
		if base.Command != c.Command {
			continue
		}
		hit, err := e.cfg.Changes.Touches(ctx, e.run.Origin(), e.run.Tree(), c.Paths)
		if err != nil {
			return plan.CheckResult{}, false, &plan.Outage{
				Err: fmt.Errorf("find out whether the check %q has to run: %w", c.Command, err),
			}
		}
		base.Check, base.Baseline, base.Cached, base.DurationMS = c, false, false, 0
		base.Skipped = "none of its paths changed, so it stands as before"
		return base, !hit, nil
	}
	return plan.CheckResult{}, false, nil
}

// tellCheck records a result that took no running.
func (e *Engine) tellCheck(ctx context.Context, res plan.CheckResult, blobs []plan.Blob, err error) error {
	if err != nil {
		return err
	}
	end := e.event(plan.CheckEnd{CheckResult: res})
	end.Blobs = blobs
	if e.run.checking(res.Command) {
		return e.emit(ctx, end)
	}
	return e.emit(ctx, e.event(plan.CheckStart{Check: res.Check, Baseline: res.Baseline}), end)
}

// runCheck runs a check, and once more if it fails: what passes then is flaky. It
// keeps the exit code and the output of the failure, that it was stopped, and what
// tests ran when it passed.
func (e *Engine) runCheck(ctx context.Context, c plan.Check, baseline bool) (plan.CheckResult, []plan.Blob, error) {
	if !e.run.checking(c.Command) { // else a process died in it, and it is begun already
		if err := e.emit(ctx, e.event(plan.CheckStart{Check: c, Baseline: baseline})); err != nil {
			return plan.CheckResult{}, nil, err
		}
	}
	say := func(text string) {
		_ = e.emit(ctx, e.event(plan.Progress{Text: text})) // live: it cannot fail
	}
	t := plan.Trial{
		Check:    c,
		Baseline: baseline,
		Trees:    e.run.trees(),
		Took:     e.run.baselineDuration(c.Command),
	}
	if baseline && e.reviewsFirst() && c.Source != plan.CheckSetup {
		t.On = plan.TreeStart
	}
	res, blobs, err := e.cfg.Checker.Check(ctx, t, say)
	switch {
	case err != nil:
	case e.greenByItself(c, res, baseline):
		say("It failed before the work and passes now, and no file was changed; it runs once more.\n")
		err = e.confirm(ctx, t, &res, say)
	case e.worthAnother(t, res):
		word := "failed"
		if res.TimedOut {
			word = "was stopped"
		}
		say("It " + word + "; it runs once more, to see whether it always does.\n")
		var again plan.CheckResult
		if again, _, err = e.cfg.Checker.Check(ctx, t, say); err == nil {
			res.Flaky = again.ExitCode == 0 && !again.TimedOut
		}
		if res.Flaky {
			res.Tests = again.Tests
		}
	}
	if err != nil {
		res = plan.CheckResult{
			ExitCode:  -1,
			Cancelled: true,
			Output:    err.Error(),
		}
		blobs = nil
	}
	res.Check, res.Baseline = c, baseline
	ev := e.event(plan.CheckEnd{CheckResult: res})
	ev.Blobs = blobs
	if eerr := e.emit(ctx, ev); eerr != nil {
		return res, nil, eerr
	}
	if err != nil {
		return res, nil, &plan.Outage{Err: fmt.Errorf("run the check %q: %w", c.Command, err)}
	}
	return res, blobs, nil
}

// greenByItself reports whether a required check failed before the work and
// passes after it, although the work changed no file.
func (e *Engine) greenByItself(c plan.Check, now plan.CheckResult, baseline bool) bool {
	if baseline || !c.Required || !now.Passed() || e.run.Tree() != e.run.Origin() {
		return false
	}
	return slices.ContainsFunc(e.run.Baseline, func(base plan.CheckResult) bool {
		return base.Command == c.Command && !base.Passed() && !base.Flaky
	})
}

// confirm runs a check again on the start tree. If it passes there it is flaky;
// if it does not, what made it pass is no file of the work, and it counts as
// failed.
func (e *Engine) confirm(ctx context.Context, t plan.Trial, res *plan.CheckResult, say func(string)) error {
	t.On = plan.TreeStart
	again, _, err := e.cfg.Checker.Check(ctx, t, say)
	switch {
	case err != nil:
		return err
	case again.Passed():
		res.Flaky = true
	default:
		again.Output += "\n[It passed in the work tree, although no file was changed, and fails on the tree of " +
			"the start.]\n"
		*res = again
	}
	return nil
}

// worthAnother reports whether a trial is made once more. One that took all its
// time is expensive: it is, where the check passed before the change, and where it
// hung before it, for a change is not to answer for that.
func (e *Engine) worthAnother(t plan.Trial, res plan.CheckResult) bool {
	switch {
	case res.ExitCode == 0 || t.Source == plan.CheckSetup || t.Baseline && res.NotStarted != "":
		return false
	case !res.TimedOut:
		return true
	case t.Baseline:
		return res.Hung
	}
	return slices.ContainsFunc(e.run.Baseline, func(base plan.CheckResult) bool {
		return base.Command == t.Command && (base.Passed() || base.Flaky)
	})
}

// trees are what commands see of the change.
func (r *Run) trees() plan.Trees {
	if r.Start == nil || r.Start.View != plan.ViewSnapshot {
		return plan.Trees{}
	}
	return plan.Trees{Start: r.Origin(), Work: r.Tree()}
}

// baselineDuration is how long a check ran at the baseline, 0 where that is not known: one
// that was stopped there did not come to its end.
func (r *Run) baselineDuration(command string) time.Duration {
	for _, c := range r.Baseline {
		if c.Command == command && !c.TimedOut {
			return time.Duration(c.DurationMS) * time.Millisecond
		}
	}
	return 0
}
