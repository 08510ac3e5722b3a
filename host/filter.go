package host

import (
	"context"
	"slices"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/internal/hint"
	"github.com/plan-engine/plan/memory"
)

// stateParked is what a list of states has for the runs that are parked, whatever
// their state.
const stateParked = "parked"

// Filter chooses runs by what a person names. The zero value chooses all.
type Filter struct {
	State  string // one of them, or parked; "" for all
	Parked bool   // only runs that are parked
	Dir    string // only runs in the repository there; "" for all
	Limit  int    // at most so many; 0 for all
}

// Narrows reports whether the filter leaves runs out for what they are.
func (f Filter) Narrows() bool { return f.State != "" || f.Parked || f.Dir != "" }

// Runs lists the runs that a filter chooses, newest first. One that no process
// drives, although its journal ends in the middle of something, is parked as
// interrupted.
func (h *Host) Runs(ctx context.Context, f Filter) ([]memory.RunInfo, error) {
	filter := memory.Filter{Limit: f.Limit}
	parked := f.Parked || f.State == stateParked
	if parked { // which of them are, the database alone does not know
		filter.Limit = 0
		filter.States = append([]plan.State{plan.Unstarted}, plan.ActiveStates()...)
	}
	states := append(plan.ActiveStates(), plan.FinalStates()...)
	switch s := plan.State(f.State); {
	case s == "", s == stateParked:
	case slices.Contains(states, s):
		filter.States = []plan.State{s}
	default:
		var names strings.Builder
		for _, s := range states {
			names.WriteString(string(s) + ", ")
		}
		return nil, hint.Usage("there is no state %q; the states are %sand parked", f.State, names.String())
	}
	if f.Dir != "" {
		repo, err := h.OpenRepo(ctx, f.Dir)
		if err != nil {
			return nil, err
		}
		filter.Repo = repo.Root()
	}
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := listStanding(ctx, db, filter)
	if err != nil || !parked {
		return runs, err
	}
	runs = slices.DeleteFunc(runs, func(r memory.RunInfo) bool { return r.Parked == "" })
	if f.Limit > 0 {
		runs = runs[:min(f.Limit, len(runs))]
	}
	return runs, nil
}
