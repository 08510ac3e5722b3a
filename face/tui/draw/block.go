package draw

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/tui/story"
	"github.com/plan-engine/plan/internal/amount"
)

// How much of a text is shown of a block that is folded, runs, or failed.
const (
	liveRows   = 6
	failedRows = 3
	diffRows   = 16
	openRows   = 400 // of one that is unfolded; the rest is read in a view of its own
	liveBytes  = 24 << 10
)

// View says how a block is to be drawn.
type View struct {
	Width int
	Open  bool // unfolded
	Now   time.Time
}

// Block draws a block.
func (t *Theme) Block(b *story.Block, v View) []string {
	const least = 20
	indent := strings.Repeat("  ", b.Depth)
	v.Width = max(v.Width-len(indent), least)
	var lines []string
	switch b.Kind {
	case story.Heading:
		lines = append([]string{""}, t.heading(b, v))
	case story.Prompted:
		lines = t.prompted(b, v)
	case story.Reply:
		lines = t.messageLines(b, v)
	case story.Planned, story.Reported:
		lines = t.document(b, v)
	case story.Call, story.Check, story.Thought:
		lines = t.work(b, v)
	default:
		lines = t.moment(b, v)
	}
	if indent != "" {
		for i := range lines {
			lines[i] = indent + lines[i]
		}
	}
	return lines
}

func (t *Theme) heading(b *story.Block, v View) string {
	head := paint(t.Dim, "── ") + paint(t.Accent, b.Title) + " "
	if b.Note != "" {
		head += paint(t.Dim, "· "+Cut(b.Note, max(v.Width/2, 8))+" ")
	}
	return head + paint(t.Dim, strings.Repeat("─", max(0, v.Width-Width(head))))
}

func (t *Theme) prompted(b *story.Block, v View) []string {
	bar := paint(t.Accent, "▌ ")
	var lines []string
	for line := range strings.Lines(b.Text) {
		lines = append(lines, hang(bar, bar, tabs(strings.TrimRight(line, "\n")), v.Width)...)
	}
	const most = 12
	if !v.Open && len(lines) > most {
		lines = append(lines[:most:most], bar+paint(t.Dim, fmt.Sprintf("… %d more lines", len(lines)-most)))
	}
	if b.Note != "" {
		lines = append(lines, bar+paint(t.Dim, Cut(b.Note, v.Width-2)))
	}
	return append([]string{""}, lines...)
}

func (t *Theme) messageLines(b *story.Block, v View) []string {
	text := b.Text
	if b.Phase == plan.Review {
		text = withoutVerdict(text)
	}
	if over := len(text) - liveBytes; b.Mood == story.Running && over > 0 {
		_, text, _ = strings.Cut(text[over:], "\n")
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	lines := append([]string{""}, indented(t.Markdown(text, v.Width-2))...)
	if b.Note != "" {
		lines = append(lines, "  "+paint(t.Odd, Cut(b.Note, v.Width-2)))
	}
	return lines
}

// withoutVerdict leaves out the verdict as JSON, which is told in words.
func withoutVerdict(text string) string {
	at := 0
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		if strings.HasPrefix(bare, "{") || strings.HasPrefix(bare, "```json") {
			return text[:at]
		}
		at += len(line)
	}
	return text
}

func indented(lines []string) []string {
	for i, line := range lines {
		if line != "" {
			lines[i] = "  " + line
		}
	}
	return lines
}

func (t *Theme) document(b *story.Block, v View) []string {
	head := t.line(b, v, t.Accent, "▤")
	if b.Known && !v.Open {
		return []string{head}
	}
	bar := paint(t.Dim, "┃ ")
	lines := []string{"", head}
	for _, line := range t.Markdown(b.Text, v.Width-4) {
		lines = append(lines, "  "+bar+line)
	}
	return lines
}

// work draws what ran: one line, and under it what of its text matters.
func (t *Theme) work(b *story.Block, v View) []string {
	style, sign := t.Mood(b.Mood)
	if b.Kind == story.Thought && b.Mood != story.Running {
		style, sign = t.Dim, "∴"
	}
	lines := []string{t.line(b, v, style, sign)}
	bar, width := paint(t.Dim, "  │ "), v.Width-4
	put := func(rows []string) {
		for _, row := range rows {
			lines = append(lines, bar+row)
		}
	}
	if b.Form == story.Diff && b.Kind == story.Call {
		rows := t.Diff(b.Args, width)
		if !v.Open {
			rows = first(rows, diffRows, t.Dim)
		}
		put(rows)
	} else if v.Open && b.Args != "" && strings.TrimSpace(b.Args) != b.Title {
		put(Text(b.Args, t.Code, width))
	}
	switch {
	case v.Open && b.Kind == story.Thought:
		put(t.Markdown(b.Text, width))
	case v.Open:
		rows := last(Text(b.Text, t.Plain, width), openRows, t.Dim)
		put(rows)
	case b.Mood == story.Running:
		put(lastOf(b.Text, liveRows, t.Dim, width))
	case b.Mood == story.Bad:
		put(lastOf(b.Text, failedRows, t.Dim, width))
	}
	return lines
}

// line draws the one line of a block: sign, label, what it is about, what came of it,
// and how long it took.
func (t *Theme) line(b *story.Block, v View, style lipgloss.Style, sign string) string {
	const label = len("apply_patch")
	head := "  " + paint(style, sign) + " " + Pad(Cut(b.Label, label), label) + " "
	title := b.Title
	if b.Kind == story.Thought {
		title = firstWords(b.Text)
	}
	var tail string
	if b.Note != "" {
		tail = "  " + paint(style, Cut(b.Note, max(v.Width/3, 12)))
	}
	elapsed := b.Took
	if b.Mood == story.Running && !v.Now.IsZero() {
		elapsed = v.Now.Sub(b.Began)
	}
	if elapsed > 0 {
		tail += paint(t.Dim, fmt.Sprintf("%8s", amount.Duration(elapsed)))
	}
	room := v.Width - Width(head) - Width(tail)
	if room < 8 {
		tail = ""
		room = v.Width - Width(head)
	}
	if b.IsPath {
		title = CutStart(title, room)
	} else {
		title = Cut(title, room)
	}
	if b.Kind == story.Thought {
		title = paint(t.Dim, title)
	}
	return head + Pad(title, room) + tail
}

func firstWords(text string) string {
	text = strings.TrimSpace(text)
	line, _, _ := strings.Cut(text, "\n")
	return strings.Trim(line, "*# ")
}

// moment draws something that happened: a line that is wrapped, and its text.
func (t *Theme) moment(b *story.Block, v View) []string {
	style, sign := t.Mood(b.Mood)
	if b.Kind == story.Gap && b.Mood == story.Odd {
		sign = "○"
	}
	const label = len("apply_patch")
	title, note := b.Title, b.Note
	if b.Kind == story.Asked && b.Mood == story.Running {
		style, sign = t.Odd, "?"
	}
	if note != "" {
		title += "  " + paint(style, note)
	}
	if b.Kind == story.Ended || b.Kind == story.Verdict {
		title = paint(style, b.Title)
	}
	if b.Kind == story.Ended && b.Took > 0 {
		title += paint(t.Dim, " · "+amount.Duration(b.Took))
	}
	head := "  " + paint(style, sign) + " " + Pad(Cut(b.Label, label), label) + " "
	lines := hang(head, strings.Repeat(" ", Width(head)), title, v.Width)
	if b.Kind == story.Ended {
		lines = append([]string{""}, lines...)
	}
	if b.Text == "" {
		return lines
	}
	body := t.Markdown(b.Text, v.Width-6)
	if b.Form != story.Prose {
		body = t.Wrapped(b.Text, v.Width-6, b.Form)
	}
	switch {
	case v.Open:
	case b.Kind == story.Asked && b.Mood != story.Running:
		return lines
	case b.Kind == story.Note:
		return lines
	default:
		body = first(body, diffRows, t.Dim)
	}
	for _, row := range body {
		lines = append(lines, "      "+row)
	}
	return lines
}

// first are the first rows, and how many there are besides.
func first(rows []string, most int, dim lipgloss.Style) []string {
	if len(rows) <= most+1 {
		return rows
	}
	return append(rows[:most:most], paint(dim, fmt.Sprintf("… %d more lines", len(rows)-most)))
}

// last are the last rows, and how many there are besides.
func last(rows []string, most int, dim lipgloss.Style) []string {
	if len(rows) <= most+1 {
		return rows
	}
	return append([]string{paint(dim, fmt.Sprintf("… %d lines before", len(rows)-most))}, rows[len(rows)-most:]...)
}

// lastOf lays out the last lines of a text that say something.
func lastOf(text string, most int, style lipgloss.Style, width int) []string {
	const enough = 16 << 10
	if len(text) > enough {
		text = strings.ToValidUTF8(text[len(text)-enough:], "")
	}
	var rows []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n "); strings.TrimSpace(line) != "" {
			rows = append(rows, line)
		}
	}
	rows = rows[max(0, len(rows)-most):]
	for i, row := range rows {
		rows[i] = paint(style, Cut(tabs(row), width))
	}
	return rows
}
