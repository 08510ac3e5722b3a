package tui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/tui/draw"
	"github.com/plan-engine/plan/face/tui/story"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/memory"
)

// home is the first screen: what can be opened from it.
type home struct {
	loaded  bool
	recent  []memory.RunInfo // of this repository, newest first
	waiting []memory.RunInfo // that wait for a person, of all repositories
	picked  int              // -1: none
}

// How many runs the first screen lists.
const (
	mostRecent  = 8
	mostWaiting = 5
)

type listMsg struct {
	recent, waiting []memory.RunInfo
	err             error
}

type filesMsg []string

// loadHome reads the lists in the background: the composer does not wait for them.
func (m *model) loadHome() tea.Cmd {
	return func() tea.Msg {
		var out listMsg
		out.recent, out.err = m.ranHere()
		board, err := m.Host.Board(m.ctx, mostWaiting)
		if out.waiting = board.Waiting; out.err == nil {
			out.err = err
		}
		return out
	}
}

// ranHere are the newest runs of this repository: of those that go on from each other
// the newest.
func (m *model) ranHere() ([]memory.RunInfo, error) {
	runs, err := m.Host.Runs(m.ctx, host.Filter{Dir: m.Dir, Limit: 2 * mostRecent})
	if err != nil {
		return nil, err
	}
	threads, err := m.Host.AsThreads(m.ctx, runs)
	var out []memory.RunInfo
	for _, t := range threads[:min(len(threads), mostRecent)] {
		out = append(out, t.RunInfo)
	}
	return out, err
}

// but leaves out of runs those that are among others.
func but(runs, others []memory.RunInfo) []memory.RunInfo {
	return slices.DeleteFunc(slices.Clone(runs), func(r memory.RunInfo) bool {
		return slices.ContainsFunc(others, func(o memory.RunInfo) bool { return o.ID == r.ID })
	})
}

// loadFiles reads which files the repository has.
func (m *model) loadFiles() tea.Cmd {
	return func() tea.Msg {
		files, err := m.Host.RepoFiles(m.ctx, m.Dir)
		if err != nil {
			return nil // nothing is completed then
		}
		return filesMsg(files)
	}
}

func (m *model) listed(msg listMsg) tea.Cmd {
	if msg.err != nil && !m.home.loaded && m.screen == atHome { // what is watched needs no repository
		m.fail(msg.err)
	}
	if !m.home.loaded { // what was asked for before can be asked for again
		for _, r := range slices.Backward(msg.recent) {
			m.write.Remember(host.WithoutFiles(r.Request))
		}
		m.home.picked = -1
	}
	m.home.loaded = true
	m.home.recent, m.home.waiting = but(msg.recent, msg.waiting), msg.waiting
	m.home.picked = min(m.home.picked, len(m.home.all())-1)
	return nil
}

// all are the runs that can be opened, in the order in which they are shown.
func (h *home) all() []memory.RunInfo { return slices.Concat(h.waiting, h.recent) }

// homePage is the first screen.
func (m *model) homePage() ([]string, *tea.Cursor) {
	t := m.theme
	where := filepath.Base(absolute(m.Dir))
	rows := []string{draw.Row(t.Accent.Render("plan")+"  "+t.Bold.Render(where), t.Dim.Render(m.wishes()), m.width), ""}
	text, cursor := m.composerRows("What should change? A question is answered, and nothing changed.")
	at := len(rows)
	rows = append(rows, text...)
	if cursor != nil {
		cursor.Y += at
	}
	rows = append(rows, "")
	if !m.home.loaded {
		rows = append(rows, t.Dim.Render("  reading what ran here …"))
	}
	now, n := m.Now(), 0
	list := func(title string, runs []memory.RunInfo, repo bool) {
		if len(runs) == 0 {
			return
		}
		rows = append(rows, t.Bold.Render(title))
		for _, r := range runs {
			rows = append(rows, m.runRow(r, n == m.home.picked, repo, now))
			n++
		}
		rows = append(rows, "")
	}
	list("Waits for you", m.home.waiting, true)
	list("Ran here", m.home.recent, false)
	if m.home.loaded && n == 0 {
		rows = append(rows, t.Dim.Render("  Nothing has run here yet. `plan demo` shows a whole run without a key."))
	}
	return m.footed(rows, "enter start · ↑↓ choose a run · @ file · / commands · ? keys · ctrl+c leave"), cursor
}

// footed puts the last rows at the bottom: what was done last, else which keys there are.
func (m *model) footed(rows []string, keys string) []string {
	foot := m.statusRows()
	if len(foot) == 0 {
		foot = []string{m.theme.Dim.Render(draw.Cut(keys, m.width))}
	}
	for len(rows) < m.height-len(foot) {
		rows = append(rows, "")
	}
	return append(rows[:m.height-len(foot)], foot...)
}

// statusRows are the word about what was done last. One about something that failed is
// whole, as it says what to do.
func (m *model) statusRows() []string {
	const most = 4
	switch {
	case m.status == "":
		return nil
	case !m.isBad:
		return []string{m.theme.Odd.Render(draw.Cut(m.status, m.width))}
	}
	rows := m.theme.Wrapped(m.status, m.width-1, story.Output)
	if len(rows) > most {
		rows = append(rows[:most-1], draw.Cut(rows[most-1]+"…", m.width))
	}
	for i, row := range rows {
		rows[i] = m.theme.Bad.Render(row)
	}
	return rows
}

// wishes says what the next run is started with besides the settings.
func (m *model) wishes() string {
	var parts []string
	if m.runWish.model != "" {
		parts = append(parts, "model "+m.runWish.model)
	}
	if m.runWish.way != "" {
		parts = append(parts, "way "+m.runWish.way)
	}
	if a := m.runWish.approvePlan; a != nil && *a {
		parts = append(parts, "you approve the plan")
	}
	return strings.Join(parts, " · ")
}

// runRow is a run in a list.
func (m *model) runRow(r memory.RunInfo, picked, repo bool, now time.Time) string {
	t := m.theme
	style, sign := t.Mood(runMood(r))
	mark := "  "
	if picked {
		mark = t.Accent.Render("▐") + " "
	}
	left := mark + style.Render(sign) + " " + t.Dim.Render(short(r.ID)) + " " +
		style.Render(draw.Pad(clean(statusWords(r, now)), 22)) + " "
	right := ""
	if repo {
		right = "  " + draw.Cut(clean(filepath.Base(r.Repo)), 20)
	}
	right += fmt.Sprintf("%8s", age(now.Sub(r.Updated)))
	if r.CostUSD > 0 {
		right += fmt.Sprintf("  $%.2f", r.CostUSD)
	}
	room := m.width - draw.Width(left) - draw.Width(right) - 2
	title := draw.Cut(clean(host.TitleOf(r)), room)
	if picked {
		title = t.Bold.Render(title)
	}
	return draw.Row(left+title, t.Dim.Render(right), m.width-1)
}

func runMood(r memory.RunInfo) story.Mood {
	switch {
	case r.Parked != "":
		return story.Odd
	case !r.State.Final():
		return story.Running
	case r.State.ExitCode() == plan.ExitOK:
		return story.Good
	}
	return story.Bad
}

// statusWords says in a few words how a run stands.
func statusWords(r memory.RunInfo, now time.Time) string {
	switch r.Parked {
	case "":
		return string(r.State)
	case plan.ParkApproval:
		return "waits for a yes"
	case plan.ParkQuestion:
		return "asks a question"
	}
	words := "parked: " + string(r.Parked)
	if at, ok := host.WakeTime(r); ok && at.After(now) {
		words += " " + amount.Clock(at.Sub(now))
	}
	return words
}

// age says roughly how long ago something was.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// homeKey takes a key that the composer has no use for.
func (m *model) homeKey(name string) tea.Cmd {
	runs := m.home.all()
	switch name {
	case "up":
		m.home.picked = max(m.home.picked-1, -1)
	case "down":
		m.home.picked = min(m.home.picked+1, len(runs)-1)
	case "enter":
		if at := m.home.picked; at >= 0 && at < len(runs) {
			return m.openRun(runs[at].ID)
		}
	case "ctrl+d":
		return m.quit()
	}
	return nil
}
