package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/render"
	"github.com/plan-engine/plan/memory"
)

// unsaidWake is after how long a run is due that was parked for a rate limit
// without a time to wake.
const unsaidWake = time.Minute

// resumeDue goes on with every run that waits for nothing but time, and whose
// time has come: the one that has waited longest first, one after another. It
// ends as the worst of them did.
func (a *app) resumeDue(ctx context.Context, flags said) (err error) {
	db, _, err := a.openDB(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failed(db.Close())) }()
	due, err := a.due(ctx, db, flags)
	if err != nil {
		return err
	}
	if len(due) == 0 {
		fmt.Fprintln(a.err, "plan: no run is due")
		return nil
	}
	worst := plan.ExitOK
	for _, id := range due {
		code := a.resumeOneDue(ctx, db, id, flags)
		worst = worse(worst, code)
		if code == plan.ExitInterrupted {
			break // whoever stops this one does not want the next
		}
	}
	if worst != plan.ExitOK {
		return &exit{code: worst}
	}
	return nil
}

// due lists the runs whose time has come, the one that has waited longest first.
func (a *app) due(ctx context.Context, db *memory.DB, flags said) ([]plan.RunID, error) {
	yes := true
	filter := memory.Filter{Parked: &yes}
	if flags.here {
		repo, err := openRepo(ctx, a.dir)
		if err != nil {
			return nil, err
		}
		filter.Repo = repo.Root()
	}
	runs, err := db.Runs(ctx, filter)
	if err != nil {
		return nil, failed(err)
	}
	type waiting struct {
		id plan.RunID
		at time.Time
	}
	var due []waiting
	now := a.now()
	for _, r := range runs {
		at, ok := wakeOf(r)
		if ok && !at.After(now) {
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

// wakeOf is when a parked run can go on without a person, if it can.
func wakeOf(r memory.RunInfo) (time.Time, bool) {
	switch r.Parked {
	case plan.ParkRateLimit:
		if r.WakeAt == nil {
			return r.Updated.Add(unsaidWake), true
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

// resumeOneDue goes on with one run and returns the exit code that it would
// have alone. What another process took in the meantime is left to it.
func (a *app) resumeOneDue(ctx context.Context, db *memory.DB, id plan.RunID, flags said) int {
	info, err := db.Run(ctx, id)
	if at, ok := wakeOf(info); err == nil && (!ok || at.After(a.now())) {
		return plan.ExitOK // somebody went on with it since the list was made
	}
	if err == nil {
		err = a.resumeRun(ctx, db, id, flags)
	}
	if err == nil {
		return plan.ExitOK
	}
	var held *memory.HeldError
	if errors.As(err, &held) {
		fmt.Fprintf(a.err, "plan: %s\n", render.SafeLine(held.Error()))
		return plan.ExitOK
	}
	var ex *exit
	if !errors.As(err, &ex) {
		ex = &exit{code: plan.ExitFailed, err: err}
	}
	a.complain(ex)
	return ex.code
}

// worse is the exit code that says more of what went wrong.
func worse(a, b int) int {
	order := []int{
		plan.ExitOK, plan.ExitLimit, plan.ExitWaiting, plan.ExitNotApproved, plan.ExitUsage, plan.ExitFailed, plan.ExitInterrupted,
	}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
