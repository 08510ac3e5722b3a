package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/tui/story"
	"github.com/plan-engine/plan/internal/spell"
)

// command is one that is typed behind a slash.
type command struct {
	name, help string
	text       bool // something may stand behind it
	run        bool // it is about the run that is looked at
	do         func(m *model, v *view, text string) tea.Cmd
}

// commands are all there are, in the order in which they are offered.
func commands() []command {
	return []command{
		{"diff", "what the run changed", false, true, (*model).showDiff},
		{"plan", "the plan", false, true, (*model).showPlan},
		{"checks", "the checks, with their baseline", false, true, (*model).showChecks},
		{"cost", "tokens and cost", false, true, (*model).showCost},
		{"model", "NAME: the model of the next run", true, false, (*model).setModel},
		{"way", "auto, full, short or direct: the way of the next run", true, false, (*model).setWay},
		{"approve-plan", "on, off: whether the next run asks you about its plan", true, false, (*model).setApprove},
		{"apply", "bring the change of a run with a tree of its own over", true, true, (*model).apply},
		{"undo", "take back what the run changed in your tree", true, true, (*model).undo},
		{"fork", "TEXT: go on from the run's end, in a tree of its own", true, true, (*model).fork},
		{"cancel", "end the run", true, true, (*model).cancel},
		{"resume", "go on with a run that is parked", false, true, (*model).resumeNow},
		{"runs", "all runs that go on or wait", false, false, (*model).showRuns},
		{"home", "the first screen", false, false, (*model).goHome},
		{"skills", "drafts of skills that wait for you", false, false, (*model).showSkills},
		{"help", "the keys, and these commands", false, false, (*model).help},
		{"quit", "park what runs here, and leave", false, false, (*model).leaveAll},
	}
}

// inline reports whether a command makes sense where one run alone is shown.
func (c command) inline() bool {
	return slices.Contains([]string{"diff", "plan", "checks", "cost", "cancel", "help", "quit"}, c.name)
}

func commandNames() []string {
	var out []string
	for _, c := range commands() {
		out = append(out, c.name)
	}
	return out
}

func helpOf(name string) string {
	for _, c := range commands() {
		if c.name == name {
			return c.help
		}
	}
	return ""
}

// isCommand reports whether a line is one of the commands, with what stands behind it.
func isCommand(line string) bool {
	name, _, _ := strings.Cut(line, " ")
	return strings.HasPrefix(name, "/") && slices.Contains(commandNames(), name[1:])
}

// takesText reports whether something may stand behind a command.
func takesText(name string) bool {
	for _, c := range commands() {
		if "/"+c.name == name {
			return c.text
		}
	}
	return false
}

// command does what was typed behind a slash.
func (m *model) command(line string) tea.Cmd {
	name, text, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		v := m.view
		if c.run && (m.screen != atRun || v == nil || v.story.Run == "") {
			m.say("/" + name + " is about a run: open one first.")
			return nil
		}
		if m.inline != nil && !c.inline() {
			m.say("/" + name + " is for the session: type plan.")
			return nil
		}
		if c.run && v.job != nil && !c.isForQueued() {
			m.say("/" + name + " is for runs of this home, and a worker has this one. plan batch has --queue, too.")
			return nil
		}
		return c.do(m, v, strings.TrimSpace(text))
	}
	m.say(fmt.Sprintf("There is no /%s.", name))
	if near := nearest(name); near != "" {
		m.say(fmt.Sprintf("There is no /%s. Did you mean /%s?", name, near))
	}
	return nil
}

func (m *model) showDiff(v *view, _ string) tea.Cmd {
	job := v.job
	return func() tea.Msg {
		if job != nil {
			patch, err := m.Queue.Patch(m.ctx, job.batch, job.id)
			return read("What the run changed", string(patch), story.Diff, err)
		}
		text, err := m.diffOf(m.ctx, v.id)
		return read("What the run changed", text, story.Diff, err)
	}
}

func (m *model) diffOf(ctx context.Context, id plan.RunID) (string, error) {
	run, err := m.Host.Load(ctx, id)
	if err != nil {
		return "", err
	}
	c, err := m.Host.ChangeOf(ctx, run)
	if err != nil {
		return "", err
	}
	return c.Diff(ctx)
}

func (m *model) showPlan(v *view, _ string) tea.Cmd {
	return func() tea.Msg {
		if v.story.Plan == nil {
			return doneMsg{text: "There is no plan yet."}
		}
		return read(fmt.Sprintf("Version %d of the plan", v.story.Plan.Version), v.story.Plan.Text, story.Prose, nil)
	}
}

func (m *model) showChecks(v *view, _ string) tea.Cmd {
	s := v.story
	var b strings.Builder
	checks := s.Checks
	for _, base := range s.Baseline {
		ran := false
		for _, r := range s.Checks {
			ran = ran || r.Command == base.Command
		}
		if !ran {
			checks = append(checks, base)
		}
	}
	for _, r := range checks {
		kind := "advisory"
		if r.Required {
			kind = "required"
		}
		current := story.CheckWord(r)
		if r.Baseline {
			current = "not run since"
		}
		baseline := "not run"
		if base := s.BaselineOf(r.Command); base != nil {
			baseline = story.CheckWord(*base)
		}
		fmt.Fprintf(&b, "## %s\n\n- %s, from %s\n- baseline: %s\n- now: %s\n", clean(r.Command), kind,
			cmp.Or(string(r.Source), "the settings"), baseline, current)
		if !r.Passed() && r.Output != "" {
			fmt.Fprintf(&b, "\n~~~\n%s\n~~~\n", strings.TrimRight(r.Output, "\n"))
		}
		b.WriteString("\n")
	}
	return func() tea.Msg { return read("Checks", b.String(), story.Prose, nil) }
}

func (m *model) setModel(_ *view, text string) tea.Cmd {
	m.runWish.model = text
	m.say("The next run uses " + cmp.Or(text, "the model of the settings") + ".")
	return nil
}

func (m *model) setWay(_ *view, text string) tea.Cmd {
	switch text {
	case "", plan.WayAuto, plan.WayFull, plan.WayShort, plan.WayDirect:
		m.runWish.way = text
		m.say("The next run takes the way " + cmp.Or(text, "of the settings") + ".")
	default:
		m.say("The ways are auto, full, short and direct.")
	}
	return nil
}

func (m *model) setApprove(_ *view, text string) tea.Cmd {
	ask := m.runWish.approvePlan == nil || !*m.runWish.approvePlan
	switch text {
	case "":
	case "on", "off":
		ask = text == "on"
	default:
		m.say("Type /approve-plan on, or /approve-plan off.")
		return nil
	}
	m.runWish.approvePlan = new(ask)
	m.say("The next run does not ask about its plan.")
	if *m.runWish.approvePlan {
		m.say("The next run asks you about its plan.")
	}
	return nil
}

func (m *model) showRuns(*view, string) tea.Cmd { return m.toWatch() }

func (m *model) goHome(*view, string) tea.Cmd {
	m.screen, m.back, m.focus = atHome, atHome, onText
	return m.loadHome()
}

func (m *model) leaveAll(*view, string) tea.Cmd { return m.quit() }

func (m *model) help(*view, string) tea.Cmd {
	return m.show(readMsg{title: "Keys and commands", lay: keyRows})
}

// showSkills lists the drafts that wait.
func (m *model) showSkills(*view, string) tea.Cmd {
	return func() tea.Msg {
		cfg, root, err := m.Host.SettingsAt(m.ctx, m.Dir)
		if err != nil {
			return doneMsg{err: err}
		}
		learn, err := m.Host.Learning(m.ctx, cfg, root)
		if err != nil {
			return doneMsg{err: err}
		}
		waiting, err := learn.Library().Waiting(m.ctx)
		var b strings.Builder
		for _, d := range waiting {
			fmt.Fprintf(&b, "- %s\n", clean(d.Name))
		}
		if b.Len() > 0 {
			b.WriteString("\n`plan skills review` shows each whole, and takes your yes or no.")
		}
		return read("Drafts of skills", b.String(), story.Prose, err)
	}
}

// openBlock shows all of the block that is picked.
func (m *model) openBlock() tea.Cmd {
	b := m.view.scroll.block()
	if b == nil {
		m.say("Choose something with the arrows first.")
		return nil
	}
	title := strings.TrimSpace(b.Label + " " + b.Title)
	text, form, blob := b.Text, b.Form, b.Blob
	if b.Kind == story.Call || b.Kind == story.Check {
		text = b.Args + "\n\n" + text
	}
	v := m.view
	return func() tea.Msg {
		if blob != "" { // it was cut
			data, err := m.blob(m.ctx, v, blob)
			if err != nil {
				return doneMsg{err: errors.Join(errors.New("the whole of it is not kept any more"), err)}
			}
			text = b.Args + "\n\n" + string(data)
		}
		return read(title, text, form, nil)
	}
}

// blob is a text whole that events have cut.
func (m *model) blob(ctx context.Context, v *view, id string) ([]byte, error) {
	if v.job != nil {
		return m.Queue.Blob(ctx, string(v.id), id)
	}
	db, err := m.Host.DB(ctx)
	if err != nil {
		return nil, err
	}
	return db.Blob(ctx, id)
}

// nearest is the command that a name was most likely meant to be, "" for none.
func nearest(name string) string {
	best, least := "", 3
	for _, candidate := range commandNames() {
		if d := spell.Distance(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}
