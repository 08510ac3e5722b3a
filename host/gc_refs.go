package host

import (
	"context"
	"errors"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
	"github.com/plan-engine/plan/sandbox"
	"github.com/plan-engine/plan/worktree"
)

// refKeeper lets go of the snapshots of removed runs, except those that a run
// which stays refers to. It asks git once for each repository, not for each run.
type refKeeper struct {
	open  func(ctx context.Context, dir string) (*worktree.Repo, error)
	db    *memory.DB
	stay  []memory.RunInfo
	repos map[string]*keptRefs
}

// keptRefs are the snapshots of a repository.
type keptRefs struct {
	repo   *worktree.Repo
	labels map[plan.RunID][]string // that may go
}

func newRefKeeper(h *Host, db *memory.DB, runs, removed []memory.RunInfo) *refKeeper {
	going := map[plan.RunID]bool{}
	for _, r := range removed {
		going[r.ID] = true
	}
	k := &refKeeper{
		open:  h.OpenRepo,
		db:    db,
		repos: map[string]*keptRefs{},
	}
	for _, r := range runs {
		if !going[r.ID] {
			k.stay = append(k.stay, r)
		}
	}
	return k
}

// forgetAtOnce is how many runs one git lets go of the snapshots of.
const forgetAtOnce = 100

// forget lets go of the snapshots of some runs, and says how many each had. A run of
// which they could not be let go is not in what it says, and stays.
func (k *refKeeper) forget(ctx context.Context, runs []memory.RunInfo, dryRun bool) (map[plan.RunID]int, error) {
	had := map[plan.RunID]int{}
	ofRepo := map[string][]plan.RunID{}
	for _, r := range runs {
		ofRepo[r.Repo] = append(ofRepo[r.Repo], r.ID)
	}
	var faults []error
	for repo, ids := range ofRepo {
		unused, err := k.unreferenced(ctx, repo)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for some := range slices.Chunk(ids, forgetAtOnce) {
			labels := map[plan.RunID][]string{}
			for _, id := range some {
				labels[id] = unused.labels[id]
			}
			if unused.repo != nil && !dryRun {
				if err := unused.repo.ForgetAll(ctx, labels); err != nil {
					faults = append(faults, err)
					continue
				}
			}
			for _, id := range some {
				had[id] = len(labels[id])
			}
		}
	}
	return had, errors.Join(faults...)
}

// unreferenced are the snapshots of a repository that no run which stays refers to. Where it
// is gone there are none.
func (k *refKeeper) unreferenced(ctx context.Context, dir string) (*keptRefs, error) {
	if known, ok := k.repos[dir]; ok {
		return known, nil
	}
	unused := &keptRefs{}
	if dir == "" { // what there is of their names anywhere is another home's
		return unused, nil
	}
	repo, err := k.open(ctx, dir)
	switch refused := (*sandbox.StartError)(nil); {
	case errors.As(err, &refused):
		return nil, err
	case err == nil:
		labelsOf, err := repo.AllKept(ctx)
		if err != nil {
			return nil, err
		}
		used, err := k.used(ctx, dir)
		if err != nil {
			return nil, err
		}
		unused = &keptRefs{
			repo:   repo,
			labels: map[plan.RunID][]string{},
		}
		for id, labels := range labelsOf {
			for _, label := range labels {
				if !used["refs/plan/"+string(id)+"/"+label] {
					unused.labels[id] = append(unused.labels[id], label)
				}
			}
		}
	}
	k.repos[dir] = unused
	return unused, nil
}

// used are the snapshots that the runs of a repository which stay refer to.
func (k *refKeeper) used(ctx context.Context, repo string) (map[string]bool, error) {
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
	return refs, nil
}
