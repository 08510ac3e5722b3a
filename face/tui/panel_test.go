package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
)

// TestTypedAheadAnswersNothing: keys that come before the question has stood still for a
// moment are thrown away, and only a clear word with Enter behind it decides.
func TestTypedAheadAnswersNothing(t *testing.T) {
	t.Parallel()
	m := sat(t, 80, 24, journal(t)[:20]...)
	now := m.Now()
	m.Now = func() time.Time { return now }
	a := &ask{
		waiting: []plan.WaitingCall{{Call: "c1", Name: "bash", Digest: "d1", Args: []byte(`{"command":"rm x"}`)}},
		reply:   make(chan answer, 1),
	}
	m.view.panel = newPanel(a, m.view, now)
	m.view.stop = func(error) {}
	for range 5 {
		press(m, "y", "enter")
		now = now.Add(quietTime / 2)
	}
	if len(a.reply) > 0 || m.view.panel == nil {
		t.Fatal("what was typed ahead decided")
	}
	now = now.Add(quietTime)
	types(m, "yep")
	press(m, "enter")
	if len(a.reply) > 0 || m.view.panel.said == "" {
		t.Fatal("a word that is none decided")
	}
	types(m, "n not that")
	press(m, "enter")
	got := <-a.reply
	want := host.Letter{Kind: host.Deny, Call: "c1", Digest: "d1", Text: "not that"}
	if got.later || len(got.letters) != 1 || got.letters[0] != want {
		t.Errorf("%+v", got)
	}
}

// TestNobodyDecidesUnseen: where there is no room for what is decided about, no word
// decides, and what is drawn never takes more rows than there are.
func TestNobodyDecidesUnseen(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {60, 16}, {60, 15}, {40, 10}, {30, 8}, {30, 6}, {20, 6}, {10, 3}, {300, 2}} {
		m := sat(t, size[0], size[1], journal(t)[:20]...)
		now := m.Now()
		m.Now = func() time.Time { return now }
		a := &ask{
			waiting: []plan.WaitingCall{{Call: "c1", Name: "bash", Args: []byte(`{"command":"first\nsecond\nthird"}`)}},
			reply:   make(chan answer, 1),
		}
		m.view.panel = newPanel(a, m.view, now)
		m.view.stop = func(error) {}
		for range 3 {
			now = now.Add(2 * quietTime)
			if got := strings.Count(m.View().Content, "\n") + 1; got > m.height {
				t.Errorf("%v: %d rows", size, got)
			}
		}
		seen := strings.Contains(pictureOf(m), "second") && !m.narrow
		press(m, "y", "enter")
		if decided := len(a.reply) > 0; decided != seen {
			t.Errorf("%v: decided: %v, seen: %v\n%s", size, decided, seen, pictureOf(m))
		}
	}
}

// TestLeavingAQuestion: Ctrl-D leaves a run that waits, too.
func TestLeavingAQuestion(t *testing.T) {
	t.Parallel()
	m := sat(t, 80, 24, journal(t)[:20]...)
	m.view.panel = newPanel(&ask{waiting: []plan.WaitingCall{{Call: "c1", Question: "Which?"}}}, m.view, m.Now())
	m.view.stop = func(error) {}
	if press(m, "ctrl+d"); m.screen != atHome || m.view.panel == nil {
		t.Error("it stays, or the question has gone")
	}
}
