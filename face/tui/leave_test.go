package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/host"
)

// driven is a session that drives a run, with a clock that goes as it is told.
func driven(t *testing.T) (m *model, now *time.Time, stops, kills *int) {
	t.Helper()
	m = sat(t, 80, 24, journal(t)[:20]...)
	at := m.Now()
	now, stops, kills = &at, new(int), new(int)
	m.Now = func() time.Time { return *now }
	m.Kill = func() { *kills++ }
	m.view.stop = func(err error) {
		if errors.Is(err, engine.ErrInterrupted) {
			*stops++
		}
	}
	return m, now, stops, kills
}

// quits reports whether a command ends the program.
func quits(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	_, ok := cmd().(tea.QuitMsg)
	return ok
}

// TestInterrupt: one Ctrl-C parks the run, a second one ends the process where it comes
// half a second later or more, and a run that went on after it was parked is parked anew.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	m, now, stops, kills := driven(t)
	stop := m.view.stop
	m.interrupt()
	*now = now.Add(killTime / 2)
	if m.interrupt(); *stops != 1 || *kills != 0 {
		t.Fatalf("two at once: %d stops, %d kills", *stops, *kills)
	}
	*now = now.Add(killTime)
	if m.interrupt(); *stops != 1 || *kills != 1 {
		t.Fatalf("one later: %d stops, %d kills", *stops, *kills)
	}
	m.Update(endedMsg{view: m.view, end: host.End{}})
	m.view.stop = stop
	*now = now.Add(time.Minute)
	if m.interrupt(); *stops != 2 || *kills != 1 {
		t.Errorf("after it went on: %d stops, %d kills", *stops, *kills)
	}
}

// TestLeaving: a single Ctrl-C beside a run leaves nothing, and a second one does; on the
// first screen one is enough.
func TestLeaving(t *testing.T) {
	t.Parallel()
	m, now, stops, _ := driven(t)
	m.view.stop = nil
	if quits(m.interrupt()) || !strings.Contains(m.status, "once more leaves") {
		t.Fatalf("the first one leaves, or is said nothing about: %q", m.status)
	}
	*now = now.Add(2 * leaveTime)
	if quits(m.interrupt()) {
		t.Fatal("one that comes late leaves")
	}
	*now = now.Add(leaveTime / 2)
	if !quits(m.interrupt()) || *stops != 0 {
		t.Error("the second one does not leave")
	}

	m, _, stops, _ = driven(t)
	m.screen = atHome
	if m.interrupt(); m.quits || !strings.Contains(m.status, "parks") {
		t.Fatalf("it leaves, though a run goes on: %q", m.status)
	}
	if m.interrupt(); !m.quits || *stops != 1 {
		t.Error("the second one does not park what goes on")
	}
	m.view.stop = nil
	if !quits(m.quit()) {
		t.Error("it does not leave when that has parked")
	}
	if m = sat(t, 80, 24); !quits(m.interrupt()) {
		t.Error("one is not enough on the first screen")
	}
}

// TestFarewell: what was driven here stays in the scrollback, in a line.
func TestFarewell(t *testing.T) {
	t.Parallel()
	all := journal(t)
	for _, c := range []struct {
		upTo int
		want []string
	}{
		{len(all), []string{"approved · 2 files, +33 -1", "plan show "}},
		{20, []string{"explore", "plan resume "}},
	} {
		m := sat(t, 80, 24, all[:c.upTo]...)
		if rows := m.farewell(); len(rows) > 0 {
			t.Errorf("%q of a run that was looked at", rows)
		}
		m.view.drove = true
		rows := m.farewell()
		for _, want := range c.want {
			if len(rows) != 1 || !strings.Contains(rows[0], want) {
				t.Errorf("%q, want %q", rows, want)
			}
		}
	}
}

// TestSaidEarly: what is said to a run before it has begun waits until it has, and is
// written again with the request where it never does.
func TestSaidEarly(t *testing.T) {
	t.Parallel()
	begins := func() *model {
		m := sat(t, 80, 24)
		v := m.newView("01RUN")
		v.typed, v.stop = "Mend it", func(error) {}
		m.views[v.id] = v
		m.look(v)
		types(m, "mind the tests")
		press(m, "enter")
		if len(v.early) != 1 || v.early[0] != (host.Letter{Kind: host.Steer, Text: "mind the tests"}) ||
			len(v.story.Unheard()) != 1 {
			t.Fatalf("it does not wait: %+v", v.early)
		}
		return m
	}
	m := begins()
	for _, ev := range journal(t)[:3] {
		ev.Run = "01RUN"
		m.view.feed.event(ev)
	}
	if cmd := m.drain(); cmd == nil || len(m.view.early) != 0 || len(m.view.story.Unheard()) != 1 {
		t.Error("it is not said when the run has begun")
	}
	m = begins()
	m.Update(endedMsg{view: m.view, err: errors.New("no model")})
	if got := m.write.Text(); m.screen != atHome || got != "Mend it\nmind the tests" {
		t.Errorf("one has to write again: %q", got)
	}
}

// TestUnsent: what could not be said is written again, and waits for nothing.
func TestUnsent(t *testing.T) {
	t.Parallel()
	m, _, _, _ := driven(t)
	m.view.story.Sent("see @large", false)
	m.Update(unsentMsg{view: m.view, text: "see @large", err: errors.New("too large")})
	if len(m.view.story.Unheard()) != 0 || m.write.Text() != "see @large" || !m.isBad {
		t.Errorf("%q, %+v", m.write.Text(), m.view.story.Letters)
	}
}

// TestSaidElsewhere: what was said to a run from elsewhere waits once, and is not heard
// where the run is final.
func TestSaidElsewhere(t *testing.T) {
	t.Parallel()
	all := journal(t)
	letter := host.Letter{Kind: host.Steer, Text: "mind the tests"}
	m := sat(t, 80, 24, all[:20]...)
	m.view.story.Sent("mind the tests", false)
	m.view.feed.put(unread{letter, {Kind: host.FollowUp, Text: "then the docs"}})
	m.drain()
	if got := m.view.story.Unheard(); len(got) != 2 || got[1].Text != "then the docs" || !got[1].After {
		t.Errorf("%+v wait", got)
	}
	m = sat(t, 80, 24, all...)
	m.view.feed.put(unread{letter})
	m.drain()
	if got := m.view.story.Letters; len(got) != 1 || !got[0].Lost {
		t.Errorf("%+v of a final run", got)
	}
}
