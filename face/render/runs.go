package render

import (
	"io"
	"path/filepath"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/memory"
)

// ListedRun is a run in `plan list --json`.
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

// ListRuns makes the document of a list of runs. Dir says where the work tree of a
// run is.
func ListRuns(runs []memory.RunInfo, dir func(plan.RunID) string) []ListedRun {
	out := make([]ListedRun, 0, len(runs))
	for _, r := range runs {
		out = append(out, ListedRun{
			ID:       r.ID,
			State:    r.State,
			Parked:   r.Parked,
			Outcome:  r.Outcome,
			Request:  r.Request,
			Title:    host.TitleOf(r),
			Repo:     r.Repo,
			Created:  r.Created,
			Updated:  r.Updated,
			Usage:    r.Usage,
			CostUSD:  r.CostUSD,
			Priced:   r.Priced,
			WakeAt:   r.WakeAt,
			Worktree: dir(r.ID),
		})
	}
	return out
}

// listedTitle is how many characters of a title a list shows.
const listedTitle = 60

// Runs writes a table of runs. Filtered says that others were left out.
func Runs(w io.Writer, runs []memory.RunInfo, filtered bool, opts Options) error {
	switch {
	case len(runs) == 0 && filtered:
		return writef(w, "No run fits.\n")
	case len(runs) == 0:
		return writef(w, "No runs yet. Start one with: plan run \"what should change\"\n")
	}
	look := NewLook(opts)
	now := opts.now()
	rows := [][]string{{"RUN", "STATE", "AGE", "TOKENS", "COST", "REPOSITORY", "TITLE"}}
	for _, r := range runs {
		rows = append(rows, []string{
			string(r.ID),
			standing(r, now),
			Duration(now.Sub(r.Created)),
			Tokens(r.Usage.Tokens()),
			Cost(r.CostUSD, r.Priced),
			look.Safe(SafeLine(filepath.Base(r.Repo))),
			look.Safe(SafeLine(oneline.Cut(host.TitleOf(r), listedTitle))),
		})
	}
	return writeTable(w, rows)
}

// standing says in a few words where a run stands, and when it can go on.
func standing(r memory.RunInfo, now time.Time) string {
	if r.Parked == "" {
		return string(r.State)
	}
	words := "parked: " + string(r.Parked)
	at, ok := host.WakeTime(r)
	if !ok {
		return words
	}
	if left := at.Sub(now); left > 0 {
		return words + ", due in " + Duration(left)
	}
	return words + ", due"
}

// Naming names a run in a line: its id, where it works and what it was asked.
func Naming(r memory.RunInfo) string {
	return SafeLine(string(r.ID) + " in " + r.Repo + ": " + oneline.Cut(host.TitleOf(r), listedTitle))
}
