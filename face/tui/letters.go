package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
)

// tell says something to a run. A final one stays so: what is said to it begins a run
// that continues it. What is said before it has begun waits for that.
func (m *model) tell(v *view, text string, after bool) tea.Cmd {
	l := host.Letter{Kind: host.Steer, Text: text}
	if after {
		l.Kind = host.FollowUp
	}
	v.scroll.follow = true
	if !v.story.Final() {
		v.story.Sent(text, after)
	}
	if v.story.Run == "" && v.isDriven() {
		v.early = append(v.early, l)
		return nil
	}
	return m.send(v, l)
}

// sendEarly says to a run what was said to it before it had begun.
func (m *model) sendEarly(v *view) tea.Cmd {
	if v.story.Run == "" || len(v.early) == 0 {
		return nil
	}
	letters := v.early
	v.early = nil
	var cmds []tea.Cmd
	for _, l := range letters {
		cmds = append(cmds, m.send(v, l))
	}
	return tea.Sequence(cmds...)
}

// send hands a letter to a run, and begins the one that continues it, or goes on with
// it where it stands still.
func (m *model) send(v *view, l host.Letter) tea.Cmd {
	if v.job != nil {
		return m.sendQueued(v, l)
	}
	dir := v.story.Repo
	idle := !v.isDriven() && v.story.Parked != nil && len(v.story.Parked.Waiting) == 0
	return func() tea.Msg {
		var err error
		var told host.Told
		typed := l.Text
		if l.Text, err = m.Host.WithFiles(m.ctx, dir, l.Text); err == nil {
			told, err = m.Host.Tell(m.ctx, v.id, l)
		}
		if err != nil {
			return unsentMsg{view: v, text: typed, after: l.Kind == host.FollowUp, err: err}
		}
		return doneMsg{
			then: func() tea.Cmd {
				switch {
				case told.Continuation != "":
					return m.goOnAs(told.Continuation, v, typed)
				case idle:
					return m.resume(v)
				}
				return nil
			},
		}
	}
}

// unsentMsg is something that could not be said to a run.
type unsentMsg struct {
	view  *view
	text  string
	after bool
	err   error
}

// unsent has the person write it again.
func (m *model) unsent(msg unsentMsg) {
	m.fail(msg.err)
	msg.view.story.Unsent(msg.text, msg.after)
	if m.write.Empty() {
		m.write.Set(msg.text)
	}
}

// goOnAs begins the run that continues a final one, and looks at it.
func (m *model) goOnAs(id plan.RunID, from *view, text string) tea.Cmd {
	v := m.newView(id)
	v.story.Title, v.story.Origin = clean(host.FirstLine(text)), from.id
	m.look(v)
	m.say("Run " + short(from.id) + " stays final; this one continues it.")
	return m.resume(v)
}
