package render

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/oneline"
	"github.com/plan-engine/plan/memory"
)

// listedTitle is how many characters of a title a list shows.
const listedTitle = 60

// Runs writes a table of runs, threads as one each. Filtered says that others were left
// out.
func Runs(w io.Writer, runs []host.Listed, filtered bool, opts Options) error {
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
			r.ID.Short(),
			statusWords(r.RunInfo, now),
			Duration(now.Sub(r.Created)),
			Tokens(r.Usage.Tokens()),
			Cost(r.CostUSD, r.Priced),
			look.Safe(SafeLine(filepath.Base(r.Repo))),
			look.Safe(look.threadTitle(r)),
		})
	}
	return writeTable(w, rows)
}

// Choices writes runs that a person may name by their numbers, from the first on, each
// in a line.
func Choices(w io.Writer, first int, runs []memory.RunInfo, opts Options) error {
	look := NewLook(opts)
	var lines []string
	for i, r := range runs {
		lines = append(lines, look.Safe(fmt.Sprintf("  %d  %s, %s, %s ago, in %s: %s", first+i, r.ID.Short(),
			statusWords(r, opts.now()), Duration(opts.now().Sub(r.Updated)), SafeLine(filepath.Base(r.Repo)),
			SafeLine(oneline.Cut(host.TitleOf(r), listedTitle)))))
	}
	return WriteLines(w, lines)
}

// threadTitle is what a run was asked for; of a thread, what it began with and what was
// asked last.
func (l Look) threadTitle(r host.Listed) string {
	title := oneline.Cut(host.TitleOf(r.RunInfo), listedTitle)
	if r.First.ID != r.ID {
		const half = listedTitle/2 - 2
		title = oneline.Cut(host.TitleOf(r.First), half) + " " + l.Arrow + " " + oneline.Cut(title, half)
	}
	var notes []string
	if r.Runs > 1 {
		notes = append(notes, Count(r.Runs, "run"))
	}
	if r.Waiting > 0 {
		notes = append(notes, fmt.Sprintf("%d to begin: plan resume", r.Waiting))
	}
	if len(notes) > 0 {
		title += " (" + strings.Join(notes, ", ") + ")"
	}
	return title
}

// WriteThread lists the runs of a thread and says which of them is shown. Of a run alone
// it says nothing.
func WriteThread(w io.Writer, thread []host.Member, current plan.RunID, opts Options) error {
	look := NewLook(opts)
	var lines []string
	for i, r := range thread {
		label, mark, state := "", " ", "to begin"
		if i == 0 {
			label = "thread"
		}
		if r.ID == current {
			mark = look.Arrow
		}
		if r.Begun {
			state = statusWords(r.RunInfo, opts.now())
		}
		lines = append(lines, look.fill(min(opts.Columns()-1, MaxColumns), []Span{
			{Ink: InkDim, Text: "  " + padTo(label, labelColumns-1)},
			{Text: mark + " " + r.ID.Short() + "  " + padTo(state, labelColumns+4) + " "},
		}, Span{Text: look.firstLine(host.TitleOf(r.RunInfo))}, nil))
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	return WriteLines(w, lines)
}

// WriteUnread tells what a person has said to a run and no conversation has heard, or
// will hear where the run is final.
func WriteUnread(w io.Writer, letters []host.Letter, final bool, opts Options) error {
	look := NewLook(opts)
	var lines []string
	for _, l := range letters {
		how := "guidance"
		if l.Kind == host.FollowUp {
			how = "follow-up"
		}
		if final {
			how += ", not heard"
		} else {
			how += ", waits"
		}
		lines = append(lines, look.hang(min(opts.Columns()-1, MaxColumns), []Span{
			{Text: strings.Repeat(" ", timelineGutter+2)},
			{Ink: InkCyan, Text: look.open},
			{Text: " " + labelPad("you") + " "},
		}, InkNone, how+": "+l.Text)...)
	}
	return WriteLines(w, lines)
}

// statusWords says in a few words where a run stands, and when it can go on.
func statusWords(r memory.RunInfo, now time.Time) string {
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
