package tui

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan/batch"
	"github.com/plan-engine/plan/face/tui/draw"
	"github.com/plan-engine/plan/face/tui/story"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/host/batches"
	"github.com/plan-engine/plan/internal/amount"
)

// batchPage is the view of a batch: its jobs, each with the run that it has.
type batchPage struct {
	id       string
	standing batches.Standing
	picked   int
	top      int // the first job that is shown
}

type batchMsg struct {
	nth      int
	standing batches.Standing
	err      error
}

// openBatch looks at a batch.
func (m *model) openBatch(id string) tea.Cmd {
	m.batch = batchPage{id: id}
	m.screen, m.back = atBatch, atBatch
	return m.loadBatch()
}

func (m *model) loadBatch() tea.Cmd {
	m.reads++
	id, nth := m.batch.id, m.reads
	return func() tea.Msg {
		standing, err := m.batches().Show(m.ctx, id)
		return batchMsg{nth: nth, standing: standing, err: err}
	}
}

// batched shows what was read of a batch, and reads again after a while.
func (m *model) batched(msg batchMsg) tea.Cmd {
	if msg.err != nil {
		m.fail(msg.err)
	} else if msg.standing.ID == m.batch.id {
		m.batch.standing = msg.standing
	}
	m.batch.picked = max(0, min(m.batch.picked, len(m.batch.standing.Jobs)-1))
	return m.readAgain(atBatch, msg.nth, m.loadBatch)
}

// readAgain has a page that is looked at read again after a while. Only the newest read
// is followed by another: who goes back and forth between pages would have ever more.
func (m *model) readAgain(page screen, nth int, load func() tea.Cmd) tea.Cmd {
	if m.screen != page || nth != m.reads {
		return nil
	}
	next := load()
	return tea.Tick(boardTime, func(time.Time) tea.Msg { return next() })
}

// jobColumns say how wide the columns of a batch are.
type jobColumns struct{ id, state, repo, took int }

// columns fits them to the jobs and to the terminal: where there is little room, what
// says least goes first.
func (p *batchPage) columns(width int) jobColumns {
	c := jobColumns{id: 4, state: 8, repo: 4, took: 7}
	for _, j := range p.standing.Jobs {
		c.id = max(c.id, draw.Width(clean(j.ID)))
		c.state = max(c.state, draw.Width(jobState(j)))
		c.repo = max(c.repo, draw.Width(jobRepo(j)))
	}
	c.id, c.state, c.repo = min(c.id, max(width/4, 8)), min(c.state, 20), min(c.repo, 16)
	const legible = 24 // of why, or of what was asked for
	used := func() int { return 4 + c.id + c.state + c.repo + c.took + 5 }
	if used()+legible > width {
		c.repo = 0
	}
	if used()+legible > width {
		c.took = 0
	}
	return c
}

// jobState says in words how a job stands.
func jobState(j batches.Job) string {
	switch {
	case j.State == batch.JobParked && j.Parked != "":
		return clean("parked: " + string(j.Parked))
	case isOver(j.State) && j.Outcome != "":
		return clean(string(j.Outcome))
	}
	return clean(string(j.State))
}

func jobRepo(j batches.Job) string { return clean(filepath.Base(j.Repo)) }

func jobMood(j batches.Job) story.Mood {
	switch j.State {
	case batch.JobRunning:
		return story.Running
	case batch.JobDone:
		return story.Good
	case batch.JobFailed:
		return story.Bad
	case batch.JobParked, batch.JobCancelled:
		return story.Odd
	default:
		return story.Plain
	}
}

// batchRows is the page of a batch.
func (m *model) batchRows() []string {
	t, p, now := m.theme, &m.batch, m.Now()
	b := p.standing.Batch
	title := t.Accent.Render("plan") + "  " + t.Bold.Render("batch "+shortBatch(p.id)) + "  " + clean(b.Name)
	if b.ID == "" {
		return m.footed([]string{title, "", t.Dim.Render("  reading …")}, "q leave")
	}
	rows := []string{
		draw.Row(title, t.Dim.Render(clean(string(b.State))), m.width),
		draw.Row(
			bar(t, b.Counts)+" "+jobCounts(b.Counts),
			t.Dim.Render(amount.Cost(b.CostUSD, b.CostUSD > 0)+"  "+amount.Tokens(b.Tokens)+" tok"),
			m.width,
		),
		"",
	}
	if w := p.standing.Plan; w != nil {
		rows = append(
			rows,
			t.Odd.Render(draw.Cut("The others wait for the plan of job "+clean(w.Job)+".", m.width)),
			"",
		)
	}
	room := max(m.height-1-len(rows), 1)
	p.top = max(0, min(p.top, p.picked, len(p.standing.Jobs)-room))
	p.top = max(p.top, p.picked-room+1)
	c := p.columns(m.width)
	for i := p.top; i < min(len(p.standing.Jobs), p.top+room); i++ {
		rows = append(rows, m.jobRow(p.standing.Jobs[i], c, i == p.picked, now))
	}
	return m.footed(rows, "↑↓ choose · enter open, and answer what waits · q leave")
}

// jobRow is a job of a batch.
func (m *model) jobRow(j batches.Job, c jobColumns, picked bool, now time.Time) string {
	t := m.theme
	style, sign := t.Mood(jobMood(j))
	mark := "  "
	if picked {
		mark = t.Accent.Render("▐") + " "
	}
	cell := func(text string, width int) string { return draw.Pad(draw.Cut(text, width), width) + " " }
	left := mark + style.Render(sign) + " " + cell(clean(j.ID), c.id) + style.Render(cell(jobState(j), c.state))
	if c.repo > 0 {
		left += t.Dim.Render(cell(jobRepo(j), c.repo))
	}
	right := ""
	if c.took > 0 {
		right = fmt.Sprintf("%*s", c.took, jobTook(j, now))
	}
	about := clean(cmp.Or(j.Why, host.FirstLine(j.Request)))
	if j.Published != nil {
		about = strings.TrimSpace(clean(j.Published.Summary()) + " " + about)
	}
	about = draw.Cut(about, m.width-draw.Width(left)-draw.Width(right)-2)
	if picked {
		about = t.Bold.Render(about)
	}
	return draw.Row(left+about, t.Dim.Render(right), m.width-1)
}

// jobTook is how long a job has run, "" for one that has not begun or waits: when it was
// parked is not known here.
func jobTook(j batches.Job, now time.Time) string {
	switch {
	case j.Started == nil, j.State == batch.JobParked:
		return ""
	case j.Ended != nil:
		now = *j.Ended
	}
	return amount.Clock(now.Sub(*j.Started))
}

func shortBatch(id string) string {
	return clean(id[max(0, len(id)-6):])
}

// isOver reports whether jobs in a state have come to an end.
func isOver[S ~string](s S) bool {
	return slices.Contains([]batch.JobState{batch.JobDone, batch.JobFailed, batch.JobCancelled}, batch.JobState(s))
}

// bar shows how many jobs have come to an end.
func bar[S ~string](t *draw.Theme, counts map[S]int) string {
	const width = 12
	ended, total, full := 0, 0, 0
	for s, n := range counts {
		total += n
		if isOver(s) {
			ended += n
		}
	}
	if total > 0 {
		full = ended * width / total
	}
	return t.Good.Render(strings.Repeat("█", full)) + t.Dim.Render(strings.Repeat("░", width-full))
}

// jobCounts says how many jobs are how far.
func jobCounts[S ~string](counts map[S]int) string {
	var parts []string
	for _, s := range []batch.JobState{
		batch.JobRunning,
		batch.JobParked,
		batch.JobQueued,
		batch.JobDone,
		batch.JobFailed,
		batch.JobCancelled,
	} {
		if n := counts[S(s)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

func (m *model) batchKey(name string) tea.Cmd {
	p := &m.batch
	page := max(m.height-6, 1)
	m.say("")
	switch name {
	case "up", "k":
		p.picked--
	case "down", "j":
		p.picked++
	case "pgup":
		p.picked -= page
	case "pgdown":
		p.picked += page
	case "enter":
		return m.openJob()
	case "?":
		return m.help(nil, "")
	case "q", "esc", "ctrl+d":
		return m.toWatch()
	}
	p.picked = max(0, min(p.picked, len(p.standing.Jobs)-1))
	return nil
}

// openJob looks at the run of the job that is picked.
func (m *model) openJob() tea.Cmd {
	p := &m.batch
	if p.picked >= len(p.standing.Jobs) {
		return nil
	}
	j := p.standing.Jobs[p.picked]
	if j.Run == "" {
		m.say("Job " + j.ID + " has not begun.")
		return nil
	}
	if j.Worker != "" {
		return m.openQueued(j.Run, queuedJob{batch: p.standing.ID, id: j.ID})
	}
	return m.openRun(j.Run)
}

// batches are those of the home, and those of the queue that is watched.
func (m *model) batches() batches.Everywhere {
	return batches.Everywhere{Home: batches.New(m.Host), Queue: m.Queue}
}
