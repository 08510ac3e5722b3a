package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/caches"
	"github.com/plan-engine/plan/memory"
)

// GCPolicy says which of the runs that have ended may go.
type GCPolicy struct {
	Keep int // the newest so many stay, whatever the bounds below say
	// KeepAlone says that all others go, and not only those beyond a bound.
	KeepAlone bool
	OlderThan time.Duration // 0 for none
	MaxSize   int64         // bytes; 0 for none
}

// Choose picks from runs that may go, newest first, those that go.
func (p GCPolicy) Choose(
	runs []memory.RunInfo,
	sizes map[plan.RunID]int64,
	used int64,
	now time.Time,
) []memory.RunInfo {
	var removed, left []memory.RunInfo
	for i, r := range runs {
		switch {
		case i < p.Keep:
		case p.KeepAlone, p.OlderThan > 0 && now.Sub(r.Updated) > p.OlderThan:
			removed = append(removed, r)
			used -= sizes[r.ID]
		default:
			left = append(left, r)
		}
	}
	for _, r := range slices.Backward(left) {
		if p.MaxSize == 0 || used <= p.MaxSize {
			break
		}
		removed = append(removed, r)
		used -= sizes[r.ID]
	}
	return removed
}

// Collected is one run that gc removes, in its JSON form.
type Collected struct {
	ID      plan.RunID `json:"id"`
	State   plan.State `json:"state"`
	Updated time.Time  `json:"updated"`
	Bytes   int64      `json:"bytes"`
	Refs    int        `json:"refs"` // snapshots that git kept for it
}

// Progress hears how far long work is: what was done to how many of what.
type Progress func(did string, done, total int, unit string)

// Of is progress of one thing.
func (p Progress) Of(did, unit string) func(done, total int) {
	if p == nil {
		return nil
	}
	return func(done, total int) { p(did, done, total, unit) }
}

// GC is what came of a collection.
type GC struct {
	Removed []Collected
	Kept    int   // runs
	Used    int64 // bytes of the database, afterwards
	// Unshrunk says why the file was not made smaller, where it should have been.
	Unshrunk string
	Caches   caches.Collected
	Left     []Leftover // of killed processes
}

// Freed is what the removed runs used, in bytes.
func (g GC) Freed() (bytes int64) {
	for _, c := range g.Removed {
		bytes += c.Bytes
	}
	return bytes
}

// GC removes runs that have ended, with their journals, their blobs and the
// snapshots that git keeps for them, layers of build caches that are old, and what
// killed processes have left, and compresses what an earlier program has stored as it
// is. Dry only says what would go; shrink gives free space back to the disk. Progress
// hears how far it is; it may be nil. With an error, GC says what was done all the same.
// When the context ends it stops between two steps, and the error is the cause.
func (h *Host) GC(ctx context.Context, p GCPolicy, dry, shrink bool, progress Progress) (GC, error) {
	out, err := h.collect(ctx, p, dry, shrink, progress)
	if err != nil && ctx.Err() != nil { // each step says of itself that it was stopped
		err = fmt.Errorf("%w; what is left goes the next time", context.Cause(ctx))
	}
	return out, err
}

func (h *Host) collect(ctx context.Context, p GCPolicy, dry, shrink bool, progress Progress) (out GC, err error) {
	db, err := h.DB(ctx)
	if err != nil {
		return out, err
	}
	if !dry {
		if err := db.Pack(ctx, progress.Of("looked at", "contents to compress")); err != nil {
			return out, err
		}
	}
	runs, err := db.Runs(ctx, memory.Filter{})
	if err != nil {
		return out, err
	}
	var faults []error
	if !dry {
		// A collection that was killed may have left some half removed.
		_, err := finishRemovals(ctx, db, newRefKeeper(h, db, runs, nil), progress)
		faults = append(faults, err)
	}
	sizes, err := db.Sizes(ctx)
	if err != nil {
		return out, err
	}
	if out.Used, err = db.UsedBytes(ctx); err != nil {
		return out, err
	}
	mayGo, live, err := h.removable(ctx, db, runs)
	if err != nil {
		return out, err
	}
	removed := p.Choose(mayGo, sizes, out.Used, h.now())
	if err := leaveForeignPlaces(ctx, db, removed); err != nil {
		return out, err
	}
	out.Removed, err = removeRuns(ctx, db, newRefKeeper(h, db, runs, removed), removed, sizes, dry, progress)
	faults = append(faults, err)
	out.Kept = len(runs) - len(out.Removed)
	if ctx.Err() != nil {
		return out, errors.Join(append(faults, context.Cause(ctx))...)
	}
	if shrink && !dry {
		out.Unshrunk, err = unshrunk(db.Shrink(ctx, progress.Of("gave back", "free pages")), live)
		faults = append(faults, err)
	}
	if after, err := db.UsedBytes(ctx); err == nil && !dry {
		out.Used = after
	}
	paths, err := h.Paths()
	if err == nil {
		out.Caches, err = caches.Collect(caches.In(paths.Home), p.OlderThan, h.now(), dry)
	}
	faults = append(faults, err)
	out.Left, err = h.Leftovers(ctx, dry)
	return out, errors.Join(append(faults, err)...)
}

// leaveForeignPlaces takes from runs that were taken in, and have not gone on here, the name
// of their repository: it was written on another machine, and nothing of the run lies there.
func leaveForeignPlaces(ctx context.Context, db *memory.DB, runs []memory.RunInfo) error {
	imported, err := db.OnlyImported(ctx)
	for i, r := range runs {
		if imported[r.ID] {
			runs[i].Repo = ""
		}
	}
	return err
}

// removeRuns removes runs, with the snapshots that only they keep. One that cannot be
// removed does not keep the others.
func removeRuns(
	ctx context.Context,
	db *memory.DB,
	keeper *refKeeper,
	runs []memory.RunInfo,
	sizes map[plan.RunID]int64,
	dry bool,
	progress Progress,
) (removed []Collected, err error) {
	removed = make([]Collected, 0, len(runs))
	var faults []error
	hidden, refs := idsOf(runs), map[plan.RunID]int{}
	if dry {
		refs, err = keeper.forget(ctx, runs, dry)
	} else {
		hidden, err = db.Hide(ctx, hidden...)
	}
	faults = append(faults, err)
	if !dry {
		// The journals are gone before what they say is kept: a run that is seen has both.
		refs, err = finishRemovals(ctx, db, keeper, progress)
		faults = append(faults, err)
	}
	went := map[plan.RunID]bool{}
	for _, id := range hidden {
		went[id] = true
	}
	for _, r := range runs {
		if !went[r.ID] {
			continue
		}
		removed = append(removed, Collected{
			ID:      r.ID,
			State:   r.State,
			Updated: r.Updated,
			Bytes:   sizes[r.ID],
			Refs:    refs[r.ID],
		})
	}
	return removed, errors.Join(faults...)
}

// finishRemovals lets go of the snapshots of runs that are hidden, and then of all else
// that they have left. Where the snapshots of one cannot be let go, it waits for the next
// collection.
func finishRemovals(
	ctx context.Context,
	db *memory.DB,
	keeper *refKeeper,
	progress Progress,
) (refs map[plan.RunID]int, err error) {
	hidden, err := db.Hidden(ctx)
	if err != nil || len(hidden) == 0 {
		return nil, err
	}
	refs, fault := keeper.forget(ctx, hidden, false)
	var waiting []plan.RunID
	for _, r := range hidden {
		if _, ok := refs[r.ID]; !ok {
			waiting = append(waiting, r.ID)
		}
	}
	return refs, errors.Join(fault, db.FinishRemovals(ctx, waiting, progress.Of("removed", "runs")))
}

func idsOf(runs []memory.RunInfo) []plan.RunID {
	out := make([]plan.RunID, len(runs))
	for i, r := range runs {
		out[i] = r.ID
	}
	return out
}

// unshrunk takes out of what came of shrinking the file why that has to wait.
func unshrunk(err error, live int) (why string, _ error) {
	switch {
	case errors.Is(err, memory.ErrWanted):
		return "another process came to write: the first time, the whole file is written anew", nil
	case !errors.Is(err, memory.ErrLive):
		return "", err
	case live > 1:
		return fmt.Sprintf("%d runs are live: the first time, that needs that none is", live), nil
	}
	return "1 run is live: the first time, that needs that none is", nil
}

// removable leaves out what is never removed, and counts the live runs.
func (h *Host) removable(
	ctx context.Context,
	db *memory.DB,
	runs []memory.RunInfo,
) (out []memory.RunInfo, live int, err error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, 0, err
	}
	waiting, err := continuations(ctx, db, true)
	if err != nil {
		return nil, 0, err
	}
	goesOn := map[plan.RunID]bool{}
	for _, c := range waiting {
		goesOn[c.from] = true
	}
	for _, r := range runs {
		if _, held := db.Holder(r.ID); held {
			live++
			continue
		}
		if _, err := os.Lstat(filepath.Join(paths.Worktrees, string(r.ID))); err == nil {
			continue
		}
		if r.Ended() && !goesOn[r.ID] {
			out = append(out, r)
		}
	}
	return out, live, nil
}
