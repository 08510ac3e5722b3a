package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plan-engine/plan"
)

// TreeWatcher is how an engine sees the work tree without keeping anything of it.
type TreeWatcher interface {
	// Look names the tree as it is now, and the commit that HEAD stands at.
	Look(ctx context.Context) (tree, head string, err error)
	// Changed lists the paths that differ between two trees, sorted.
	Changed(ctx context.Context, from, to string) ([]string, error)
	// Files says what the files hold now.
	Files(ctx context.Context, paths []string) (map[string]File, error)
}

// OriginMerger brings what others changed into the tree that a run's change
// counts from, so that it is not taken for the run's own.
type OriginMerger interface {
	// Carry returns the tree onto with what differs between from and to, where
	// onto does not differ itself, and keeps it under the label.
	Carry(ctx context.Context, run plan.RunID, label, onto, from, to string) (string, error)
}

// File is a file of the work tree as it stands.
type File struct {
	Hash    string    // hex SHA-256 of its content; "" where there is no such file
	Written time.Time // when that was last written; zero where there is no such file
}

// OnDrift says what becomes of a run under which the tree changed.
type OnDrift string

// What can become of it. A plan that is not made yet is not given up: replan
// then means to go on.
const (
	DriftParks   OnDrift = "" // it parks, for a person to choose
	DriftGoesOn  OnDrift = "accept"
	DriftReplans OnDrift = "replan" // once two plans were given up in the run, it goes on
)

// maxReplans bounds how often a run makes another plan without being asked to.
const maxReplans = 2

// Choose sets what a person said about a drift; a reason to replan gives the
// plan up in any case. The next Run acts on it.
func (e *Engine) Choose(on OnDrift, replan string) { e.cfg.OnDrift, e.cfg.Replan = on, replan }

// Replanned is the event of the move that gives a plan up.
const Replanned = evReplan

// Replan asks the run to give its plan up for a reason, from any goroutine. It
// is heard once there is a plan that can be given up; what goes on then is
// stopped for it.
func (e *Engine) Replan(why string) { e.replanRequest.set(why) }

// unpark records that the run goes on, and with what.
func (e *Engine) unpark(ctx context.Context) error {
	var events []plan.Event
	if e.run.Parked != nil {
		events = append(events, e.event(plan.Unparked{Reason: e.run.Parked.Reason}))
		e.waiting = e.run.Parked.Waiting
	}
	if s := e.cfg.Settings; s != nil && !e.run.State.Final() {
		events = append(events, e.event(*s))
		e.cfg.Settings = nil
	}
	return e.emit(ctx, events...)
}

// checkDrift is the first step of a process on a run that it did not begin: it looks
// at what became of the tree, and takes a person's choice.
func (e *Engine) checkDrift(ctx context.Context) (*plan.Parked, error) {
	if e.fresh {
		e.fresh, e.treeAccepted = false, true
		return nil, nil
	}
	e.treeAccepted = false
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	d, err := e.drifted(ctx)
	if err != nil {
		return nil, err
	}
	park, err := e.choose(ctx, d)
	e.treeAccepted = park == nil && err == nil
	return park, err
}

// choose does what a person, or the settings, say about a drift; d is nil for
// none.
func (e *Engine) choose(ctx context.Context, d *plan.Drift) (*plan.Parked, error) {
	why := cmp.Or(e.cfg.Replan, e.replanRequest.pendingReason())
	e.cfg.Replan = ""
	on := e.cfg.OnDrift
	switch {
	case why != "" && e.replannable():
		if d != nil {
			why += "; " + driftWords(d)
		}
		e.replanRequest.take()
		return nil, e.replan(ctx, d, why)
	case d == nil:
		return nil, nil
	case on == DriftReplans && e.replannable() && e.run.countMoves(evReplan) < maxReplans:
		return nil, e.replan(ctx, d, "the work tree changed: "+driftWords(d))
	case on == DriftParks && e.run.Start.Aim != plan.AimAsk: // an answer is about the tree as it is now
		return &plan.Parked{
			Reason:  plan.ParkDrift,
			Detail:  driftWords(d),
			Drift:   d,
			Waiting: e.waiting,
		}, nil
	}
	d.Choice = plan.DriftAccepted
	return nil, e.accept(ctx, d)
}

// replannable says whether there is a plan that can be given up.
func (e *Engine) replannable() bool {
	return e.run.Plan() != nil && slices.ContainsFunc(table(), func(m move) bool {
		return m.event == evReplan && slices.Contains(m.from, e.run.State)
	})
}

// accept goes on with the tree as it is now.
func (e *Engine) accept(ctx context.Context, d *plan.Drift) error {
	snap, err := e.keepTree(ctx, "drift")
	if err != nil {
		return err
	}
	if err := e.mergeIntoOrigin(ctx, d, snap.Tree); err != nil {
		return err
	}
	return e.emit(ctx, e.event(snap), e.event(*d))
}

// mergeIntoOrigin sees to it that what drifted does not count as the run's change. What
// is there to be reviewed is what the tree holds, no matter who put it there.
func (e *Engine) mergeIntoOrigin(ctx context.Context, d *plan.Drift, now string) error {
	if e.cfg.OriginMerger == nil || d.From == "" || e.reviewsFirst() {
		return nil
	}
	label := fmt.Sprintf("origin-%d", len(e.run.Drifts)+1)
	origin, err := e.cfg.OriginMerger.Carry(ctx, e.run.ID, label, e.run.Origin(), d.From, now)
	if err != nil {
		return e.treeUnreadable(ctx, err)
	}
	d.Origin = origin
	return nil
}

// replan gives the plan up. What was built of it stays in the tree.
func (e *Engine) replan(ctx context.Context, d *plan.Drift, why string) error {
	snap, err := e.keepTree(ctx, "replan")
	if err != nil {
		return err
	}
	results := []plan.Body{snap}
	if d != nil {
		if err := e.mergeIntoOrigin(ctx, d, snap.Tree); err != nil {
			return err
		}
		d.Choice = plan.DriftReplanned
		results = append(results, *d)
	}
	return e.move(ctx, evReplan, why, results...)
}

// keepTree takes a snapshot under a label of its own.
func (e *Engine) keepTree(ctx context.Context, word string) (plan.Snapshot, error) {
	label := fmt.Sprintf("%s-%d", word, len(e.run.Snapshots))
	snap, err := e.cfg.Snapshots.Snapshot(ctx, e.run.ID, label)
	if err != nil && ctx.Err() == nil {
		err = &plan.Outage{Err: fmt.Errorf("take a snapshot of the work tree: %w", err)}
	}
	return snap, err
}

// snapshotBeforePark names the tree of a run that parks in the one phase that changes it.
// It is for telling later whose changes are whose; a run parks without it too.
func (e *Engine) snapshotBeforePark(ctx context.Context) ([]plan.Event, error) {
	if e.run.State != plan.Implementing || !e.run.phaseBegun || e.cfg.TreeWatcher == nil || !e.treeAccepted {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), parkSnapshotLimit)
	defer cancel()
	snap, err := e.keepTree(ctx, "parked")
	if err != nil || snap.Tree == e.run.Tree() {
		return nil, nil //nolint:nilerr // see above
	}
	return []plan.Event{e.event(snap)}, nil
}

// parkSnapshotLimit is how long a person who pressed Ctrl-C waits for that.
const parkSnapshotLimit = 2 * time.Second

// drifted says what changed in the tree since the run knew it, apart from what
// the run itself did; nil for nothing.
func (e *Engine) drifted(ctx context.Context) (*plan.Drift, error) {
	from := e.run.Tree()
	if e.cfg.TreeWatcher == nil || from == "" {
		return nil, nil
	}
	tree, head, err := e.cfg.TreeWatcher.Look(ctx)
	if err != nil {
		return nil, e.treeUnreadable(ctx, err)
	}
	if tree == from {
		return nil, nil
	}
	paths, err := e.cfg.TreeWatcher.Changed(ctx, from, tree)
	if err != nil {
		return nil, e.treeUnreadable(ctx, err)
	}
	if e.run.State == plan.Implementing || e.run.ranCommand || e.run.settingUp() {
		now, err := e.cfg.TreeWatcher.Files(ctx, paths)
		if err != nil {
			return nil, e.treeUnreadable(ctx, err)
		}
		paths = e.run.foreignPaths(paths, now)
	}
	if len(paths) == 0 {
		return nil, nil
	}
	return e.run.drift(paths, from, tree, head), nil
}

// treeUnreadable is the error for a tree that cannot be looked at.
func (e *Engine) treeUnreadable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &plan.Outage{Err: fmt.Errorf("compare the work tree with how the run left it: %w", err)}
}

// replanIfOutdated looks, before the first Implement of a plan, whether the plan is still
// about this tree, and reports whether it was given up. The implementer is told
// of all that changed; only what the plan rests on makes it stale.
func (e *Engine) replanIfOutdated(ctx context.Context) (givenUp bool, err error) {
	doc := e.run.Plan()
	if e.cfg.TreeWatcher == nil || doc == nil || e.run.phaseBegun || e.run.convs[plan.Implement] != "" ||
		e.run.driftDecided(doc.Version) {
		return false, nil
	}
	d, err := e.drifted(ctx)
	if err != nil {
		return false, err
	}
	if d, err = e.outdated(ctx, doc, d); d == nil || err != nil {
		return false, err
	}
	d.Choice = plan.DriftNoted
	rests := len(d.Planned) > 0 || d.Base != ""
	if rests && e.cfg.OnDrift == DriftReplans && e.run.countMoves(evReplan) < maxReplans {
		return true, e.replan(
			ctx,
			d,
			fmt.Sprintf("version %d of the plan was outdated before it was begun: %s", doc.Version, driftWords(d)),
		)
	}
	return false, e.accept(ctx, d)
}

// outdated adds to a drift, nil for none, the files that a plan names and that
// are not what they were when it was made.
func (e *Engine) outdated(ctx context.Context, doc *plan.PlanDoc, d *plan.Drift) (*plan.Drift, error) {
	names := slices.Sorted(maps.Keys(doc.Files))
	now, err := e.cfg.TreeWatcher.Files(ctx, names)
	if err != nil {
		return nil, e.treeUnreadable(ctx, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return now[name].Hash == doc.Files[name] || d != nil && slices.Contains(d.Files, name)
	})
	if len(names) == 0 {
		return d, nil
	}
	if d == nil {
		return e.run.drift(names, e.run.Tree(), e.run.Tree(), doc.Base), nil
	}
	more := e.run.drift(
		slices.Sorted(slices.Values(slices.Concat(d.Files, names))),
		d.From,
		d.Tree,
		cmp.Or(d.Head, doc.Base),
	)
	more.Total = d.Total + len(names)
	return more, nil
}

// driftWords says in one sentence what changed.
func driftWords(d *plan.Drift) string {
	const most = 5
	word := "1 file changed"
	if d.Total != 1 {
		word = fmt.Sprintf("%d files changed", d.Total)
	}
	out := word + " since the run knew the tree: " + strings.Join(d.Files[:min(most, len(d.Files))], ", ")
	if d.Total > most {
		out += ", …"
	}
	if n := len(d.Planned); n > 0 {
		out += fmt.Sprintf("; the plan names %d of them", n)
	}
	if d.Base != "" {
		out += fmt.Sprintf("; HEAD is at %.8s, and the plan was made on %.8s", d.Head, d.Base)
	}
	return out
}
