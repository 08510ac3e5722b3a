package render

import (
	"io"
	"path/filepath"
	"time"

	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/memory"
)

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
