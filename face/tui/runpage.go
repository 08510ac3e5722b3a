package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/tui/draw"
	"github.com/plan-engine/plan/face/tui/story"
	"github.com/plan-engine/plan/internal/amount"
)

// runPage is the view of a run: its phases on top, what happened, what goes on, and
// where one writes or decides.
func (m *model) runPage() ([]string, *tea.Cursor) {
	v, now := m.view, m.Now()
	head := m.runHead(v, now)
	const low = 16
	if v.panel != nil && m.focus == onText && m.height < low {
		head = head[:1]
	}
	bottom, cursor := m.runBottom(v, now, m.height-len(head))
	if over := len(head) + len(bottom) - m.height; over > 0 { // a terminal that is very low
		head = head[:max(0, len(head)-over)]
	}
	if over := len(head) + len(bottom) - m.height; over > 0 {
		bottom = bottom[over:]
		if cursor != nil {
			cursor.Y -= over
		}
	}
	room := m.height - len(head) - len(bottom)
	if room == 0 && len(head) == 3 { // one line is enough between the head and what waits
		head, room = head[:2], 1
	}
	v.scroll.width, v.scroll.height = m.width, max(room, 0)
	body := v.scroll.view(now)
	if cursor != nil {
		cursor.Y += len(head) + len(body)
	}
	rows := append(head, body...)
	return append(rows, bottom...), cursor
}

// runHead says which run it is, and where its phases stand.
func (m *model) runHead(v *view, now time.Time) []string {
	t, s := m.theme, v.story
	left := t.Accent.Render("plan") + " " + t.Dim.Render(short(v.id)) + "  " + t.Bold.Render(s.Title)
	right := v.mark()
	style, _ := t.Mood(moodOf(v))
	title := draw.Row(draw.Cut(left, max(m.width-draw.Width(right)-2, 10)), style.Render(right), m.width)
	var steps []string
	for _, step := range s.Steps {
		steps = append(steps, m.stepWords(step, now))
	}
	line := strings.Join(steps, t.Dim.Render(" → "))
	if draw.Width(line) > m.width {
		line = strings.Join(m.shortSteps(s.Steps), t.Dim.Render(" → "))
	}
	gaps := 0
	for _, g := range s.Gaps {
		if g.Open() {
			gaps++
		}
	}
	if gaps > 0 {
		line = draw.Row(line, t.Odd.Render(amount.Count(int64(gaps), "gap")+" open"), m.width)
	}
	return []string{title, line, t.Dim.Render(strings.Repeat("─", m.width))}
}

// moodOf says whether a run stands well.
func moodOf(v *view) story.Mood {
	switch s := v.story; {
	case s.End != nil && s.End.ExitCode == plan.ExitOK:
		return story.Good
	case s.End != nil:
		return story.Bad
	case s.Parked != nil || v.panel != nil:
		return story.Odd
	}
	return story.Plain
}

// stepWords is a phase in the head.
func (m *model) stepWords(s story.Step, now time.Time) string {
	t := m.theme
	name := string(s.Phase)
	switch {
	case s.Left:
		return t.Dim.Render("– " + name)
	case s.Attempt == 0:
		return t.Dim.Render("○ " + name)
	}
	style, sign := t.Mood(s.Mood)
	if s.Attempt > 1 {
		name += fmt.Sprintf(" %d", s.Attempt)
	}
	elapsed := s.Took
	if s.Mood == story.Running {
		elapsed += now.Sub(s.Began)
		name = t.Bold.Render(name)
	}
	return style.Render(sign) + " " + name + " " + t.Dim.Render(amount.Clock(elapsed))
}

// shortSteps are the phases where there is little room: the one that works by its name.
func (m *model) shortSteps(steps []story.Step) []string {
	var out []string
	for _, s := range steps {
		style, sign := m.theme.Mood(s.Mood)
		switch {
		case s.Left:
			out = append(out, m.theme.Dim.Render("–"))
		case s.Attempt == 0:
			out = append(out, m.theme.Dim.Render("○ "+string(s.Phase)[:2]))
		case s.Mood == story.Running:
			out = append(out, style.Render(sign)+" "+m.theme.Bold.Render(string(s.Phase)))
		default:
			out = append(out, style.Render(sign)+" "+string(s.Phase)[:2])
		}
	}
	return out
}

// runBottom is what stands under the story, where there is room for so many rows. What is
// decided about may take all of them.
func (m *model) runBottom(v *view, now time.Time, room int) ([]string, *tea.Cursor) {
	rule, totals := m.rule(v, now), m.totals(v, now)
	if v.panel != nil && m.focus == onText {
		if m.narrow {
			room = 0
		}
		rows, cursor := v.panel.rows(m.theme, m.width, room-1-len(totals), now)
		if cursor != nil {
			cursor.Y++
		}
		return slices.Concat([]string{rule}, rows, totals), cursor
	}
	rows := []string{rule}
	if line := m.activity(v, now); line != "" {
		rows = append(rows, line)
	}
	for _, l := range v.story.Unheard() {
		word := "waits to be heard: "
		if l.After {
			word = "waits for the end of the work: "
		}
		rows = append(rows, m.theme.Odd.Render(draw.Cut("  ◷ "+word+clean(l.Text), m.width)))
	}
	for _, l := range v.story.Letters {
		if l.Lost {
			rows = append(rows, m.theme.Dim.Render(draw.Cut("  ✗ not heard: "+clean(l.Text), m.width)))
		}
	}
	text, cursor := m.composerRows(m.prompt(v))
	if cursor != nil {
		cursor.Y += len(rows)
	}
	return slices.Concat(rows, text, totals), cursor
}

// rule is the line under the story. It says where more of it stands below.
func (m *model) rule(v *view, now time.Time) string {
	t, more := m.theme, " more below: pgdn, ctrl+end ──"
	if m.focus == onStory {
		more = " more below: pgdn, G ──"
	}
	if m.inline != nil || v.scroll.follow || v.scroll.isAtEnd(now) || m.width < 2*draw.Width(more) {
		more = ""
	}
	return t.Dim.Render(strings.Repeat("─", m.width-draw.Width(more))) + t.Odd.Render(more)
}

// prompt says what becomes of what is written.
func (m *model) prompt(v *view) string {
	s := v.story
	switch {
	case m.focus == onStory && v.panel != nil:
		return "You browse. Esc goes back to what waits for you"
	case m.focus == onStory:
		return "You browse. Esc goes back to where you write"
	case s.Final() && v.job != nil:
		return "This run is final: /diff shows what it changed"
	case s.Final():
		return "This run is final: what you write begins one that continues it"
	case v.isDriven() || s.Parked == nil:
		return "Guidance for the work that goes on (tab: a follow-up for after it)"
	case s.Parked != nil && len(s.Parked.Waiting) > 0:
		return "It waits for you: esc and enter show with what. What is written here is guidance"
	case v.job != nil:
		return "Parked. What is written is read once its job goes on"
	}
	return "Parked. Enter goes on; what is written goes with it"
}

// activity says what goes on.
func (m *model) activity(v *view, now time.Time) string {
	s, t := v.story, m.theme
	if !v.isLive() {
		if s.Failure != nil {
			return t.Bad.Render(draw.Cut("  ✗ "+clean(s.Failure.Error+" "+s.Failure.Hint), m.width))
		}
		return ""
	}
	spin := []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	frame := spin[int(now.Sub(s.Began)/(250*time.Millisecond))%len(spin)]
	label, detail, since, until := s.Activity()
	words := strings.TrimSpace(label + " " + detail)
	if n := s.Busy(); n > 1 {
		words = fmt.Sprintf("%s (+%d)", words, n-1)
	}
	if words == "" {
		words = "working"
	}
	clock := ""
	switch {
	case !until.IsZero():
		clock = "in " + amount.Clock(until.Sub(now).Round(time.Second))
	case !since.IsZero():
		clock = amount.Clock(now.Sub(since))
	}
	lead := t.Accent.Render(frame) + " "
	if step := s.Step(); step.Phase != "" {
		lead += t.Bold.Render(string(step.Phase)) + t.Dim.Render(fmt.Sprintf(" turn %d · ", max(s.Turn, 1)))
	}
	room := m.width - draw.Width(lead) - len(clock) - 2
	return lead + draw.Cut(words, room) + "  " + t.Dim.Render(clock)
}

// totals are the last rows: what the run has used, and how to see the keys.
func (m *model) totals(v *view, now time.Time) []string {
	const statusFor = 8 * time.Second // then what the run uses is of more interest
	if rows := m.statusRows(); len(rows) > 0 && (m.isBad || now.Sub(m.statusAt) < statusFor) {
		return rows
	}
	s, t := v.story, m.theme
	var parts []string
	if used := s.Costs.Total(); used.Usage.Requests > 0 {
		parts = append(parts, amount.Cost(used.USD, used.Unpriced == 0), amount.Tokens(used.Usage.Tokens())+" tok")
	}
	if s.Context > 0 {
		used := "context " + amount.Tokens(s.Context)
		if w := m.window(s); w > 0 {
			used = fmt.Sprintf("context %d%%", s.Context*100/w)
		}
		parts = append(parts, used)
	}
	if !s.Began.IsZero() {
		to := s.Last
		if v.isLive() {
			to = now
		}
		parts = append(parts, amount.Clock(to.Sub(s.Began)))
	}
	if s.Plan != nil {
		parts = append(parts, fmt.Sprintf("plan v%d", s.Plan.Version))
	}
	if v.note != "" {
		parts = append(parts, v.note)
	}
	left, keys := strings.Join(parts, " · "), "esc browse · / commands · ? keys"
	switch {
	case m.focus == onStory: // then the keys are of more interest
		left, keys = "↑↓ choose · enter fold · o open · d diff · p plan · q leave · ? keys", left
	case m.inline != nil:
		keys = "/ commands · ? keys · ctrl+c park"
	case v.panel != nil:
		keys = "esc browse · ctrl+d leave"
	case draw.Width(left)+draw.Width(keys) >= m.width:
		keys = "? keys"
	}
	return []string{draw.Row(t.Dim.Render(left), t.Dim.Render(keys), m.width)}
}

// window is how much the model of a run takes at once, 0 where it is not known.
func (m *model) window(s *story.Story) int64 {
	if s.Window > 0 {
		return s.Window
	}
	return m.windows[s.Model]
}

type windowMsg struct {
	model  string
	tokens int64
}

// findWindow looks the model of a run up, in the background and once.
func (m *model) findWindow(s *story.Story) tea.Cmd {
	if _, known := m.windows[s.Model]; known || s.Model == "" || m.Host == nil {
		return nil
	}
	m.windows[s.Model] = 0
	name, repo := s.Model, s.Repo
	return func() tea.Msg { return windowMsg{model: name, tokens: m.Host.Window(repo, name)} }
}
