package tui

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/memory"
)

var update = flag.Bool("update", false, "write the golden files anew")

// journal is that of a run of the demo, which has a fix cycle.
func journal(t testing.TB) []plan.Event {
	t.Helper()
	file, err := os.Open("testdata/journal.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out []plan.Event
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var ev plan.Event
		if err := ev.Read(lines.Text()); err != nil {
			t.Fatal(err)
		}
		out = append(out, ev)
	}
	if len(out) < 200 {
		t.Fatalf("the journal has %d events: %v", len(out), lines.Err())
	}
	return out
}

// upTo is the part of a journal before the nth event of a type.
func upTo(events []plan.Event, typ plan.EventType, n int) []plan.Event {
	for i, ev := range events {
		if ev.Type() == typ {
			if n--; n == 0 {
				return events[:i]
			}
		}
	}
	return events
}

// sat is a session without a host, on a terminal of a size, a moment after the last of
// the events.
func sat(t testing.TB, width, height int, events ...plan.Event) *model {
	t.Helper()
	now := time.Date(2026, 11, 23, 15, 51, 0, 0, time.UTC)
	if n := len(events); n > 0 {
		now = events[n-1].Time.Add(1500 * time.Millisecond)
	}
	m := newModel(context.Background(), Config{Dir: "/home/ada/src/split", Now: func() time.Time { return now }})
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	if len(events) > 0 {
		v := m.newView(events[0].Run)
		m.views[v.id] = v
		m.look(v)
		for _, ev := range events {
			v.feed.event(ev)
		}
		m.drain()
	}
	return m
}

// pictureOf is what stands on the terminal, without colours, and where the cursor is.
func pictureOf(m *model) string {
	v := m.View()
	text := ansi.Strip(v.Content)
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if v.Cursor != nil {
		fmt.Fprintf(&b, "[cursor %d,%d]\n", v.Cursor.X, v.Cursor.Y)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// press types keys, each by its name or as text.
func press(m *model, keys ...string) {
	for _, name := range keys {
		m.Update(keyOf(name))
	}
}

func keyOf(name string) tea.KeyPressMsg {
	codes := map[string]rune{
		"enter": tea.KeyEnter,
		"tab":   tea.KeyTab,
		"esc":   tea.KeyEscape,
		"up":    tea.KeyUp,
		"down":  tea.KeyDown,
		"pgup":  tea.KeyPgUp,
		"space": tea.KeySpace,
	}
	if code, ok := codes[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(rest[0]), Mod: tea.ModCtrl}
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// types types a text.
func types(m *model, text string) {
	for _, r := range text {
		press(m, string(r))
	}
}

func waits(why plan.ParkReason, calls ...plan.WaitingCall) plan.Parked {
	return plan.Parked{Reason: why, Waiting: calls}
}

// TestScreens: what a person sees of a session, at the sizes that terminals have.
func TestScreens(t *testing.T) {
	t.Parallel()
	all := journal(t)
	parked := func(p plan.Parked) []plan.Event {
		events := append([]plan.Event(nil), upTo(all, plan.TypeCheckStart, 1)...)
		last := events[len(events)-1]
		return append(events, plan.Event{Run: last.Run, Seq: last.Seq + 1, Time: last.Time, Body: p})
	}
	call := plan.WaitingCall{
		Call: "c1", Name: "bash", Args: []byte(`{"command":"rm -rf build && git push"}`),
		Effect: "rm -rf build && git push\nin /home/ada/src/split", Why: "the rule bash \"rm *\" asks",
		Grant: plan.Grant{Tool: "bash", Command: "rm -rf build*"},
	}
	for name, c := range map[string]struct {
		events []plan.Event
		then   func(m *model)
	}{
		"working":  {upTo(all, plan.TypeToolEnd, 12), nil},
		"fixing":   {upTo(all, plan.TypeToolEnd, 26), nil},
		"approved": {all, nil},
		"browsing": {all, func(m *model) { press(m, "esc", "up", "up", "up", "up", "up", "enter") }},
		"keys":     {all, func(m *model) { press(m, "?") }},
		"asked":    {parked(waits(plan.ParkApproval, call)), func(m *model) { m.arm(); types(m, "n not") }},
		"question": {parked(waits(plan.ParkQuestion, plan.WaitingCall{
			Call: "q1", Question: "Which of the **two** is meant?", Options: []string{"the first part", "the last part"},
		})), func(m *model) { m.arm() }},
		"plan": {
			parked(waits(plan.ParkApproval, plan.WaitingCall{Call: plan.PlanCall(1), Name: plan.PlanTool})),
			func(m *model) { m.arm(); types(m, "c 3 say why"); press(m, "enter", "down", "down") },
		},
		"said": {upTo(all, plan.TypeToolEnd, 12), func(m *model) {
			m.view.story.Sent("use the names of the README", false)
			m.view.story.Sent("then look at money.go", true)
			m.write.files = []string{"README.md", "split.go", "split_test.go", "cmd/split/main.go"}
			types(m, "as in @spl")
		}},
		"home": {nil, func(m *model) {
			now := m.Now()
			run := func(id, title string, s plan.State, why plan.ParkReason, ago time.Duration) memory.RunInfo {
				return memory.RunInfo{
					ID: plan.RunID(id), Title: title, State: s, Parked: why, Repo: "/home/ada/src/shop", Updated: now.Add(-ago),
					CostUSD: 0.1234,
				}
			}
			m.Update(listMsg{
				waiting: []memory.RunInfo{run("01J7Q3K", "Count the parts of a refund", plan.Implementing, plan.ParkApproval, time.Minute)},
				recent: []memory.RunInfo{
					run("01J9C05", "Splitting a bill loses cents", plan.Approved, "", time.Hour),
					run("01J8XYZ", "Name the parts", plan.Exhausted, "", 50*time.Hour),
				},
			})
			press(m, "down", "down")
		}},
		"watch": {nil, func(m *model) { watched(m); press(m, "down") }},
		"batch": {nil, func(m *model) { watched(m); press(m, "down", "enter"); opensBatch(m); press(m, "down", "down") }},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 20}} {
			t.Run(fmt.Sprintf("%s %dx%d", name, size[0], size[1]), func(t *testing.T) {
				t.Parallel()
				m := sat(t, size[0], size[1], c.events...)
				if c.then != nil {
					c.then(m)
				}
				got := pictureOf(m)
				for i, line := range strings.Split(got, "\n") {
					if ansi.StringWidth(line) > size[0] {
						t.Errorf("row %d is wider than the terminal: %q", i, line)
					}
				}
				golden(t, fmt.Sprintf("%s_%dx%d", name, size[0], size[1]), got)
			})
		}
	}
}

// arm lets what is typed count.
func (m *model) arm() { m.view.panel.seen = true }

// TestFailuresAreSaidWhole: what failed, and what to do about it, is not cut off.
func TestFailuresAreSaidWhole(t *testing.T) {
	t.Parallel()
	text := "there is no model to talk to: " + strings.Repeat("set this, or that, or ", 5) + "run plan models last"
	for name, m := range map[string]*model{
		"home": sat(t, 80, 24),
		"run":  sat(t, 80, 24, journal(t)[:20]...),
	} {
		m.fail(errors.New(text))
		picture := pictureOf(m)
		if !strings.Contains(strings.Join(strings.Fields(picture), " "), text) || strings.Count(picture, "\n") > 25 {
			t.Errorf("%s:\n%s", name, picture)
		}
	}
}
