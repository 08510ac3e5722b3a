package loop_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/loop"
	"github.com/plan-engine/plan/model/tokens"
)

// reading is a conversation that looks at something large again and again.
func reading(t *testing.T, scenario string) (*bench, *int) {
	n := new(int)
	b := setup(t, scenario, tool("look", plan.EffectReplay, false, func(context.Context, int) string {
		*n++
		return fmt.Sprintf("page %d\n", *n) + strings.Repeat(fmt.Sprintf("line of page %d\n", *n), 400)
	}))
	b.cfg.Window = 16_000
	b.cfg.Limits = plan.Limits{Turns: 14}
	return b, n
}

func compactions(events []plan.Event) []plan.CompactionEnd {
	var out []plan.CompactionEnd
	for _, ev := range events {
		if end, ok := ev.Body.(plan.CompactionEnd); ok {
			out = append(out, end)
		}
	}
	return out
}

// TestCompactionMakesRoom fills a small window. The request stays, what was
// sent shrinks and stays below the window, and a process that takes over at
// any commit sends the same bytes.
func TestCompactionMakesRoom(t *testing.T) {
	t.Parallel()
	for name, count := range map[string]func(string) int64{"by bytes": nil, "by vocabulary": new(tokens.Counter).Count} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			makesRoom(t, count)
		})
	}
}

func makesRoom(t *testing.T, count func(string) int64) {
	b, _ := reading(t, repeating)
	b.cfg.Count = count
	l := b.loop()
	end, err := l.Run(context.Background(), plan.UserText("Read it all, please."))
	if err != nil || end.Reason != loop.Limited || end.Limit.Kind != "turns" {
		t.Fatalf("ended with %+v, %v", end, err)
	}
	got := compactions(b.j.events())
	if len(got) == 0 || len(got) > 8 {
		t.Fatalf("%d compactions", len(got))
	}
	for _, c := range got {
		if c.Messages == nil || c.After >= c.Before {
			t.Errorf("a compaction from %d to %d tokens", c.Before, c.After)
		}
	}
	if first := l.Messages()[0].Text(); first != "Read it all, please." {
		t.Errorf("the request became %q", first)
	}
	moved := 0
	for _, ev := range b.j.events() {
		if req, ok := ev.Body.(plan.Request); ok && req.Moved != "" {
			moved++
		}
	}
	if moved != len(got) {
		t.Errorf("the prefix moved %d times for %d compactions", moved, len(got))
	}
	balanced(t, b.j.events())

	bodies := map[string]bool{}
	for _, body := range requestBodies(b) {
		bodies[string(body)] = true
	}
	for _, cut := range cuts(t, b.j.commits) {
		again, n := reading(t, repeating)
		again.cfg.Count = count
		again.j.commits = append([][]plan.Event(nil), b.j.commits[:cut+1]...)
		past := again.j.events()
		for _, ev := range past {
			if ev.Type() == plan.TypeToolEnd {
				*n++
			}
		}
		l2 := again.loop(past...)
		if _, err := l2.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(l.Messages(), l2.Messages()); diff != "" {
			t.Errorf("after commit %d the conversation differs:\n%s", cut+1, diff)
		}
		for _, body := range requestBodies(again) {
			if !bodies[string(body)] {
				t.Errorf("after commit %d a request is new", cut+1)
			}
		}
	}
}

func TestCompactionOffStopsAtTheCeiling(t *testing.T) {
	t.Parallel()
	b, _ := reading(t, repeating)
	b.cfg.Compaction = loop.CompactOff
	end := b.run("Read it all, please.")
	if end.Reason != loop.Limited || end.Limit.Kind != "context" {
		t.Errorf("ended with %+v", end)
	}
	if got := compactions(b.j.events()); len(got) != 0 {
		t.Errorf("%d compactions", len(got))
	}
}

func TestFullCompactionSummarises(t *testing.T) {
	t.Parallel()
	b, _ := reading(t, `
[[reply]]
phase = "compact"
text = "Known: pages were read."
`+strings.Replace(repeating, "[[reply]]", "[[reply]]\nphase = \"implement\"\ntext = \"Reading on, and thinking about it at length. "+strings.Repeat("Indeed. ", 700)+"\"", 1))
	b.cfg.Compaction = loop.CompactFull
	b.cfg.Headers = map[string]string{"X-Plan-Phase": "implement", "X-Plan-Attempt": "1"}
	l := b.loop()
	if _, err := l.Run(context.Background(), plan.UserText("Read it all, please.")); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, m := range l.Messages() {
		found = found || m.Origin == plan.OriginSummary && strings.Contains(m.Text(), "pages were read")
	}
	if !found {
		t.Error("no summary stands in the conversation")
	}
	balanced(t, b.j.events())
}

// TestASummaryThatIsNotWholeIsNone: neither a refusal nor half a summary stands
// for what was said.
func TestASummaryThatIsNotWholeIsNone(t *testing.T) {
	t.Parallel()
	wordy := "[[reply]]\nphase = \"implement\"\ntext = \"Reading on. " + strings.Repeat("Indeed. ", 700) + "\""
	for _, answer := range []string{"refusal = 'I will not sum this up.'", "text = 'Known: pages'\nfinish = 'length'"} {
		b, _ := reading(t, "[[reply]]\nphase = \"compact\"\n"+answer+"\n"+strings.Replace(repeating, "[[reply]]", wordy, 1))
		b.cfg.Compaction = loop.CompactFull
		b.cfg.Headers = map[string]string{"X-Plan-Phase": "implement", "X-Plan-Attempt": "1"}
		l := b.loop()
		if _, err := l.Run(context.Background(), plan.UserText("Read it all, please.")); err != nil {
			t.Fatal(err)
		}
		for _, m := range l.Messages() {
			if m.Origin == plan.OriginSummary {
				t.Errorf("this stands for what was said: %q", m.Text())
			}
		}
		told := slices.ContainsFunc(compactions(b.j.events()), func(c plan.CompactionEnd) bool {
			return strings.Contains(c.Error, "not whole")
		})
		if !told {
			t.Errorf("nothing is said of %s", answer)
		}
		balanced(t, b.j.events())
	}
}

// TestAConversationThatRestedIsShortened: after an hour no server has its
// beginning in a cache, so that old results can be shortened for nothing.
func TestAConversationThatRestedIsShortened(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	b, _ := reading(t, repeating)
	b.cfg.Window = 1_000_000
	b.cfg.Limits.Turns = 8
	b.cfg.Now = func() time.Time { return began }
	if _, err := b.loop().Run(context.Background(), plan.UserText("Read it all, please.")); err != nil {
		t.Fatal(err)
	}
	past := b.j.events()
	for i := range past {
		past[i].Time = began
	}
	before := len(b.server.Requests())
	for rest, want := range map[time.Duration]int{59 * time.Minute: 0, time.Hour: 1} {
		again, _ := reading(t, repeating)
		again.cfg.Window, again.cfg.Limits.Turns = 1_000_000, 9
		again.cfg.Now = func() time.Time { return began.Add(rest) }
		if _, err := again.loop(past...).Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		got := compactions(again.j.events())
		if len(got) != want {
			t.Fatalf("after %s: %d compactions", rest, len(got))
		}
		if want > 0 && (got[0].Messages == nil || got[0].After >= got[0].Before) {
			t.Errorf("after %s it came to %+v", rest, got[0])
		}
		balanced(t, again.j.events())
	}
	if len(compactions(past)) > 0 || before != 8 {
		t.Errorf("%d requests and %d compactions before it rested", before, len(compactions(past)))
	}
}
