package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/tui/draw"
)

// A second Ctrl-C ends the process once so much time has passed, and one that is to
// leave the session is waited for so long.
const (
	killTime  = 500 * time.Millisecond
	leaveTime = 3 * time.Second
)

// interrupt parks the run that is looked at; a second wish, half a second later or
// more, ends the process at once. Where no run would be parked it leaves the session,
// and says so first unless nothing but the first screen would go.
func (m *model) interrupt() tea.Cmd {
	if m.inline != nil { // who opened the view hears the signal, and counts them
		m.say("Parking the run. Ctrl-C once more ends plan at once.")
		if v := m.view; v != nil && v.stop != nil {
			v.stop(engine.ErrInterrupted)
		}
		return nil
	}
	now, v := m.Now(), m.view
	if m.screen != atRun {
		v = nil
	}
	if asked := m.parkingSince(v); !asked.IsZero() {
		if now.Sub(asked) >= killTime {
			m.Kill()
		}
		return nil
	}
	if v != nil && v.isDriven() && !v.story.Final() {
		m.park(v, now)
		m.say("Parking the run. Ctrl-C once more ends plan at once.")
		return nil
	}
	if !m.write.Empty() {
		m.write.Clear()
		m.offer()
		return nil
	}
	if v == nil && !m.anyDriven() || now.Sub(m.leaving) < leaveTime {
		return m.quit()
	}
	m.leaving = now
	m.say("Ctrl-C once more leaves plan.")
	if m.anyDriven() {
		m.say("Ctrl-C once more parks what goes on here, and leaves plan.")
	}
	return nil
}

// parkingSince is when the run that is looked at was told to park, or while one leaves
// the first of all that are driven here. Zero: none was, or it has.
func (m *model) parkingSince(v *view) time.Time {
	if v != nil && !m.quits {
		return v.parking
	}
	var since time.Time
	for _, each := range m.views {
		if m.quits && each.isDriven() && (since.IsZero() || each.parking.Before(since)) {
			since = each.parking
		}
	}
	return since
}

// park tells a run that is driven here to park, once.
func (m *model) park(v *view, now time.Time) {
	if v.stop == nil {
		return
	}
	if v.parking.IsZero() {
		v.parking = now
	}
	v.stop(engine.ErrInterrupted)
}

// quit leaves the session, once the runs that it drives are parked.
func (m *model) quit() tea.Cmd {
	m.quits = true
	if !m.anyDriven() {
		return tea.Quit
	}
	m.say("Parking the runs that go on. Ctrl-C once more ends plan at once.")
	for _, v := range m.views {
		m.park(v, m.Now())
	}
	return nil
}

func (m *model) anyDriven() bool {
	for _, v := range m.views {
		if v.isDriven() {
			return true
		}
	}
	return false
}

// farewell are the runs that were driven here, a line each: it stays in what the shell
// has written when the session has gone.
func (m *model) farewell() []string {
	var ids []plan.RunID
	for id, v := range m.views {
		if v.drove && v.story.Run != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids) // in the order in which they were begun
	t := m.theme
	var rows []string
	for _, id := range ids {
		v := m.views[id]
		style, _ := t.Mood(moodOf(v))
		next := "plan show " + short(id)
		if !v.story.Final() {
			next = "plan resume " + short(id)
		}
		left := "plan " + t.Dim.Render(short(id)) + " " + style.Render(v.story.Standing()) + "  "
		room := m.width - draw.Width(left) - draw.Width(next) - 2
		rows = append(rows, draw.Row(left+draw.Cut(v.story.Title, room), t.Dim.Render(next), m.width))
	}
	return rows
}

func (m *model) stopAll(why error) {
	for _, v := range m.views {
		if v.stop != nil {
			v.stop(why)
		}
	}
}
