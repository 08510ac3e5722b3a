package host

import (
	"context"
	"slices"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/host/connect"
	"github.com/plan-engine/plan/memory"
)

// Board is what goes on in a home, newest first: the runs that some process drives,
// those that wait for a person, and those that are parked for another reason; and the
// batches that have jobs left to do.
type Board struct {
	Live, Waiting, Parked []memory.RunInfo
	Batches               []memory.Batch
}

// Board lists what goes on in all repositories of the home, at most so many of each. It
// asks for runs that are not final alone, however many there are that have ended.
func (h *Host) Board(ctx context.Context, most int) (b Board, err error) {
	db, err := h.DB(ctx)
	if err != nil {
		return b, err
	}
	runs, err := listStanding(ctx, db, memory.Filter{
		States: append([]plan.State{plan.Unstarted}, plan.ActiveStates()...),
		Limit:  20 * most,
	})
	if err != nil {
		return b, err
	}
	for _, r := range runs {
		to := &b.Parked
		switch {
		case r.Parked == "":
			to = &b.Live
		case waitsForPerson(r.Parked):
			to = &b.Waiting
		}
		if len(*to) < most {
			*to = append(*to, r)
		}
	}
	batches, err := db.Batches(ctx, "")
	for _, batch := range batches {
		left := batch.Jobs[memory.JobQueued] + batch.Jobs[memory.JobRunning] + batch.Jobs[memory.JobParked]
		if left > 0 && len(b.Batches) < most {
			b.Batches = append(b.Batches, batch)
		}
	}
	return b, err
}

// waitsForPerson reports whether a run that is parked for a reason goes on once a
// person has decided something.
func waitsForPerson(why plan.ParkReason) bool {
	return slices.Contains([]plan.ParkReason{plan.ParkApproval, plan.ParkQuestion, plan.ParkDrift}, why)
}

// RepoFiles lists the files of the repository at dir that git knows or would take,
// sorted.
func (h *Host) RepoFiles(ctx context.Context, dir string) ([]string, error) {
	repo, err := h.OpenRepo(ctx, dir)
	if err != nil {
		return nil, err
	}
	return repo.Files(ctx)
}

// Window is how many tokens a model takes at once, as the settings for a repository or
// the catalogue say, 0 where they do not.
func (h *Host) Window(repo, model string) int64 {
	cfg, err := h.withNotes(func(string) {}).Settings(repo, config.Config{})
	if err != nil {
		return 0
	}
	entry, _ := connect.Catalog(cfg).Lookup(model, cfg.BaseURL)
	return int64(entry.Window)
}
