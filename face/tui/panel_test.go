package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/engine"
	"github.com/plan-engine/plan/face/tui/story"
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
	if len(a.reply) > 0 || m.view.panel.remark == "" {
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

// TestCommandsWhereSomethingWaits: a command is no answer, and decides nothing.
func TestCommandsWhereSomethingWaits(t *testing.T) {
	t.Parallel()
	m := sat(t, 80, 24, journal(t)[:20]...)
	a := &ask{
		waiting: []plan.WaitingCall{{Call: "c1", Question: "Which?"}},
		reply:   make(chan answer, 1),
	}
	m.view.panel = newPanel(a, m.view, m.Now().Add(-time.Minute))
	_ = m.View() // it is seen
	press(m, "/", "c", "a", "n", "c", "e", "l", "enter")
	if !strings.Contains(m.status, "/cancel yes") || len(a.reply) > 0 || m.view.panel == nil {
		t.Errorf("it says %q, %d answers", m.status, len(a.reply))
	}
}

// TestSetApprove: the word behind the command holds, whatever held before.
func TestSetApprove(t *testing.T) {
	t.Parallel()
	m := sat(t, 80, 24)
	for _, c := range []struct {
		line string
		want bool
	}{{"on", true}, {"on", true}, {"off", false}, {"off", false}, {"", true}, {"perhaps", true}} {
		m.command("/approve-plan " + c.line)
		if got := *m.runWish.approvePlan; got != c.want {
			t.Errorf("after %q: %v", c.line, got)
		}
	}
}

// TestCostByPhase: the cost of a run stands there by phase as well.
func TestCostByPhase(t *testing.T) {
	t.Parallel()
	m := sat(t, 80, 24, journal(t)...)
	page, ok := m.command("/cost")().(readMsg)
	if !ok || !strings.Contains(page.text, "## explore") || !strings.Contains(page.text, "## review 2") {
		t.Errorf("it shows %s", page.text)
	}
}

// TestOffersFollowThePick: the completion that is picked is seen, also below the first.
func TestOffersFollowThePick(t *testing.T) {
	t.Parallel()
	m := sat(t, 80, 24)
	press(m, "/")
	for range commandNames() {
		if picked := "/" + m.write.offers[m.write.picked]; !strings.Contains(pictureOf(m), "▸ "+picked) {
			t.Errorf("%s is not seen", picked)
		}
		press(m, "down")
	}
}

// TestUndoOf: /undo changes the person's tree, not one that the run had for itself.
func TestUndoOf(t *testing.T) {
	t.Parallel()
	if _, how := undoOf(&story.Story{Tree: "/worktrees/01", Repo: "/src/a"}); !how.Undo || how.To != "" {
		t.Errorf("with a tree of its own: %+v", how)
	}
	if _, how := undoOf(&story.Story{Repo: "/src/a"}); how.Undo || how.To != engine.LabelStart {
		t.Errorf("in place: %+v", how)
	}
}

// TestSlashLeavesTheStory: who browses and types a command is at the line for it.
func TestSlashLeavesTheStory(t *testing.T) {
	t.Parallel()
	m := sat(t, 80, 24, journal(t)...)
	press(m, "esc", "up", "/", "c", "o", "s", "t")
	if got := m.write.Text(); got != "/cost" || m.focus != onText {
		t.Errorf("it is at %v, with %q", m.focus, got)
	}
}
