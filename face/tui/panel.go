package tui

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/tui/composer"
	"github.com/plan-engine/plan/face/tui/draw"
	"github.com/plan-engine/plan/face/tui/story"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/internal/sanitize"
)

// panel is where a person decides about what a run waits for: one thing after the
// other, each shown whole. A word decides, with Enter behind it, and nothing else does.
type panel struct {
	ask    *ask
	view   *view
	at     int // of the calls that wait
	line   composer.Composer
	offset int // rows of what is shown that are above the window
	seen   bool
	unseen bool // there was no room for it when it was drawn last
	picked int  // line of the plan that keys mean, from 1; 0 for none
	notes  []comment
	given  []host.Letter
	remark string // why the last word decided nothing
	quiet  time.Time
}

// comment is what a person says to a line of the plan.
type comment struct {
	line int
	text string
}

// quietTime is how long no key may have come before one counts: what was typed before
// the question stood there answers nothing.
const quietTime = 400 * time.Millisecond

func newPanel(a *ask, v *view, now time.Time) *panel {
	return &panel{
		ask:   a,
		view:  v,
		quiet: now,
	}
}

// armed reports whether what is typed counts.
func (p *panel) armed(now time.Time) bool {
	if !p.seen && !p.unseen && now.Sub(p.quiet) >= quietTime {
		p.seen = true
	}
	return p.seen
}

// call is what is decided about.
func (p *panel) call() plan.WaitingCall {
	if p.at < len(p.ask.waiting) {
		return p.ask.waiting[p.at]
	}
	return plan.WaitingCall{}
}

func (p *panel) isPlan() bool { return p.call().IsPlan() && p.ask.doc != nil }

// fewest rows of what is decided about are seen, or nothing is decided.
const fewest = 3

// rows draws it in at most so many rows.
func (p *panel) rows(t *draw.Theme, width, most int, now time.Time) ([]string, *tea.Cursor) {
	head := t.Odd.Render("■ ") + t.Bold.Render(draw.Cut(p.question(), width-2))
	if n := len(p.ask.waiting); n > 1 {
		head = draw.Row(head, t.Dim.Render(fmt.Sprintf("%d of %d", p.at+1, n)), width)
	}
	body, foot := p.body(t, width-2), p.foot(t, width)
	text, row, column := p.line.Layout(width - 4)
	room := most - 1 - len(foot) - len(text)
	if len(body) > room {
		room-- // for the row that says so
	}
	if room < fewest && len(foot) > 1 {
		room += len(foot) - 1
		foot = []string{draw.Cut(foot[0], width-1) + "…"}
	}
	if p.unseen = room < min(fewest, len(body)); p.unseen {
		p.seen, p.quiet = false, now
		foot = t.Wrapped("There is no room to show it. Make the terminal larger to decide.", width, story.Output)
		return append([]string{head}, foot...), nil
	}
	if p.remark != "" {
		foot = append([]string{t.Odd.Render(draw.Cut("  "+p.remark, width))}, foot...)
		room--
	}
	rows := []string{head}
	p.offset = max(0, min(p.offset, len(body)-room))
	shown := body[p.offset:min(len(body), p.offset+room)]
	for _, row := range shown {
		rows = append(rows, "  "+row)
	}
	if len(shown) < len(body) {
		rows = append(rows, t.Dim.Render(fmt.Sprintf("  lines %d to %d of %d: pgup and pgdn show the others",
			p.offset+1, p.offset+len(shown), len(body))))
	}
	if !p.armed(now) { // which words decide stands there once they do
		return append(append(rows, t.Dim.Render("  …")), make([]string, len(foot))...), nil
	}
	rows = append(rows, foot...)
	for i, line := range text {
		lead := "  "
		if i == 0 {
			lead = t.Accent.Render("› ")
		}
		rows = append(rows, lead+line)
	}
	return rows, tea.NewCursor(2+column, len(rows)-len(text)+row)
}

// question is what is asked, in a line.
func (p *panel) question() string {
	c := p.call()
	switch {
	case p.ask.trust != nil:
		return "May this run go on here with what it brings?"
	case p.ask.drift != nil:
		return "The work tree changed while the run stood still: " + amount.Count(int64(p.ask.drift.Total), "file")
	case p.isPlan():
		return fmt.Sprintf("Is version %d of the plan to be carried out?", p.ask.doc.Version)
	case c.Question != "":
		return "The run asks"
	}
	return clean("May it call " + c.Name + "?")
}

// body is all of what is decided about.
func (p *panel) body(t *draw.Theme, width int) []string {
	c := p.call()
	switch {
	case p.ask.trust != nil:
		it := p.ask.trust
		return t.Wrapped(sanitize.Text(it.Kind+" "+it.Path+"\n"+it.Detail), width, story.Output)
	case p.ask.drift != nil:
		return t.Wrapped(sanitize.Text(strings.Join(p.ask.drift.Files, "\n")), width, story.Output)
	case p.isPlan():
		return p.planRows(t, width)
	case c.Question != "":
		rows := t.Markdown(sanitize.Text(c.Question), width)
		for i, o := range c.Options {
			rows = append(rows, t.Accent.Render(fmt.Sprintf("%3d ", i+1))+draw.Cut(clean(o), width-4))
		}
		return rows
	}
	rows := t.Wrapped(sanitize.Text(c.Shown()), width, story.Diff)
	if c.Why != "" {
		rows = append(rows, t.Dim.Render("because: ")+draw.Cut(clean(c.Why), width-9))
	}
	return rows
}

// planRows is the plan as it is, with the numbers of its lines, and what the person
// said to them.
func (p *panel) planRows(t *draw.Theme, width int) []string {
	var rows []string
	n := 0
	for line := range strings.SplitSeq(sanitize.Text(p.ask.doc.Text), "\n") {
		n++
		lead := t.Dim.Render(fmt.Sprintf("%4d ", n))
		if n == p.picked {
			lead = t.Accent.Render(fmt.Sprintf("%4d▐", n))
		}
		for i, row := range t.Wrapped(line+"\n", width-5, story.Output) {
			if i > 0 {
				lead = "     "
			}
			rows = append(rows, lead+row)
		}
		for _, c := range p.notes {
			if c.line == n {
				rows = append(rows, "     "+t.Odd.Render(draw.Cut("↳ "+c.text, width-5)))
			}
		}
	}
	return rows
}

// foot says which words decide.
func (p *panel) foot(t *draw.Theme, width int) []string {
	var rows []string
	for _, row := range t.Wrapped(p.keys(), width-2, story.Output) {
		rows = append(rows, t.Dim.Render("  "+row))
	}
	return rows
}

// keys are the words that decide here.
func (p *panel) keys() string {
	c := p.call()
	switch {
	case p.ask.trust != nil:
		return "y to trust it (empty: leave it for later)"
	case p.ask.drift != nil:
		again := ""
		if p.ask.replan {
			again = ", replan to make another plan"
		}
		return "y to go on with the tree as it is" + again + " (empty: leave it for later)"
	case p.isPlan():
		return "y to carry it out, n REASON to send it back, c LINE TEXT to comment (n sends the comments), e to " +
			"edit it, reject to end the run (empty: leave it for later)"
	case c.Question != "":
		return "Your answer, or the number of an option (empty: leave it for later)"
	}
	longer := ""
	if c.Grant != (plan.Grant{}) {
		longer = fmt.Sprintf(", r for this run, always (both: %s)", clean(host.GrantText(c.Grant)))
	}
	return "y once" + longer + ", n with a reason (empty: leave it for later)"
}

// key takes a key; keys that come too early are thrown away. It reports whether the
// line is at its end.
func (p *panel) key(msg tea.KeyPressMsg, height int, now time.Time) (line string, entered bool) {
	if !p.armed(now) {
		p.quiet = now
		return "", false
	}
	switch name := msg.String(); name {
	case "pgup":
		p.offset -= height / 2
	case "pgdown":
		p.offset += height / 2
	case "up":
		p.pick(-1)
	case "down":
		p.pick(1)
	case "enter":
		line = strings.TrimSpace(p.line.Text())
		p.line.Clear()
		return line, true
	default:
		edit(&p.line, msg)
	}
	return "", false
}

// pick moves between the lines of a plan, and through what is shown of others.
func (p *panel) pick(by int) {
	if !p.isPlan() {
		p.offset += by
		return
	}
	lines := strings.Count(p.ask.doc.Text, "\n") + 1
	p.picked = max(1, min(lines, p.picked+by))
	if p.picked <= p.offset+1 || p.picked > p.offset+6 {
		p.offset = max(0, p.picked-3)
	}
}

// decide takes a line: a letter where it is a clear word, and later where nothing was
// said. Neither means that the question stands.
func (p *panel) decide(line string) (l *host.Letter, later bool) {
	p.remark = ""
	c := p.call()
	word, text, _ := strings.Cut(line, " ")
	text, word = strings.TrimSpace(text), strings.ToLower(word)
	l = &host.Letter{
		Kind:   host.Approve,
		Text:   text,
		Call:   c.Call,
		Digest: c.Digest,
	}
	switch {
	case line == "":
		return nil, true
	case p.isPlan():
		return p.decidePlan(l, word, text), false
	case c.Question != "":
		l.Kind, l.Text = host.Answer, line
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(c.Options) {
			l.Text = c.Options[n-1]
		}
		return l, false
	case word == "n" || word == "no":
		l.Kind = host.Deny
		return l, false
	case word == "y" || word == "yes":
		return l, false
	case c.Grant != (plan.Grant{}) && word == "r":
		l.Scope = plan.ScopeRun
		return l, false
	case c.Grant != (plan.Grant{}) && word == "always":
		l.Scope = plan.ScopeAlways
		return l, false
	}
	p.remark = fmt.Sprintf("%q is no answer here.", clean(word))
	return nil, false
}

// decidePlan takes a word about the plan.
func (p *panel) decidePlan(l *host.Letter, word, text string) *host.Letter {
	switch word {
	case "y", "yes":
		l.Text = p.reason(text) // comments are not lost with a yes
		return l
	case "reject":
		l.Kind, l.Reject = host.Deny, true
		return l
	case "n", "no":
		l.Kind, l.Text = host.Deny, p.reason(text)
		if l.Text != "" {
			return l
		}
		p.remark = "Say what should change: n REASON, or comment on lines first: c LINE TEXT."
	case "c":
		p.comment(text)
	default:
		p.remark = fmt.Sprintf("%q is no answer here.", clean(word))
	}
	return nil
}

// comment keeps what is said to a line: the one that is named, or the one that is
// picked.
func (p *panel) comment(text string) {
	number, rest, _ := strings.Cut(text, " ")
	lines := strings.Count(p.ask.doc.Text, "\n") + 1
	n, err := strconv.Atoi(number)
	if err != nil {
		n, rest = p.picked, text
	}
	if n < 1 || n > lines || strings.TrimSpace(rest) == "" {
		p.remark = fmt.Sprintf(
			"Write c, a line from 1 to %d (or choose one with the arrows), and what is to be said to it.",
			lines,
		)
		return
	}
	p.notes = append(p.notes, comment{line: n, text: clean(rest)})
}

// reason is what should change about the plan: the comments by line, and a text.
func (p *panel) reason(text string) string {
	lines := strings.Split(p.ask.doc.Text, "\n")
	var b strings.Builder
	for _, c := range p.notes {
		fmt.Fprintf(&b, "Line %d (%q): %s\n", c.line, strings.TrimSpace(lines[c.line-1]), c.text)
	}
	return strings.TrimSpace(b.String() + text)
}

// driftAnswer reads a line about a changed tree.
func (p *panel) driftAnswer(line string) (got answer, ok bool) {
	p.remark = ""
	word, reason, _ := strings.Cut(line, " ")
	switch word = strings.ToLower(word); {
	case line == "":
		return answer{later: true}, true
	case word == "y" || word == "yes":
		return answer{drift: engine.DriftGoesOn}, true
	case word == "replan" && p.ask.replan:
		return answer{
			drift:  engine.DriftReplans,
			reason: cmp.Or(strings.TrimSpace(reason), host.DefaultReplanReason),
		}, true
	}
	p.remark = fmt.Sprintf("%q is no answer here.", clean(word))
	return answer{}, false
}
