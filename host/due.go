package host

import (
	"context"
	"slices"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// defaultWake is after how long a run is due that was parked for a rate limit
// without a time to wake.
const defaultWake = time.Minute

// WakeTime is when a parked run can go on without a person, if it can.
func WakeTime(r memory.RunInfo) (time.Time, bool) {
	switch r.Parked {
	case plan.ParkRateLimit:
		if r.WakeAt == nil {
			return r.Updated.Add(defaultWake), true
		}
	case plan.ParkLimit, plan.ParkUnreachable:
		if r.WakeAt == nil {
			return time.Time{}, false
		}
	default:
		return time.Time{}, false
	}
	return *r.WakeAt, true
}

// Due lists the runs that wait for nothing but time, and whose time has come: the
// one that has waited longest first. Dir limits them to a repository; "" is all.
func (h *Host) Due(ctx context.Context, dir string) ([]plan.RunID, error) {
	parked := true
	filter := memory.Filter{Parked: &parked}
	if dir != "" {
		repo, err := h.OpenRepo(ctx, dir)
		if err != nil {
			return nil, err
		}
		filter.Repo = repo.Root()
	}
	db, err := h.DB(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := db.Runs(ctx, filter)
	if err != nil {
		return nil, err
	}
	type waiting struct {
		id plan.RunID
		at time.Time
	}
	var due []waiting
	now := h.now()
	for _, r := range runs {
		if at, ok := WakeTime(r); ok && !at.After(now) {
			due = append(due, waiting{r.ID, at})
		}
	}
	slices.SortStableFunc(due, func(x, y waiting) int { return x.at.Compare(y.at) })
	out := make([]plan.RunID, len(due))
	for i, d := range due {
		out[i] = d.id
	}
	return out, nil
}

// EachDue has resume go on with every run that is due, one after another; resume returns
// the exit code for the run's end. It returns the code that says most of what went
// wrong, and how many were due. A run with which another process has gone on in the
// meantime is left to it. Once a person has stopped one, none follows.
func (h *Host) EachDue(ctx context.Context, dir string, resume func(plan.RunID) int) (worst, n int, err error) {
	due, err := h.Due(ctx, dir)
	for _, id := range due {
		if still, err := h.stillDue(ctx, id); err == nil && !still {
			continue
		}
		code := resume(id)
		worst = worse(worst, code)
		if code == plan.ExitInterrupted {
			break
		}
	}
	return worst, len(due), err
}

// stillDue reports whether a run that was due still is: another process may have
// gone on with it.
func (h *Host) stillDue(ctx context.Context, id plan.RunID) (bool, error) {
	db, err := h.DB(ctx)
	if err != nil {
		return false, err
	}
	info, err := db.Run(ctx, id)
	if err != nil {
		return false, err
	}
	at, ok := WakeTime(info)
	return ok && !at.After(h.now()), nil
}

// worse is the exit code that says more of what went wrong.
func worse(a, b int) int {
	order := []int{
		plan.ExitOK,
		plan.ExitLimit,
		plan.ExitWaiting,
		plan.ExitNotApproved,
		plan.ExitUsage,
		plan.ExitFailed,
		plan.ExitInterrupted,
	}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
