package tui

import (
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
