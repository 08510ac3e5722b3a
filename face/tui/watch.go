package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan/face/tui/draw"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/memory"
)

// watch is the view of all that goes on in the home.
type watch struct {
	board  host.Board
	loaded bool
	picked int
}

type boardMsg struct {
	board host.Board
	err   error
}

// The board is read again so often while it is looked at, and shows so many of a kind.
const (
	boardTime = time.Second
	mostBoard = 30
)

func (m *model) loadBoard() tea.Cmd {
	return func() tea.Msg {
		board, err := m.Host.Board(m.ctx, mostBoard)
		return boardMsg{board: board, err: err}
	}
}

// boarded shows what was read, and reads again after a while.
func (m *model) boarded(msg boardMsg) tea.Cmd {
	if msg.err != nil {
		m.fail(msg.err)
	} else {
		m.watch.board = msg.board
	}
	m.watch.loaded = true
	m.watch.picked = max(0, min(m.watch.picked, len(m.watch.all())-1))
	if m.screen != atWatch {
		return nil
	}
	again := m.loadBoard()
	return tea.Tick(boardTime, func(time.Time) tea.Msg { return again() })
}

// all are the runs of the board, in the order in which they are shown.
func (w *watch) all() []memory.RunInfo {
	var out []memory.RunInfo
	out = append(out, w.board.Waiting...)
	out = append(out, w.board.Live...)
	return append(out, w.board.Parked...)
}

// watchPage shows what waits, what goes on, batches, and what is parked.
func (m *model) watchPage() []string {
	t, w, now := m.theme, &m.watch, m.Now()
	all := w.all()
	rows := []string{t.Accent.Render("plan") + "  " + t.Bold.Render("all that goes on here"), ""}
	n, at := 0, 0
	list := func(title string, runs []memory.RunInfo) {
		if len(runs) == 0 {
			return
		}
		rows = append(rows, t.Bold.Render(fmt.Sprintf("%s (%d)", title, len(runs))))
		for _, r := range runs {
			if n == w.picked {
				at = len(rows)
			}
			rows = append(rows, m.runRow(r, n == w.picked, true, now))
			n++
		}
		rows = append(rows, "")
	}
	list("Waits for you", w.board.Waiting)
	list("Goes on", w.board.Live)
	if len(w.board.Batches) > 0 {
		rows = append(rows, t.Bold.Render(fmt.Sprintf("Batches (%d)", len(w.board.Batches))))
		for _, b := range w.board.Batches {
			rows = append(rows, m.batchRow(b, now))
		}
		rows = append(rows, "")
	}
	list("Parked", w.board.Parked)
	switch {
	case !w.loaded:
		rows = append(rows, t.Dim.Render("  reading …"))
	case len(all) == 0 && len(w.board.Batches) == 0:
		rows = append(rows, t.Dim.Render("  Nothing goes on, and nothing waits."))
	}
	if from := at - (m.height - 6); from > 0 {
		rows = append(rows[:2:2], rows[2+from:]...)
	}
	return m.footed(rows, "↑↓ choose · enter open, and answer what waits · q leave")
}

// batchRow is a batch: how far its jobs are.
func (m *model) batchRow(b memory.Batch, now time.Time) string {
	t := m.theme
	total, ended := 0, 0
	var parts []string
	for _, s := range []memory.JobState{
		memory.JobRunning,
		memory.JobParked,
		memory.JobQueued,
		memory.JobDone,
		memory.JobFailed,
		memory.JobCancelled,
	} {
		k := b.Jobs[s]
		total += k
		if s.Final() {
			ended += k
		}
		if k > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", k, s))
		}
	}
	const width = 12
	full := 0
	if total > 0 {
		full = ended * width / total
	}
	bar := t.Good.Render(strings.Repeat("█", full)) + t.Dim.Render(strings.Repeat("░", width-full))
	left := "    " + bar + " " + draw.Pad(draw.Cut(clean(b.Name), 20), 20) + " " + strings.Join(parts, ", ")
	right := fmt.Sprintf("%s  %s", amount.Cost(b.CostUSD, b.CostUSD > 0), age(now.Sub(b.Updated)))
	return draw.Row(left, t.Dim.Render(right), m.width-1)
}

func (m *model) watchKey(name string) tea.Cmd {
	all := m.watch.all()
	m.say("")
	switch name {
	case "up", "k":
		m.watch.picked = max(0, m.watch.picked-1)
	case "down", "j":
		m.watch.picked = max(0, min(len(all)-1, m.watch.picked+1))
	case "enter":
		if at := m.watch.picked; at < len(all) {
			return m.openRun(all[at].ID)
		}
	case "?":
		m.keys = true
	case "q", "esc", "ctrl+d":
		if m.Watch {
			return m.quit()
		}
		m.screen = atHome
		return m.loadHome()
	}
	return nil
}
