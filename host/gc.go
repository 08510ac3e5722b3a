package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host/caches"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// GCPolicy says which of the runs that have ended may go.
type GCPolicy struct {
	Keep      int
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
	var gone, left []memory.RunInfo
	for i, r := range runs {
		switch {
		case i < p.Keep:
		case p.KeepAlone, p.OlderThan > 0 && now.Sub(r.Updated) > p.OlderThan:
			gone = append(gone, r)
			used -= sizes[r.ID]
		default:
			left = append(left, r)
		}
	}
	for _, r := range slices.Backward(left) {
		if p.MaxSize == 0 || used <= p.MaxSize {
			break
		}
		gone = append(gone, r)
		used -= sizes[r.ID]
	}
	return gone
}

// Collected is one run that gc removes, in its JSON form.
type Collected struct {
	ID      plan.RunID `json:"id"`
	State   plan.State `json:"state"`
	Updated time.Time  `json:"updated"`
	Bytes   int64      `json:"bytes"`
	Refs    int        `json:"refs"` // snapshots that git kept for it
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
// is. Dry only says what would go; shrink gives free space back to the disk. With an
// error, GC says what was done all the same.
func (h *Host) GC(ctx context.Context, p GCPolicy, dry, shrink bool) (out GC, err error) {
	db, err := h.DB(ctx)
	if err != nil {
		return out, err
	}
	if !dry {
		// A collection that was killed may have left some half removed.
		if err := db.FinishRemovals(ctx); err != nil {
			return out, err
		}
		if err := db.Pack(ctx); err != nil {
			return out, err
		}
	}
	runs, err := db.Runs(ctx, memory.Filter{})
	if err != nil {
		return out, err
	}
	sizes, err := db.Sizes(ctx)
	if err != nil {
		return out, err
	}
	if out.Used, err = db.UsedBytes(ctx); err != nil {
		return out, err
	}
	mayGo, live, err := h.removable(db, runs)
	if err != nil {
		return out, err
	}
	gone := p.Choose(mayGo, sizes, out.Used, h.now())
	var faults []error
	out.Removed, err = removeRuns(ctx, db, newRefKeeper(h, db, runs, gone), gone, sizes, dry)
	faults = append(faults, err)
	if shrink && !dry {
		out.Unshrunk, err = unshrunk(db.Shrink(ctx), live)
		faults = append(faults, err)
	}
	if after, err := db.UsedBytes(ctx); err == nil && !dry {
		out.Used = after
	}
	out.Kept = len(runs) - len(out.Removed)
	paths, err := h.Paths()
	if err == nil {
		out.Caches, err = caches.Collect(caches.In(paths.Home), p.OlderThan, h.now(), dry)
	}
	faults = append(faults, err)
	out.Left, err = h.Leftovers(ctx, dry)
	return out, errors.Join(append(faults, err)...)
}

// removeRuns removes runs, with the snapshots that only they keep. One that cannot be
// removed does not keep the others.
func removeRuns(
	ctx context.Context,
	db *memory.DB,
	keeper *refKeeper,
	gone []memory.RunInfo,
	sizes map[plan.RunID]int64,
	dry bool,
) (removed []Collected, err error) {
	removed = make([]Collected, 0, len(gone))
	var faults []error
	for _, r := range gone {
		refs, err := keeper.forget(ctx, r, dry)
		if err == nil && !dry {
			err = db.Remove(ctx, r.ID)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		removed = append(removed, Collected{
			ID:      r.ID,
			State:   r.State,
			Updated: r.Updated,
			Bytes:   sizes[r.ID],
			Refs:    refs,
		})
	}
	return removed, errors.Join(faults...)
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
func (h *Host) removable(db *memory.DB, runs []memory.RunInfo) (out []memory.RunInfo, live int, err error) {
	paths, err := h.Paths()
	if err != nil {
		return nil, 0, err
	}
	for _, r := range runs {
		if _, held := db.Holder(r.ID); held {
			live++
			continue
		}
		if _, err := os.Lstat(filepath.Join(paths.Worktrees, string(r.ID))); err == nil {
			continue
		}
		if r.Ended() {
			out = append(out, r)
		}
	}
	return out, live, nil
}

// refKeeper lets go of the snapshots of removed runs, except those that a run
// which stays refers to.
type refKeeper struct {
	open  func(ctx context.Context, dir string) (*worktree.Repo, error)
	db    *memory.DB
	stay  []memory.RunInfo
	inUse map[string]map[string]bool // repository → refs
}

func newRefKeeper(h *Host, db *memory.DB, runs, gone []memory.RunInfo) *refKeeper {
	going := map[plan.RunID]bool{}
	for _, r := range gone {
		going[r.ID] = true
	}
	stay := slices.DeleteFunc(slices.Clone(runs), func(r memory.RunInfo) bool { return going[r.ID] })
	return &refKeeper{
		open:  h.OpenRepo,
		db:    db,
		stay:  stay,
		inUse: map[string]map[string]bool{},
	}
}

// forget lets go of a run's snapshots, and says how many there are. Where the
// repository is gone there are none.
func (k *refKeeper) forget(ctx context.Context, r memory.RunInfo, dryRun bool) (int, error) {
	repo, err := k.open(ctx, r.Repo)
	if refused := (*sandbox.StartError)(nil); errors.As(err, &refused) {
		return 0, err
	}
	if err != nil {
		return 0, nil //nolint:nilerr // nothing is kept where nothing is
	}
	kept, err := repo.Kept(ctx, r.ID)
	if err != nil || len(kept) == 0 {
		return 0, err
	}
	used, err := k.used(ctx, r.Repo)
	if err != nil {
		return 0, err
	}
	labels := slices.DeleteFunc(slices.Sorted(maps.Keys(kept)), func(label string) bool {
		return used["refs/plan/"+string(r.ID)+"/"+label]
	})
	if dryRun {
		return len(labels), nil
	}
	return len(labels), repo.Forget(ctx, r.ID, labels...)
}

// used are the snapshots that the runs of a repository which stay refer to.
func (k *refKeeper) used(ctx context.Context, repo string) (map[string]bool, error) {
	if refs, ok := k.inUse[repo]; ok {
		return refs, nil
	}
	refs := map[string]bool{}
	for _, r := range k.stay {
		if r.Repo != repo {
			continue
		}
		for ev, err := range k.db.Events(ctx, r.ID, memory.Query{Types: []plan.EventType{plan.TypeSnapshot}}) {
			if err != nil {
				return nil, err
			}
			if snap, ok := ev.Body.(plan.Snapshot); ok {
				refs[snap.Ref] = true
			}
		}
	}
	k.inUse[repo] = refs
	return refs, nil
}
