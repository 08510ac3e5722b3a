package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/face/tui/composer"
	"github.com/plan-engine/plan/host"
)

// writing is where one writes, with what can be completed.
type writing struct {
	composer.Composer
	files  []string // of the repository
	offers []string // what the word at the cursor may become
	picked int
	closed string // the word for which no offer is wanted
}

// key takes a key.
func (m *model) key(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	switch name {
	case "ctrl+c":
		return m.interrupt()
	case "ctrl+z":
		return m.suspend()
	}
	switch {
	case m.reader != nil:
		if m.reader.key(name, m.height) {
			m.reader = nil
		}
		return nil
	case m.screen == atWatch:
		return m.watchKey(name)
	case m.screen == atBatch:
		return m.batchKey(name)
	case m.screen == atRun && m.view.panel != nil && m.focus == onText:
		switch {
		case m.inline != nil:
		case name == "esc":
			m.focus = onStory
			return nil
		case name == "ctrl+d" && m.view.panel.line.Empty():
			return m.leave()
		}
		return m.panelKey(m.view, msg)
	case m.screen == atRun && m.focus == onStory && name == "/": // a command is written
		m.focus, m.view.scroll.picked = onText, -1
		return m.key(msg)
	case m.screen == atRun && m.focus == onStory:
		return m.storyKey(name)
	}
	return m.textKey(msg, name)
}

// textKey takes a key where one writes.
func (m *model) textKey(msg tea.KeyPressMsg, name string) tea.Cmd {
	if m.runWish.question != "" {
		return m.answerOrRun(name)
	}
	m.say("")
	if m.offerKey(name) {
		return nil
	}
	w, empty := &m.write, m.write.Empty()
	switch {
	case m.inline != nil && name != "enter" && name != "tab" && (name != "?" || !empty):
	case name == "?" && empty:
		return m.help(nil, "")
	case name == "enter" && w.Continues():
		return nil
	case name == "enter" && !empty:
		return m.enter(false)
	case name == "tab" && m.screen == atRun:
		return m.enter(true)
	default:
		if handled, cmd := m.screenKey(name, empty); handled {
			return cmd
		}
	}
	edit(&w.Composer, msg)
	if m.offer(); name == "up" || name == "down" { // these are for what was written before
		w.offers = nil
	}
	return nil
}

// screenKey takes a key that is for what stands above the text, and reports whether it
// was; empty says that nothing is written.
func (m *model) screenKey(name string, empty bool) (bool, tea.Cmd) {
	switch {
	case m.screen == atRun && m.scrollKey(name):
		return true, nil
	case m.screen == atRun && (empty || name == "esc"):
		return m.runKey(name)
	case m.screen != atHome || !empty && m.home.picked < 0, name == "up" && m.home.picked < 0:
		return false, nil // up is for what was written before
	case slices.Contains([]string{"up", "down", "enter", "ctrl+d"}, name):
		return true, m.homeKey(name)
	}
	return false, nil
}

// runKey takes a key in the view of a run while nothing is written, and reports whether
// it had a use for it.
func (m *model) runKey(name string) (bool, tea.Cmd) {
	switch name {
	case "esc":
		m.focus = onStory
		return true, nil
	case "ctrl+d":
		return true, m.leave()
	case "enter":
		return true, m.goOn()
	}
	return false, nil
}

// goOn shows again what a run waits with, or goes on with one that is parked.
func (m *model) goOn() tea.Cmd {
	v := m.view
	p := v.story.Parked
	switch {
	case p == nil || v.story.Final() || v.isDriven():
		return nil
	case len(p.Waiting) > 0:
		v.passed = ""
		m.askOfJournal(v)
		return nil
	}
	m.say("Going on.")
	return m.resume(v)
}

// leave goes back to where the run was opened. A run that goes on does so.
func (m *model) leave() tea.Cmd {
	m.screen, m.focus = m.back, onText
	switch m.back {
	case atWatch:
		return m.loadBoard()
	case atBatch:
		return m.loadBatch()
	default:
		return m.loadHome()
	}
}

// scrollKey moves the story while one writes.
func (m *model) scrollKey(name string) bool {
	s, now := m.view.scroll, m.Now()
	switch name {
	case "pgup":
		s.move(-max(1, s.height-2), now)
	case "pgdown":
		s.move(max(1, s.height-2), now)
	case "ctrl+home":
		s.toStart()
	case "ctrl+end":
		s.follow = true
	case "ctrl+o":
		s.all = !s.all
	default:
		return false
	}
	return true
}

// storyKey takes a key where keys move and fold.
func (m *model) storyKey(name string) tea.Cmd {
	s, now := m.view.scroll, m.Now()
	m.say("")
	switch name {
	case "esc", "i":
		m.focus, s.picked = onText, -1
	case "up", "k":
		s.pick(-1, now)
	case "down", "j":
		s.pick(1, now)
	case "enter", "space", " ":
		s.toggle(now)
	case "o":
		return m.openBlock()
	case "g", "home":
		s.toStart()
		s.picked = -1
	case "G", "end":
		s.follow, s.picked = true, -1
	case "d":
		return m.command("/diff")
	case "p":
		return m.command("/plan")
	case "c":
		return m.command("/checks")
	case "$":
		return m.command("/cost")
	case "?":
		return m.help(nil, "")
	case "q":
		return m.leave()
	default:
		if name == "O" {
			name = "ctrl+o"
		}
		m.scrollKey(name)
	}
	return nil
}

// wheel scrolls.
func (m *model) wheel(msg tea.MouseWheelMsg) {
	by := 3
	if msg.Button == tea.MouseWheelUp {
		by = -3
	}
	switch {
	case m.reader != nil:
		m.reader.top += by
	case m.screen == atRun && m.view.panel != nil && m.focus == onText:
		m.view.panel.offset += by
	case m.screen == atRun:
		m.view.scroll.move(by, m.Now())
	}
}

// pasted takes a text that was pasted.
func (m *model) pasted(text string) tea.Cmd {
	switch {
	case m.reader != nil || m.screen == atWatch || m.screen == atBatch ||
		m.screen == atRun && m.focus == onStory:
	case m.screen == atRun && m.view.panel != nil:
		if m.view.panel.armed(m.Now()) {
			m.view.panel.line.Paste(text)
		}
	default:
		m.write.Paste(text)
	}
	return nil
}

// enter sends what is written: to the run, after it, or as a new request.
func (m *model) enter(after bool) tea.Cmd {
	text := strings.TrimSpace(m.write.Text())
	if strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "/ ") {
		m.write.Take()
		return m.command(text)
	}
	if text == "" {
		return nil
	}
	if m.screen != atRun {
		m.write.Take()
		if host.IsQuestion(text) {
			m.runWish.question = text
			m.say("This reads as a question. Enter answers it and changes nothing; tab runs it as it is typed; " +
				"esc takes it back.")
			return nil
		}
		return m.begin(text, false)
	}
	m.write.Take()
	return m.tell(m.view, text, after)
}

// answerOrRun takes the word about a request that reads as a question.
func (m *model) answerOrRun(name string) tea.Cmd {
	text := m.runWish.question
	switch name {
	case "enter", "tab":
		m.runWish.question = ""
		return m.begin(text, name == "enter")
	case "esc":
		m.runWish.question = ""
		m.write.Set(text)
		m.say("")
	}
	return nil
}

// begin starts a run.
func (m *model) begin(text string, question bool) tea.Cmd {
	req := host.Request{
		Dir:     m.Dir,
		Text:    text,
		Options: m.Options,
	}
	if m.runWish.model != "" {
		req.Settings.Model = m.runWish.model
	}
	if m.runWish.way != "" {
		req.Settings.Way = m.runWish.way
	}
	if m.runWish.approvePlan != nil {
		req.Settings.ApprovePlan = m.runWish.approvePlan
	}
	if question {
		req.AsQuestion()
	}
	return m.start(req)
}

// edit has a composer do what a key is for.
func edit(c *composer.Composer, msg tea.KeyPressMsg) {
	switch msg.String() {
	case "alt+enter", "shift+enter", "ctrl+j":
		c.Insert("\n")
	case "backspace", "ctrl+h":
		c.Backspace()
	case "delete", "ctrl+d":
		c.Delete()
	case "ctrl+w", "alt+backspace":
		c.DeleteWord()
	case "alt+d":
		c.DeleteWordRight()
	case "ctrl+u":
		c.DeleteToStart()
	case "ctrl+k":
		c.DeleteToEnd()
	case "left", "ctrl+b":
		c.Left()
	case "right", "ctrl+f":
		c.Right()
	case "alt+left", "ctrl+left", "alt+b":
		c.WordLeft()
	case "alt+right", "ctrl+right", "alt+f":
		c.WordRight()
	case "home", "ctrl+a":
		c.Home()
	case "end", "ctrl+e":
		c.End()
	case "up", "ctrl+p":
		c.Up()
	case "down", "ctrl+n":
		c.Down()
	default:
		c.Insert(msg.Text)
	}
}

// short is the end of an id, which tells it apart.
func short(id plan.RunID) string { return clean(id.Short()) }
