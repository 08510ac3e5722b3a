package main

import (
	"context"
	"maps"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// refKeeper lets go of the snapshots of removed runs, except those that a run
// which stays refers to.
type refKeeper struct {
	db    *memory.DB
	stay  []memory.RunInfo
	inUse map[string]map[string]bool // repository → refs
}

func newRefKeeper(db *memory.DB, runs, gone []memory.RunInfo) *refKeeper {
	going := map[plan.RunID]bool{}
	for _, r := range gone {
		going[r.ID] = true
	}
	stay := slices.DeleteFunc(slices.Clone(runs), func(r memory.RunInfo) bool { return going[r.ID] })
	return &refKeeper{
		db:    db,
		stay:  stay,
		inUse: map[string]map[string]bool{},
	}
}

// forget lets go of a run's snapshots, and says how many there are. Where the
// repository is gone there are none.
func (k *refKeeper) forget(ctx context.Context, r memory.RunInfo, dryRun bool) (int, error) {
	repo, err := openRepo(ctx, r.Repo)
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
