package host

import (
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

// ListedRun is a run in a list for programs.
type ListedRun struct {
	ID      plan.RunID      `json:"id"`
	State   plan.State      `json:"state"`
	Parked  plan.ParkReason `json:"parked"`
	Outcome plan.State      `json:"outcome"`
	Request string          `json:"request"`
	Title   string          `json:"title"`
	Repo    string          `json:"repo"`
	Created time.Time       `json:"created"`
	Updated time.Time       `json:"updated"`
	Usage   plan.Usage      `json:"usage"`
	CostUSD float64         `json:"cost_usd"`
	Priced  bool            `json:"priced"`
	WakeAt  *time.Time      `json:"wake_at,omitempty"`
	// Worktree is the run's own work tree, if it is there.
	Worktree string `json:"worktree,omitempty"`
}

// ListRuns makes the document of a list of runs.
func (h *Host) ListRuns(runs []memory.RunInfo) []ListedRun {
	out := make([]ListedRun, 0, len(runs))
	for _, r := range runs {
		listed := ListRun(r)
		listed.Worktree = h.WorkTreeDir(r.ID)
		out = append(out, listed)
	}
	return out
}

// ListRun is what the list has of a run of whichever home.
func ListRun(r memory.RunInfo) ListedRun {
	return ListedRun{
		ID:      r.ID,
		State:   r.State,
		Parked:  r.Parked,
		Outcome: r.Outcome,
		Request: r.Request,
		Title:   TitleOf(r),
		Repo:    r.Repo,
		Created: r.Created,
		Updated: r.Updated,
		Usage:   r.Usage,
		CostUSD: r.CostUSD,
		Priced:  r.Priced,
		WakeAt:  r.WakeAt,
	}
}
