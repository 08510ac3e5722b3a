package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/plan-engine/plan"
)

// long is a run of so many turns.
func long(turns int) []plan.Event {
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	var out []plan.Event
	add := func(turn int, bodies ...plan.Body) {
		for _, b := range bodies {
			at = at.Add(time.Millisecond)
			out = append(out, plan.Event{
				Run: "01LONG", Seq: int64(len(out) + 1), Time: at, Phase: plan.Implement, Attempt: 1, Conv: "c", Turn: &turn, Body: b,
			})
		}
	}
	add(0, plan.RunStart{Request: "long"}, plan.PhaseStart{Model: "m"})
	for n := range turns {
		call := fmt.Sprintf("call%d", n)
		add(n,
			plan.TurnStart{},
			plan.MessageEnd{Message: plan.Message{Role: plan.RoleAssistant, Blocks: []plan.Block{{
				Type: plan.BlockText, Text: fmt.Sprintf("Turn %d: **look** at `file%d.go`, and say\n\n- one\n- two", n, n),
			}}}},
			plan.ToolStart{Call: call, Name: "bash", Args: []byte(`{"command":"go test ./..."}`)},
			plan.ToolEnd{Call: call, Name: "bash", Output: strings.Repeat("ok\n", 30)},
		)
	}
	return out
}

// TestScrollDrawsWhatIsSeen: in a run of thousands of turns, a picture lays out no more
// blocks than there is room for, wherever one looks, and moving by rows loses none.
func TestScrollDrawsWhatIsSeen(t *testing.T) {
	t.Parallel()
	m := sat(t, 80, 24, long(2000)...)
	s, now := m.view.scroll, m.Now()
	_ = m.View()
	if n := len(s.drawn); n > 40 {
		t.Errorf("%d blocks were laid out for the first picture", n)
	}
	var rows []string
	for _, b := range s.blocks {
		for _, row := range s.rows(b, now) {
			rows = append(rows, strings.TrimRight(ansi.Strip("  "+row), " "))
		}
	}
	seen := func() []string {
		var out []string
		for _, row := range s.view(now) {
			out = append(out, strings.TrimRight(ansi.Strip(row), " "))
		}
		return out
	}
	if got := seen(); !slices.Equal(got, rows[len(rows)-s.height:]) {
		t.Errorf("the end is %q", got)
	}
	s.move(-1000, now)
	from := len(rows) - s.height - 1000
	if got := seen(); !slices.Equal(got, rows[from:from+s.height]) {
		t.Errorf("a thousand rows up is %q, want %q", got, rows[from:from+s.height])
	}
	s.move(400, now)
	if got := seen(); !slices.Equal(got, rows[from+400:from+400+s.height]) {
		t.Errorf("400 rows down again is %q", got)
	}
	s.toStart()
	if got := seen(); !slices.Equal(got, rows[:s.height]) {
		t.Errorf("the start is %q", got)
	}
	s.move(len(rows), now)
	if !s.follow {
		t.Error("at its end, it does not follow")
	}
}

// TestFeedNeverWaits: output that comes fast becomes few live events of bounded size, with
// no reader to take them, and no stored one is lost or moved.
func TestFeedNeverWaits(t *testing.T) {
	t.Parallel()
	f := &feed{wake: make(chan struct{}, 1)}
	const pieces = 200_000
	for n := range pieces {
		f.event(plan.Event{Conv: "c", Body: plan.ToolUpdate{Call: "a", Text: fmt.Sprintf("line %d\n", n)}})
		if n%50_000 == 0 {
			f.event(plan.Event{Conv: "c", Seq: int64(n + 1), Body: plan.Report{}})
		}
	}
	items := f.take()
	if len(items) != 9 {
		t.Errorf("there are %d items", len(items))
	}
	var seqs []int64
	for _, item := range items {
		ev := item.(plan.Event)
		if b, ok := ev.Body.(plan.ToolUpdate); ok && len(b.Text) > mostMerged {
			t.Errorf("a merged event has %d bytes", len(b.Text))
		}
		if ev.Seq > 0 {
			seqs = append(seqs, ev.Seq)
		}
	}
	if !slices.Equal(seqs, []int64{1, 50_001, 100_001, 150_001}) {
		t.Errorf("stored: %v", seqs)
	}
	last := items[len(items)-1].(plan.Event).Body.(plan.ToolUpdate)
	if !strings.HasSuffix(last.Text, fmt.Sprintf("line %d\n", pieces-1)) {
		t.Error("the newest line is missing")
	}
}

// BenchmarkScroll is a picture of a run of 2,000 turns, three rows further up each time.
func BenchmarkScroll(b *testing.B) {
	m := sat(b, 120, 40, long(2000)...)
	for b.Loop() {
		m.view.scroll.move(-3, m.Now())
		if m.view.scroll.top == 0 {
			m.view.scroll.follow = true
		}
		_ = m.View()
	}
}
