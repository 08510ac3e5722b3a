package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/review"
)

const (
	// mostLines is how many claimed lines of a verdict are run again.
	mostLines = 8
	// proofTime is how long that may take at least; three times what the
	// reviewer's own commands took, where that is longer.
	proofTime = 10 * time.Minute
	// mostAdded bounds the reviewer's new files together, in bytes.
	mostAdded = 1 << 20
	// mostFiles bounds their number.
	mostFiles = 1000
)

// prover finds out what claimed lines and checks are worth, by running them on
// the work and on the tree without it.
type prover struct {
	ph    *Phases
	brief plan.Brief
	s     *session
	// created are the files that the change adds.
	created []string

	// Checks run on the counter tree while the reviewer works, until one of them
	// ends otherwise there.
	cancel context.CancelFunc
	done   chan struct{}
	mu     sync.Mutex
	counts []trial // what they came to, not yet in the journal

	trials []plan.CheckResult // in the journal
	limit  string             // why lines were left out
}

// trial is a run with the output that was cut from its result.
type trial struct {
	result plan.CheckResult
	blobs  []plan.Blob
}

func (ph *Phases) newProver(b plan.Brief, s *session) *prover {
	p := &prover{
		ph:      ph,
		brief:   b,
		s:       s,
		created: review.Created(b.Diff),
		done:    make(chan struct{}),
		cancel:  func() {},
	}
	for _, ev := range b.Past {
		if end, ok := ev.Body.(plan.CheckEnd); ok && end.Evidence != "" {
			p.trials = append(p.trials, end.CheckResult)
		}
	}
	return p
}

// changed reports whether there is a change that could be taken away.
func (p *prover) changed() bool { return p.brief.Change.Start != p.brief.Change.Work }

// begin starts to run the checks that pass on the counter tree.
func (p *prover) begin(ctx context.Context) {
	checks := p.telling()
	if p.ph.cfg.Try == nil || !p.changed() || len(checks) == 0 || p.isProven(plan.Verdict{}, nil) {
		close(p.done)
		return
	}
	ctx, p.cancel = context.WithCancel(ctx)
	go func() {
		defer close(p.done)
		for _, c := range checks {
			shown, err := p.countCheck(ctx, c)
			if err != nil || shown {
				return
			}
		}
	}()
}

// end stops what begin started, and waits for it.
func (p *prover) end() {
	p.cancel()
	<-p.done
}

// telling are the checks that could show the work: they pass now. Required ones
// come first, then those that took the least time.
func (p *prover) telling() []plan.CheckResult {
	var checks []plan.CheckResult
	for _, c := range p.brief.Checks {
		c = review.EffectiveResult(c)
		unfit := !c.Passed() || c.Flaky || c.TimedOut || c.Skipped != "" || c.Tests != nil && !c.Tests.Ran()
		if !unfit && !p.hasCounter(c.Command) {
			checks = append(checks, c)
		}
	}
	slices.SortStableFunc(checks, func(a, b plan.CheckResult) int {
		if a.Required != b.Required {
			if a.Required {
				return -1
			}
			return 1
		}
		return int(a.DurationMS - b.DurationMS)
	})
	return checks
}

// countCheck runs a check on the counter tree, and once more where it ends
// otherwise there. It reports whether the check tells the two trees apart.
func (p *prover) countCheck(ctx context.Context, c plan.CheckResult) (shown bool, err error) {
	t := plan.Trial{
		Check: c.Check,
		Trees: p.brief.Change,
		Took:  time.Duration(c.DurationMS) * time.Millisecond,
		On:    plan.TreeCounter,
	}
	results, err := p.run(ctx, t, func(r plan.CheckResult) bool { return r.ExitCode != c.ExitCode })
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts = append(p.counts, results...)
	ev := review.Evidence{Checks: []plan.CheckResult{c}, Created: p.created}
	for _, r := range results {
		ev.Trials = append(ev.Trials, r.result)
	}
	return err == nil && review.Shown(plan.Verdict{}, ev), err
}

// run makes a trial, and once more where the first result calls for it. One that
// has to be stopped is made anew, once: what hangs now and then says nothing.
func (p *prover) run(ctx context.Context, t plan.Trial, again func(plan.CheckResult) bool) ([]trial, error) {
	var out []trial
	for ended, stopped := 0, 0; ended < 2 && stopped < 2; {
		t.Again = len(out) > 0
		res, blobs, err := p.ph.cfg.Try(ctx, t)
		if err != nil && ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		if err != nil {
			return out, &plan.Outage{Err: fmt.Errorf("run %q again to weigh the verdict: %w", t.Command, err)}
		}
		res.Check, res.Evidence, res.Added = t.Check, t.On, plan.DigestOf(t.Added)
		out = append(out, trial{result: res, blobs: blobs})
		if res.TimedOut {
			stopped++
			continue
		}
		if !again(res) || res.Cached { // what is remembered was confirmed
			break
		}
		ended++
	}
	return out, nil
}

// hasCounter reports whether it is known how a line ends on the counter tree.
func (p *prover) hasCounter(command string) bool {
	return slices.ContainsFunc(p.trials, func(r plan.CheckResult) bool {
		return r.Command == command && r.Evidence == plan.TreeCounter && r.Added == ""
	})
}

// known is the evidence without anything that a verdict claims.
func (p *prover) known() review.Evidence {
	ran, _ := p.s.ran.calls()
	return review.Evidence{
		Calls:     ran,
		Checks:    p.brief.Checks,
		Baseline:  p.brief.Base,
		Limit:     p.limit,
		Created:   p.created,
		Unchanged: !p.changed(),
		Strict:    p.ph.cfg.StrictEvidence,
		Gaps:      p.brief.Gaps,
		Findings:  p.brief.Noticed,
	}
}

// evidence runs what a verdict claims, as far as that decides something.
func (p *prover) evidence(ctx context.Context, v plan.Verdict, doubts []review.DoubtKind) (review.Evidence, error) {
	ev := p.known()
	ev.AskedDoubts = doubts
	if !review.DependsOnClaims(v, ev) || p.ph.cfg.Try == nil {
		return ev, nil
	}
	added, err := p.addedFiles(ctx)
	if err != nil {
		return ev, err
	}
	if err := p.tryLines(ctx, v, added); err != nil {
		return ev, err
	}
	if err := p.collect(ctx, v, added); err != nil {
		return ev, err
	}
	ev.Limit = p.limit
	ev.Trials = p.about(added)
	return ev, nil
}

// tryLines runs claimed lines on the work, and those that end as claimed on the
// counter tree, until one of them ends otherwise there.
func (p *prover) tryLines(ctx context.Context, v plan.Verdict, added []plan.NewFile) error {
	lines := review.ClaimedLines(v, p.known())
	p.limit = ""
	if len(lines) > mostLines {
		lines, p.limit = lines[:mostLines], fmt.Sprintf("only the first %d lines of a verdict are", mostLines)
	}
	_, spent := p.s.ran.calls()
	allowed := max(proofTime, 3*spent)
	within, cancel := context.WithTimeoutCause(ctx, allowed, errProofTime)
	defer cancel()
	for _, l := range lines {
		wrong := func(r plan.CheckResult) bool { return r.ExitCode != l.ExitCode }
		if err := p.tryLine(within, l, plan.TreeReviewed, added, wrong); err != nil {
			return p.outOfTime(ctx, err, allowed)
		}
	}
	if !p.changed() {
		return nil
	}
	for _, l := range lines {
		if p.isProven(v, added) {
			return nil
		}
		if !p.endedAsClaimed(l, added) {
			continue
		}
		differs := func(r plan.CheckResult) bool { return r.ExitCode != l.ExitCode }
		if err := p.tryLine(within, l, plan.TreeCounter, added, differs); err != nil {
			return p.outOfTime(ctx, err, allowed)
		}
	}
	return nil
}

var errProofTime = errors.New("the time for running claimed lines again is over")

// outOfTime says what follows from a trial that could not be made: lines that
// were not run again prove nothing.
func (p *prover) outOfTime(ctx context.Context, err error, allowed time.Duration) error {
	if ctx.Err() != nil || !errors.Is(err, errProofTime) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	p.limit = fmt.Sprintf("running the lines of this verdict again took longer than %s", allowed)
	return nil
}

// tryLine makes the trial of a line on a tree, unless it is known.
func (p *prover) tryLine(
	ctx context.Context,
	l review.ClaimedLine,
	on string,
	added []plan.NewFile,
	again func(plan.CheckResult) bool,
) error {
	for _, r := range p.about(added) {
		if r.Command == l.Command && r.Evidence == on {
			return nil
		}
	}
	p.say(ctx, fmt.Sprintf("Runs a claimed line again, on the %s tree: %s\n", on, l.Command))
	t := plan.Trial{
		Check: plan.Check{Command: l.Command, Source: plan.CheckClaim},
		Trees: p.brief.Change,
		On:    on,
		Added: added,
	}
	results, err := p.run(ctx, t, again)
	if err := p.keep(ctx, results); err != nil {
		return err
	}
	return err
}

// endedAsClaimed reports whether it makes sense to try a line without the change.
func (p *prover) endedAsClaimed(l review.ClaimedLine, added []plan.NewFile) bool {
	ev := p.known()
	ev.Trials = p.about(added)
	return review.EndsAsClaimed(l, ev)
}

// isProven reports whether something is known already to tell the trees apart.
func (p *prover) isProven(v plan.Verdict, added []plan.NewFile) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	ev := p.known()
	ev.Trials = p.about(added)
	for _, t := range p.counts {
		ev.Trials = append(ev.Trials, t.result)
	}
	return review.Shown(v, ev)
}

// collect waits for the checks on the counter tree, unless something is shown
// without them, and puts what they came to into the journal.
func (p *prover) collect(ctx context.Context, v plan.Verdict, added []plan.NewFile) error {
	select {
	case <-p.done:
	default:
		if !p.isProven(v, added) {
			p.say(ctx, "Waits for the checks on the tree without the change.\n")
			select {
			case <-p.done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	p.mu.Lock()
	counts := p.counts
	p.counts = nil
	p.mu.Unlock()
	return p.keep(ctx, counts)
}

// keep puts trials into the journal, together: what was tried twice is not to be
// found there once.
func (p *prover) keep(ctx context.Context, trials []trial) error {
	if len(trials) == 0 {
		return nil
	}
	var events []plan.Event
	for _, t := range trials {
		events = append(events,
			plan.Event{Conv: p.brief.Conv, Body: plan.CheckStart{Check: t.result.Check, Evidence: t.result.Evidence}},
			plan.Event{
				Conv:  p.brief.Conv,
				Body:  plan.CheckEnd{CheckResult: t.result},
				Blobs: t.blobs,
			},
		)
		p.trials = append(p.trials, t.result)
	}
	return p.s.emit(context.WithoutCancel(ctx), events...)
}

// about are the trials that were made with these files, or that are of checks.
func (p *prover) about(added []plan.NewFile) []plan.CheckResult {
	with := plan.DigestOf(added)
	return slices.DeleteFunc(slices.Clone(p.trials), func(r plan.CheckResult) bool {
		return r.Source == plan.CheckClaim && r.Added != with
	})
}

func (p *prover) say(ctx context.Context, text string) {
	_ = p.s.emit(ctx, plan.Event{Conv: p.brief.Conv, Body: plan.Progress{Text: text}}) // live: it cannot fail
}

// addedFiles are the reviewer's new files, without those that configure a build
// or a test runner.
func (p *prover) addedFiles(ctx context.Context) ([]plan.NewFile, error) {
	files, err := newFiles(ctx, p.s.room, p.known().Calls)
	return slices.DeleteFunc(files, func(f plan.NewFile) bool { return review.IsBuildConfig(f.Path) }), err
}
