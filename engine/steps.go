package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"

	"github.com/plan-engine/plan"
)

// step does the work of the state the run is in, up to its next move. A park
// that comes back leaves the run where it stands.
func (e *Engine) step(ctx context.Context) (_ *plan.Parked, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Defect{
				State: e.run.State,
				Panic: p,
				Stack: debug.Stack(),
			}
		}
	}()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := e.setUpHere(ctx); err != nil {
		return nil, err
	}
	for _, s := range stages() {
		if s.state == e.run.State {
			return s.work(e, ctx)
		}
	}
	return nil, fmt.Errorf("a run in state %q cannot go on: its journal does not begin with a move", e.run.State)
}

func (e *Engine) implement(ctx context.Context) (*plan.Parked, error) {
	if givenUp, err := e.replanIfOutdated(ctx); givenUp || err != nil {
		return nil, err
	}
	if park, err := e.prepare(ctx); park != nil || err != nil {
		return park, err
	}
	if err := e.check(ctx, true); err != nil {
		return nil, err
	}
	if err := e.snapBefore(ctx); err != nil {
		return nil, err
	}
	out, err := e.phase(ctx, plan.Implement, func(b *plan.Brief) {
		b.Plan = e.run.Plan()
		b.Last = e.run.lastVerdict()
		b.Checks = e.run.Baseline
		if e.run.Attempt(plan.Implement) > 1 || e.run.Start.Aim == plan.AimReview {
			b.Checks, b.Base = e.run.Checks, e.run.Baseline
		}
		if e.run.rechecked {
			b.Failed = failed(e.run.Checks)
		}
		b.Asked = e.run.askedReplan
	})
	if err != nil || out.Park != nil {
		return out.Park, err
	}
	if out.Replan != "" {
		return nil, e.replan(ctx, nil, "the implementer found it wrong: "+out.Replan)
	}
	label := fmt.Sprintf("implement-%d", e.run.Attempt(plan.Implement))
	if e.run.rechecked {
		label += "-rechecked"
	}
	snap, err := e.cfg.Snapshots.Snapshot(ctx, e.run.ID, label)
	if err != nil {
		return nil, &plan.Outage{Err: fmt.Errorf("take a snapshot after implementing: %w", err)}
	}
	return nil, e.move(ctx, evBuilt, "", snap)
}

// snapBefore names the tree as an attempt to implement finds it, where it
// was changed since it was last named, and the first time for the tools that
// checks have before anything is implemented.
func (e *Engine) snapBefore(ctx context.Context) error {
	if e.run.phaseBegun {
		return nil
	}
	label := fmt.Sprintf("before-implement-%d", e.run.Attempt(plan.Implement))
	snap, err := e.cfg.Snapshots.Snapshot(ctx, e.run.ID, label)
	if err != nil {
		return &plan.Outage{Err: fmt.Errorf("take a snapshot before implementing: %w", err)}
	}
	before, _ := e.run.tools()
	if snap.Tree == e.run.Tree() && (snap.Tools == nil || before != nil) {
		return nil
	}
	return e.emit(ctx, e.event(snap))
}

// checkForReview runs what a reviewer is shown; of a change that was there before the
// run, also what its base came to.
func (e *Engine) checkForReview(ctx context.Context) (*plan.Parked, error) {
	if e.reviewsFirst() {
		if park, err := e.prepare(ctx); park != nil || err != nil {
			return park, err
		}
		if err := e.check(ctx, true); err != nil {
			return nil, err
		}
	}
	return nil, e.check(ctx, false)
}

func (e *Engine) review(ctx context.Context) (*plan.Parked, error) {
	if park, err := e.checkForReview(ctx); park != nil || err != nil {
		return park, err
	}
	if why := e.recheckReason(); why != "" {
		return nil, e.move(ctx, evRecheck, why)
	}
	diff, err := e.cfg.Snapshots.Diff(ctx, e.run.Origin(), e.run.Tree())
	if err != nil {
		return nil, &plan.Outage{Err: fmt.Errorf("compare the work with the start: %w", err)}
	}
	since, err := e.since(ctx)
	if err != nil {
		return nil, err
	}
	lastWords, err := e.implementerClosing(ctx)
	if err != nil {
		return nil, err
	}
	if err := e.inspect(ctx, diff); err != nil {
		return nil, err
	}
	out, err := e.phase(ctx, plan.Review, func(b *plan.Brief) {
		b.Plan = e.run.Plan()
		b.Earlier, b.Replan = e.run.givenUp(), e.run.replanned()
		b.Diff, b.Since = diff, since
		b.Checks, b.Base = e.run.Checks, e.run.Baseline
		b.Noticed = e.run.Findings
		b.Closing, b.Last = lastWords, e.run.lastVerdict()
		b.Change = plan.Trees{Start: e.run.Origin(), Work: e.run.Tree()}
	})
	if err != nil || out.Park != nil {
		return out.Park, err
	}
	j := *out.Judgement
	var results []plan.Body
	if j.Approved {
		snapshot, err := e.withdrawIfTreeChanged(ctx, &j)
		if err != nil {
			return nil, err
		}
		results = append(results, snapshot...)
	}
	event, why := e.decide(j)
	gaps, blobs := j.Gaps, j.Blobs
	j.Gaps, j.Blobs = nil, nil // gaps are events of their own
	results = append(results, plan.VerdictGiven{Judgement: j})
	for _, g := range gaps {
		results = append(results, plan.GapChange{Gap: g})
	}
	if event == evApprove {
		unread, looked := e.cfg.Unread(context.WithoutCancel(ctx))
		switch {
		case looked != nil:
			return nil, &plan.Outage{Err: fmt.Errorf("look for requests that no phase has read: %w", looked)}
		case unread:
			err = ErrUnread
		}
	}
	if err == nil {
		err = e.moveWith(ctx, event, why, blobs, results...)
	}
	if errors.Is(err, ErrUnread) {
		return e.hearFirst(ctx, j, blobs, slices.DeleteFunc(results, func(b plan.Body) bool {
			return b.Type() == plan.TypeVerdict
		}))
	}
	return nil, err
}

// hearFirst goes back to implementing with an approval that came before a further
// request was read. Where no cycle is left for it, the run parks.
func (e *Engine) hearFirst(
	ctx context.Context,
	j plan.Judgement,
	blobs []plan.Blob,
	results []plan.Body,
) (*plan.Parked, error) {
	if e.run.countMoves(evFix) >= e.cfg.MaxCycles {
		return &plan.Parked{
			Reason: plan.ParkLimit,
			Detail: "the work was approved, but a further request came that no phase has read, and no cycle is " +
				"left for it; go on with one more: --max-review-cycles " + strconv.Itoa(e.cfg.MaxCycles+1),
		}, nil
	}
	j.Approved, j.Verdict = false, plan.NeedsFix
	j.Why = plan.WhyUnread
	results = append([]plan.Body{plan.VerdictGiven{Judgement: j}}, results...)
	return nil, e.moveWith(ctx, evFix, j.Why, blobs, results...)
}

// withdrawIfTreeChanged withdraws an approval if the tree is no longer the one that was
// reviewed: the verdict is not about what is there now.
func (e *Engine) withdrawIfTreeChanged(ctx context.Context, j *plan.Judgement) ([]plan.Body, error) {
	// A verdict that was reached counts, also if the run is stopped just now, and
	// however long it takes to look at a large tree.
	ctx = context.WithoutCancel(ctx)
	label := fmt.Sprintf("review-%d", e.run.Attempt(plan.Review))
	snap, err := e.cfg.Snapshots.Snapshot(ctx, e.run.ID, label)
	if err != nil {
		return nil, &plan.Outage{Err: fmt.Errorf("compare the tree with the one that was reviewed: %w", err)}
	}
	if snap.Tree == e.run.Tree() {
		return nil, nil
	}
	stat, err := e.cfg.Snapshots.Stat(ctx, e.run.Tree(), snap.Tree)
	if err != nil {
		return nil, &plan.Outage{Err: fmt.Errorf("compare the tree with the one that was reviewed: %w", err)}
	}
	j.Approved, j.Verdict = false, plan.NeedsFix
	j.Why = "The tree changed while it was reviewed, so the verdict is not about what is there now."
	gap := plan.Gap{
		ID:       fmt.Sprintf("G%d", len(e.run.Gaps)+1),
		Severity: plan.SeverityMust,
		Status:   plan.GapOpened,
		Gap: fmt.Sprintf(
			"While the work was being reviewed, %d files changed in the tree (+%d -%d lines). Look at what "+
				"changed there, and keep only what belongs to the request.",
			stat.Files,
			stat.Insertions,
			stat.Deletions,
		),
	}
	j.Missing = append(j.Missing, plan.Missing{
		ID:       gap.ID,
		Gap:      gap.Gap,
		Severity: gap.Severity,
	})
	j.Gaps = append(j.Gaps, gap)
	return []plan.Body{snap}, nil
}

// decide turns a judgement into the move that follows from it, and says why.
// Only an approval approves; everything that is neither that nor BLOCKED is one
// more cycle, while there is one and it can lead somewhere.
func (e *Engine) decide(j plan.Judgement) (event, why string) {
	switch {
	case j.Approved:
		return evApprove, j.Why
	case j.Verdict == plan.CannotSay:
		return evBlock, j.Why
	case e.run.countMoves(evFix) >= e.cfg.MaxCycles:
		return evExhaust, j.Why
	}
	if stuck := e.stuck(j.Gaps); stuck != "" {
		return evExhaust, stuck
	}
	return evFix, j.Why
}

// phase runs the current attempt of a phase: from its beginning, or from
// where the journal ends.
func (e *Engine) phase(ctx context.Context, p plan.Phase, fill func(*plan.Brief)) (plan.Outcome, error) {
	conv := e.run.conv(p)
	past, err := e.conversation(ctx, conv)
	if err != nil {
		return plan.Outcome{}, err
	}
	if !e.run.phaseOpen {
		start := e.cfg.Runner.Describe(p)
		start.Resumed = e.run.begun(p)
		ev := e.event(start)
		ev.Phase, ev.Attempt, ev.Conv = p, e.run.Attempt(p), conv
		if err := e.emit(ctx, ev); err != nil {
			return plan.Outcome{}, err
		}
	}
	brief := plan.Brief{
		Run:      e.run.ID,
		Phase:    p,
		Attempt:  e.run.Attempt(p),
		Conv:     conv,
		Request:  e.run.Start.Request,
		Aim:      e.run.Start.Aim,
		Claimed:  e.run.Start.Against != nil && e.run.Start.Against.Claimed,
		Before:   e.run.Start.Before,
		Guidance: e.run.Guidance,
		Gaps:     slices.Clone(e.run.Gaps),
		Past:     past,
		Spent:    e.run.Usage,
		Cost:     e.run.Cost,
		Notice:   e.run.notice(),
		Trees:    e.run.trees(),
	}
	if brief.Carried, err = e.carried(ctx, p); err != nil {
		return plan.Outcome{}, err
	}
	brief.PhaseSpent, brief.PhaseCost = e.run.spentBy[p].Usage, e.run.spentBy[p].Cost
	fill(&brief)
	out, err := e.cfg.Runner.Run(ctx, brief, e.emit)
	if err != nil {
		return plan.Outcome{}, err
	}
	return out, nil
}

// conversation reads what a conversation has journalled.
func (e *Engine) conversation(ctx context.Context, conv string) ([]plan.Event, error) {
	events, err := e.cfg.Journal.Conversation(ctx, conv)
	if err != nil {
		err = fmt.Errorf("read conversation %s: %w", conv, err)
		if ctx.Err() == nil {
			err = &JournalError{Err: err}
		}
		return nil, err
	}
	return events, nil
}

// carried are the conversations that a phase goes on from, oldest first: that of the
// phase which handed it its report or plan, and what that one went on from. They stay
// the same for all attempts of one conversation.
func (e *Engine) carried(ctx context.Context, p plan.Phase) ([][]plan.Event, error) {
	if !e.cfg.Carries[p] {
		return nil, nil
	}
	for _, from := range map[plan.Phase][]plan.Phase{
		plan.Plan:      {plan.Explore},
		plan.Implement: {plan.Plan, plan.Explore},
	}[p] {
		conv := e.run.convs[from]
		if conv == "" {
			continue
		}
		before, err := e.carried(ctx, from)
		if err != nil {
			return nil, err
		}
		events, err := e.conversation(ctx, conv)
		return append(before, events), err
	}
	return nil, nil
}
