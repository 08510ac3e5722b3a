package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/tui/story"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/amount"
)

// sure asks for a clear word before something that changes files.
func (m *model) sure(text, what, again string) bool {
	if text == "yes" {
		return true
	}
	m.say(fmt.Sprintf("%s: type %s yes.", what, again))
	return false
}

func (m *model) apply(v *view, text string) tea.Cmd {
	if v.story.Tree == "" {
		m.say("The run worked in your tree: its change is there.")
		return nil
	}
	if !m.sure(text, "This brings the change into "+clean(v.story.Repo), "/apply") {
		return nil
	}
	return m.move(v, func(run *engine.Run) (host.ApplyResult, error) { return m.Host.Apply(m.ctx, run, host.Apply{}) })
}

func (m *model) undo(v *view, text string) tea.Cmd {
	what, how := undoOf(v.story)
	if !m.sure(text, what, "/undo") {
		return nil
	}
	return m.move(v, func(run *engine.Run) (host.ApplyResult, error) { return m.Host.Restore(m.ctx, run, how) })
}

// undoOf is how what a run changed in the person's tree is taken back: in place all of
// it, else what was applied last.
func undoOf(s *story.Story) (what string, how host.Restore) {
	if s.Tree != "" {
		return "This takes back what was applied to " + clean(s.Repo), host.Restore{Undo: true}
	}
	return "This takes back all that the run changed", host.Restore{To: engine.LabelStart}
}

func (m *model) move(v *view, do func(*engine.Run) (host.ApplyResult, error)) tea.Cmd {
	if v.isLive() {
		m.say("The run goes on: park it first, with ctrl+c.")
		return nil
	}
	return func() tea.Msg {
		run, err := m.Host.Load(m.ctx, v.id)
		if err != nil {
			return doneMsg{err: err}
		}
		moved, err := do(run)
		files := amount.Count(int64(len(moved.Files)), "file")
		text := fmt.Sprintf("%s: %s in %s.", moved.Result, files, clean(moved.Repo))
		if len(moved.Files) == 0 {
			text = "There was nothing to do in " + clean(moved.Repo) + "."
		}
		return doneMsg{err: err, text: text}
	}
}

// fork makes a run that begins as this one does, and goes on with it.
func (m *model) fork(v *view, text string) tea.Cmd {
	if text == "" {
		m.say("Say what the fork is to do: /fork TEXT.")
		return nil
	}
	if v.isLive() {
		m.say("The run goes on: what you type is guidance for it.")
		return nil
	}
	at := v.story.Head
	return func() tea.Msg {
		forked, err := m.Host.Fork(m.ctx, v.id, at, text)
		return doneMsg{
			err:  err,
			text: "Forked.",
			then: func() tea.Cmd {
				other := m.newView(forked.ID)
				m.look(other)
				return m.resume(other)
			},
		}
	}
}

func (m *model) cancel(v *view, text string) tea.Cmd {
	if v.story.Final() {
		m.say("The run is final.")
		return nil
	}
	if !m.sure(text, "This ends the run for good", "/cancel") {
		return nil
	}
	job := v.job
	return func() tea.Msg {
		if job != nil {
			_, _, err := m.Queue.Cancel(m.ctx, job.batch, []string{job.id})
			return doneMsg{err: err, text: "Cancelled. Its worker stops within seconds."}
		}
		_, err := m.Host.Cancel(m.ctx, v.id)
		return doneMsg{err: err, text: "Cancelled."}
	}
}

func (m *model) resumeNow(v *view, _ string) tea.Cmd {
	if v.story.Final() {
		m.say("The run is final.")
		return nil
	}
	return m.goOn()
}
