package phases_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/phases"
	"github.com/plan-engine/plan/sandbox"
)

// TestOneRoomForThoseThatOnlyLook is made at the first command and not before, goes on
// to Plan with a report, and is closed where the phases that look end: with a plan, a
// park, an error, or the process.
func TestOneRoomForThoseThatOnlyLook(t *testing.T) {
	t.Parallel()
	const (
		plans = "[[reply]]\nphase = \"plan\"\ntext = \"# Plan: x\\n\\n## Files\\n- `a.txt` — modified: x\\n\\n## Steps\\n1. In `a.txt`, x.\"\n"
		found = "text = \"**What is asked**: x\\n**Where it happens**: `a.txt:1`\"\n"
		made  = "text = \"# Plan: x\\n\\n## Files\\n- `a.txt` — modified: x\\n\\n## Steps\\n1. In `a.txt`, x.\"\n"
	)
	command := func(phase, line string) string {
		return "[[reply]]\nphase = \"" + phase + "\"\nturn = 0\n  [[reply.call]]\n  name = \"bash\"\n  args = { command = \"" + line + "\" }\n"
	}
	explored := "[[reply]]\nphase = \"explore\"\n"
	for name, c := range map[string]struct {
		scenario string
		between  bool // only Explore runs, and then the process ends
		rooms    int
		prints   string
		atEnd    int // rooms that the end of the process closes
	}{
		"no command": {scenario: explored + found + plans},
		"in both": {
			scenario: command("explore", "echo seen >made") + explored + "turn = 1\n" + found + command("plan", "cat made"),
			rooms:    1, prints: "seen\n",
		},
		"in Plan alone":          {scenario: explored + found + command("plan", "echo alone"), rooms: 1, prints: "alone\n"},
		"on the short way":       {scenario: command("explore", "echo short") + explored + "turn = 1\n" + made, between: true, rooms: 1, prints: "short\n"},
		"with no phase after it": {scenario: command("explore", "echo left") + explored + "turn = 1\n" + found, between: true, rooms: 1, prints: "left\n", atEnd: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(c.scenario, "phase = \"plan\"\nturn = 0") {
				c.scenario += strings.Replace(plans, "text", "turn = 1\ntext", 1)
			}
			b := setup(t, c.scenario, map[string]string{"a.txt": "alpha\n"})
			offer := map[plan.Phase][]string{}
			for _, p := range []plan.Phase{plan.Explore, plan.Plan} {
				offer[p] = append(slices.Clone(b.cfg.Kit.Offer[p]), "bash")
			}
			b.cfg.Kit.Offer, b.cfg.Way = offer, plan.WayAuto
			shell, err := sandbox.New(sandbox.Config{})
			if err != nil {
				t.Fatal(err)
			}
			opened, closed := 0, 0
			b.cfg.Room = func(_ context.Context, _ plan.Phase, _ plan.Trees) (phases.Room, error) {
				opened++
				dir := t.TempDir()
				return phases.Room{Dir: dir, Shell: shell, Close: func() error { closed++; return nil }}, nil
			}
			ph, err := phases.New(b.cfg)
			if err != nil {
				t.Fatal(err)
			}
			brief := briefFor(plan.Explore, 1)
			brief.Plan, b.brief = nil, brief
			out, err := ph.Run(t.Context(), brief, b.emit)
			if err != nil || out.Park != nil {
				t.Fatalf("%+v, %v", out, err)
			}
			if !c.between {
				next := briefFor(plan.Plan, 1)
				next.Plan, next.Report, b.brief = nil, out.Report, next
				if out, err = ph.Run(t.Context(), next, b.emit); err != nil || out.Plan == nil {
					t.Fatalf("%+v, %v", out, err)
				}
			}
			if opened != c.rooms || closed != c.rooms-c.atEnd {
				t.Errorf("%d rooms were made and %d closed, want %d, and %d left", opened, closed, c.rooms, c.atEnd)
			}
			if err := ph.Close(t.Context()); err != nil || closed != c.rooms {
				t.Errorf("at the end %d rooms are closed, want %d: %v", closed, c.rooms, err)
			}
			ends := b.toolEnds()
			if len(ends) > 0 && !strings.HasPrefix(ends[len(ends)-1].Output, c.prints) || c.rooms > 0 && len(ends) == 0 {
				t.Errorf("the commands printed %+v", ends)
			}
			if _, err := os.Lstat(filepath.Join(b.root, "made")); !errors.Is(err, os.ErrNotExist) {
				t.Error("what a command made is in the tree")
			}
		})
	}
}

// TestARoomThatCannotBeMade is told to the model, which goes on without commands.
func TestARoomThatCannotBeMade(t *testing.T) {
	t.Parallel()
	b := setup(t, "[[reply]]\nturn = 0\n  [[reply.call]]\n  name = \"bash\"\n  args = { command = \"echo x\" }\n"+
		"[[reply]]\nturn = 1\ntext = \"**What is asked**: x\\n**Where it happens**: `a.txt:1`\"\n", map[string]string{"a.txt": "alpha\n"})
	b.cfg.Kit.Offer = map[plan.Phase][]string{plan.Explore: append(slices.Clone(b.cfg.Kit.Offer[plan.Explore]), "bash")}
	b.cfg.Room = func(context.Context, plan.Phase, plan.Trees) (phases.Room, error) {
		return phases.Room{}, errors.New("no space left for a copy")
	}
	if out := b.must(briefFor(plan.Explore, 1)); out.Report == "" {
		t.Errorf("it came to %+v", out)
	}
	if ends := b.toolEnds(); len(ends) != 1 || !ends[0].Error || !strings.Contains(ends[0].Output, "no space left for a copy") {
		t.Errorf("the model reads %+v", ends)
	}
}
