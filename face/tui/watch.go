package tui

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
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
	nth   int
	board host.Board
	err   error
}

// The board is read again so often while it is looked at, and shows so many of a kind.
const (
	boardTime = time.Second
	mostBoard = 30
)

func (m *model) loadBoard() tea.Cmd {
	m.reads++
	nth := m.reads
	return func() tea.Msg {
		board, err := m.Host.Board(m.ctx, mostBoard)
		if err == nil && m.Queue != nil {
			var queued []memory.Batch
			queued, err = m.Queue.Open(m.ctx, mostBoard-len(board.Batches))
			board.Batches = append(board.Batches, queued...)
		}
		return boardMsg{nth: nth, board: board, err: err}
	}
}

// boarded shows what was read, and reads again after a while.
func (m *model) boarded(msg boardMsg) tea.Cmd {
	if msg.err != nil {
		m.fail(msg.err)
	}
	if msg.err == nil || m.Queue != nil { // what the home has is there without the queue, too
		m.watch.board = msg.board
	}
	m.watch.loaded = true
	m.watch.picked = max(0, min(m.watch.picked, len(m.watch.all())-1))
	return m.readAgain(atWatch, msg.nth, m.loadBoard)
}

// opened is a row of the board: a run, or a batch where that has an id.
type opened struct {
	run   plan.RunID
	batch string
}

// all are the rows that can be opened, in the order in which they are shown.
func (w *watch) all() []opened {
	var out []opened
	runs := func(list []memory.RunInfo) {
		for _, r := range list {
			out = append(out, opened{run: r.ID})
		}
	}
	runs(w.board.Waiting)
	runs(w.board.Live)
	for _, b := range w.board.Batches {
		out = append(out, opened{batch: b.ID})
	}
	runs(w.board.Parked)
	return out
}

// toWatch looks at all that goes on.
func (m *model) toWatch() tea.Cmd {
	m.screen, m.back = atWatch, atWatch
	return m.loadBoard()
}

// watchPage shows what waits, what goes on, batches, and what is parked.
func (m *model) watchPage() []string {
	t, w, now := m.theme, &m.watch, m.Now()
	items := w.all()
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
			if n == w.picked {
				at = len(rows)
			}
			rows = append(rows, m.batchRow(b, n == w.picked, now))
			n++
		}
		rows = append(rows, "")
	}
	list("Parked", w.board.Parked)
	switch {
	case !w.loaded:
		rows = append(rows, t.Dim.Render("  reading …"))
	case len(items) == 0 && len(w.board.Batches) == 0:
		rows = append(rows, t.Dim.Render("  Nothing goes on, and nothing waits."))
	}
	if from := at - (m.height - 6); from > 0 {
		rows = append(rows[:2:2], rows[2+from:]...)
	}
	return m.footed(rows, "↑↓ choose · enter open, and answer what waits · q leave")
}

// batchRow is a batch: how far its jobs are.
func (m *model) batchRow(b memory.Batch, picked bool, now time.Time) string {
	t := m.theme
	mark, name := "    ", draw.Pad(draw.Cut(clean(b.Name), 20), 20)
	if picked {
		mark, name = t.Accent.Render("▐")+"   ", t.Bold.Render(name)
	}
	left := mark + bar(t, b.Jobs) + " " + name + " " + jobCounts(b.Jobs)
	right := fmt.Sprintf("%s  %s", amount.Cost(b.CostUSD, b.CostUSD > 0), age(now.Sub(b.Updated)))
	return draw.Row(left, t.Dim.Render(right), m.width-1)
}

func (m *model) watchKey(name string) tea.Cmd {
	items := m.watch.all()
	m.say("")
	switch name {
	case "up", "k":
		m.watch.picked = max(0, m.watch.picked-1)
	case "down", "j":
		m.watch.picked = max(0, min(len(items)-1, m.watch.picked+1))
	case "enter":
		switch at := m.watch.picked; {
		case at >= len(items):
		case items[at].batch != "":
			return m.openBatch(items[at].batch)
		default:
			return m.openRun(items[at].run)
		}
	case "?":
		return m.help(nil, "")
	case "q", "esc", "ctrl+d":
		if m.Watch {
			return m.quit()
		}
		return m.goHome(nil, "")
	}
	return nil
}
